// probes: is the process alive, does its store answer, and what can it do.
#include <algorithm>
#include <utility>

#include "server/own_records.h"
#include "server/rest.h"
#include "server/upstream_probe.h"

namespace palimpsest {
namespace {

constexpr std::string_view landing_page = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Palimpsest</title>
<style>body{font:16px/1.5 sans-serif;max-width:46em;margin:3em auto;padding:0 1em}
pre{background:#f4f4f4;padding:1em;overflow:auto}</style></head><body>
<h1>Palimpsest</h1>
<p>The memory of conversations with language models: it keeps every word and sends only what
matters. This server runs.</p>
<h2>Point a client at it</h2>
<pre>OPENAI_BASE_URL=http://HOST/v1
ANTHROPIC_BASE_URL=http://HOST</pre>
<p>A call of <code>/v1/chat/completions</code> or <code>/v1/messages</code> with the header
<code>X-Conversation-Id: NAME</code> is remembered under that name;
<code>/v1/responses</code> and <code>/v1/conversations</code> are stateful by themselves.</p>
<h2>Or talk to it directly</h2>
<pre>curl http://HOST/api/v1/chat -H 'Content-Type: application/json' \
     -d '{"conversation_id":"alice","message":"Hello"}'</pre>
<p><a href="/openapi.json">Every route</a> &middot; <a href="/readyz">is it ready?</a> &middot;
<a href="/metrics">metrics</a></p>
</body></html>
)";

// What names and addresses are made of; nothing that means something in HTML.
bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == ':' || c == '-' || c == '[' || c == ']';
}

// Only names and codes, of those that the caller may ask.
void write_upstream(JsonWriter& out, const Call& call, const std::vector<Reached>& models) {
    out.key("upstream").begin_array();
    for (const Reached& one : models) {
        if (!call.caller.may_ask(one.model)) continue;
        out.begin_object().field("model", one.model).key("reachable").boolean(!one.error);
        out.key("error");
        one.error ? out.string(error_info(*one.error).name) : out.null();
        out.end_object();
    }
    out.end_array();
}

void write_parts(JsonWriter& out, const Call& call, const std::vector<Reached>& models) {
    const Durability durability = call.site.memory.store().durability();
    out.key("store").begin_object().field("durability", durability.level);
    out.key("survives_process_killed").boolean(durability.process_killed);
    out.key("survives_power_cut").boolean(durability.power_cut).end_object();
    const std::string_view first = call.site.models.first().name();
    if (call.caller.may_ask(first)) out.field("model", first);
    write_upstream(out, call, models);
}

// Whoever is told that nothing can be written may send nothing more that shows otherwise, so it is
// tried anew here.
Result<void> check_writes(Store& store) {
    auto writable = store.check_writable();
    if (writable || writable.error().code != ErrorCode::unavailable) return writable;
    const auto tried = store.put_record({.key = own_record("probe", "write"),
                                         .value = std::string(),
                                         .ttl = std::chrono::minutes(1)});
    if (tried) return {};
    return std::unexpected(tried.error());
}

}  // namespace

Result<RouteReply> get_health(Call&) {
    return RouteReply{.body = R"({"status":"ok"})"};
}

// Asks the store for one page of one row, which reaches its disk or its server, and whether it can
// be written; and the models' servers. One that does not answer makes the server no less ready for
// what needs none, nor does a full disk for reading and erasing. Whoever comes without a key learns
// how many models there are, not which.
Result<RouteReply> get_ready(Call& call) {
    Memory& memory = call.site.memory;
    const auto not_ready = [](const Error& error) {
        return fail(ErrorCode::unavailable, "the store is not ready: " + error.message);
    };
    const Result<Page> page = memory.list({.tenant = call.site.tenant, .limit = 1});
    if (!page) return not_ready(page.error());
    const Result<void> writes = check_writes(memory.store());
    if (!writes && writes.error().code != ErrorCode::no_space) return not_ready(writes.error());
    const std::vector<Reached> models = call.site.probe->look(call.site.models);
    const auto reached =
        std::ranges::count_if(models, [](const Reached& one) { return !one.error; });
    const bool all = std::cmp_equal(reached, models.size());
    if (!all && call.query.flag("upstream"))
        return fail(ErrorCode::unavailable, "not every model's server answers");
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().field("status", all && writes ? "ready" : "degraded");
    out.key("store_error");
    writes ? out.null() : out.string(error_info(writes.error().code).name);
    out.key("models").number(std::uint64_t{models.size()});
    out.key("models_reachable").number(static_cast<std::uint64_t>(reached));
    if (call.caller.may(Scope::read)) write_parts(out, call, models);
    out.end_object();
    return reply;
}

// The address is the one that the client used, so that what it shows can be copied.
Result<RouteReply> get_landing(Call& call) {
    std::string host;
    for (const char c : call.request.header("Host"))
        if (is_host_character(c)) host += c;
    const std::string address = (call.site.secure ? "https://" : "http://") + host;
    constexpr std::string_view shown = "http://HOST";
    std::string page(landing_page);
    for (std::size_t at = 0; (at = page.find(shown, at)) != page.npos; at += address.size())
        page.replace(at, shown.size(), address);
    return RouteReply{.body = std::move(page), .type = std::string(call.route.type)};
}

Result<RouteReply> get_openapi(Call& call) {
    return RouteReply{.body = *call.site.openapi};
}

}  // namespace palimpsest
