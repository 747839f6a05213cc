// probes: is the process alive, does its store answer, and what can it do.
#include "server/rest.h"

namespace palimpsest {

Result<RouteReply> get_health(Call&) {
    return RouteReply{.body = R"({"status":"ok"})"};
}

// Asks the store for one page of one row, which reaches its disk or its server.
Result<RouteReply> get_ready(Call& call) {
    Memory& memory = call.site.memory;
    const Result<Page> page = memory.list({.tenant = call.site.tenant, .limit = 1});
    if (!page)
        return fail(ErrorCode::unavailable, "the store does not answer: " + page.error().message);
    const Durability durability = memory.store().durability();
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().field("status", "ready").key("store").begin_object();
    out.field("durability", durability.level);
    out.key("survives_process_killed").boolean(durability.process_killed);
    out.key("survives_power_cut").boolean(durability.power_cut);
    out.end_object().field("model", call.site.model.name()).end_object();
    return reply;
}

Result<RouteReply> get_openapi(Call& call) {
    return RouteReply{.body = call.site.openapi};
}

}  // namespace palimpsest
