// agent_routes: agents (defaults for conversations), and what calls took.
#include <algorithm>

#include "core/policy.h"
#include "palimpsest/chat.h"
#include "server/paging.h"
#include "server/rest.h"
#include "server/turn_body.h"

namespace palimpsest {
namespace {

void write_text_or_null(JsonWriter& out, std::string_view name, const std::string& text) {
    out.key(name);
    text.empty() ? out.null() : out.string(text);
}

// {"key","model","system_prompt","memory_strategy"}; what is not set is null.
void write_agent(JsonWriter& out, const AgentSpec& agent) {
    out.begin_object().field("key", agent.key);
    write_text_or_null(out, "model", agent.model);
    write_text_or_null(out, "system_prompt", agent.system_prompt);
    out.key("memory_strategy");
    // JSON as it came in; in code and in settings a preset may stand there by its bare name.
    out.raw(policy_json(agent.policy));
    out.end_object();
}

RouteReply agent_reply(const AgentSpec& agent) {
    RouteReply reply;
    JsonWriter out(reply.body);
    write_agent(out, agent);
    return reply;
}

void write_usage_row(JsonWriter& out, const UsageRow& row) {
    out.begin_object().field("day", row.day).key("calls").number(std::uint64_t{row.calls});
    write_usage(out.key("usage"), row.usage);
    out.key("cost").begin_object().key("dollars").number(row.cost).end_object().end_object();
}

// A day that has no row has its place among the others.
Result<RouteReply> usage_reply(const Call& call, const std::vector<UsageRow>& rows) {
    PAL_TRY(page, find_page(call.query, rows.size(), place_in_order(rows, &UsageRow::day)));
    return write_rows(
        page, {}, [&](std::size_t i) { return rows[i].day; },
        [&](JsonWriter& out, std::size_t i) { write_usage_row(out, rows[i]); });
}

}  // namespace

// By key, also one that is gone meanwhile.
Result<RouteReply> list_agents(Call& call) {
    PAL_TRY(all, call.site.memory.agents(call.site.tenant));
    PAL_TRY(page, find_page(call.query, all.size(), place_in_order(all, &AgentSpec::key)));
    return write_rows(
        page, {}, [&](std::size_t i) { return all[i].key; },
        [&](JsonWriter& out, std::size_t i) { write_agent(out, all[i]); });
}

Result<RouteReply> get_agent(Call& call) {
    PAL_TRY(agent, call.site.memory.find_agent(call.site.tenant, call.ids.at(0)));
    return agent_reply(agent);
}

Result<RouteReply> put_agent(Call& call) {
    AgentSpec agent{.key = call.ids.at(0),
                    .model = call.text("model").value_or(""),
                    .system_prompt = call.text("system_prompt").value_or("")};
    const auto strategy = call.field("memory_strategy");
    if (strategy && !strategy->is_null()) agent.policy = strategy->raw();
    const auto put = call.site.memory.put_agent(call.site.tenant, agent);
    if (!put) return std::unexpected(blame(put.error(), call, ""));
    return agent_reply(agent);
}

Result<RouteReply> delete_agent(Call& call) {
    PAL_CHECK(call.site.memory.remove_agent(call.site.tenant, call.ids.at(0)));
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().field("key", call.ids.at(0)).key("deleted").boolean(true).end_object();
    return reply;
}

Result<RouteReply> get_usage(Call& call) {
    PAL_TRY(rows, usage_by_day(call.site.memory, call.name()));
    return usage_reply(call, rows);
}

Result<RouteReply> get_tenant_usage(Call& call) {
    PAL_TRY(rows, tenant_usage_by_day(call.site.memory, call.site.tenant));
    return usage_reply(call, rows);
}

}  // namespace palimpsest
