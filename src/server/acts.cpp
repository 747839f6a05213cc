#include "server/acts.h"

#include "server/audit.h"
#include "server/replay.h"

namespace palimpsest {
namespace {

Result<RouteReply> answer(Call& call) {
    const Route& route = call.route;
    const bool once = route.body == BodyKind::json && !call.key.empty() && !route.own_key;
    return once ? answer_once(call) : route.function(call);
}

// A header also holds what administers nothing.
bool is_act(const Call& call) {
    if (call.route.act.empty()) return false;
    if (call.route.act_fields.empty()) return true;
    for (const std::string_view field : call.route.act_fields)
        if (call.json && call.json->root().find(field)) return true;
    return false;
}

AuditEntry entry_of(const Call& call) {
    std::string target;
    for (const std::string& id : call.ids) target += (target.empty() ? "" : " ") + id;
    return {.tenant = call.site.tenant,
            .act = std::string(call.route.act),
            .target = std::move(target),
            .who = call.caller.id.empty() ? "anyone" : "key " + call.caller.id,
            .request_id = call.request_id};
}

}  // namespace

Result<RouteReply> carry_out(Call& call) {
    if (!is_act(call)) return answer(call);
    PAL_TRY(act, AuditedAct::begin(call.site.memory.store(), entry_of(call)));
    Result<RouteReply> reply = answer(call);
    act.end(reply ? nullptr : &reply.error());
    return reply;
}

}  // namespace palimpsest
