// audit_route: the audit log, for those who may see it.
#include "base/time.h"
#include "server/audit.h"
#include "server/rest.h"

namespace palimpsest {

Result<RouteReply> list_audited(Call& call) {
    const std::size_t limit = call.query.number("limit").value_or(100);
    // One more tells whether there are more.
    PAL_TRY(entries, list_audit(call.site.memory.store(), call.site.tenant,
                                call.query.text("after").value_or(""), limit + 1));
    const bool more = entries.size() > limit;
    if (more) entries.pop_back();
    ListReply list;
    for (const AuditEntry& entry : entries) {
        JsonWriter& out = list.row(entry.id);
        out.begin_object().field("id", entry.id).field("at", format_time(entry.at));
        out.field("act", entry.act).field("target", entry.target).field("who", entry.who);
        out.key("request_id");
        entry.request_id.empty() ? out.null() : out.string(entry.request_id);
        out.field("outcome", entry.outcome).end_object();
    }
    return list.end(more);
}

}  // namespace palimpsest
