// audit_route: the audit log, for those who may see it.
#include <algorithm>
#include <string_view>

#include "base/time.h"
#include "server/audit.h"
#include "server/paging.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

constexpr std::size_t read_at_once = 1000;

struct AuditPage {
    std::vector<AuditEntry> entries = {};
    bool has_more = false;
};

// The store's own order: nothing is read but the page.
Result<AuditPage> read_on(const Call& call) {
    const std::size_t limit = call.query.number("limit").value_or(100);
    AuditPage page;
    // One more tells whether there are more.
    PAL_TRY(entries, list_audit(call.site.memory.store(), call.site.tenant,
                                call.query.text("after").value_or(""), limit + 1));
    page.entries = std::move(entries);
    page.has_more = page.entries.size() > limit;
    if (page.has_more) page.entries.pop_back();
    return page;
}

// Oldest first, all that there are.
Result<std::vector<AuditEntry>> read_all(const Call& call) {
    std::vector<AuditEntry> all;
    for (std::size_t got = read_at_once; got == read_at_once;) {
        PAL_TRY(more, list_audit(call.site.memory.store(), call.site.tenant,
                                 all.empty() ? "" : all.back().id, read_at_once));
        got = more.size();
        std::ranges::move(more, std::back_inserter(all));
    }
    std::ranges::reverse(all);
    return all;
}

// Backwards, from the oldest or over an offset.
Result<AuditPage> read_page(const Call& call) {
    PAL_TRY(all, read_all(call));
    const auto id = [](const AuditEntry& entry) { return std::string_view(entry.id); };
    PAL_TRY(rows, find_page(call.query, all.size(), place_by_id(all, id), {.order = "desc"}));
    AuditPage page{.has_more = rows.has_more};
    for (const std::size_t row : rows.rows) page.entries.push_back(std::move(all[row]));
    return page;
}

}  // namespace

Result<RouteReply> list_audited(Call& call) {
    const bool on = !call.query.text("before") && !call.query.text("offset") &&
                    call.query.text("order").value_or("desc") == "desc";
    PAL_TRY(page, on ? read_on(call) : read_page(call));
    ListReply list;
    for (const AuditEntry& entry : page.entries) {
        JsonWriter& out = list.row(entry.id);
        out.begin_object().field("id", entry.id).field("at", format_time(entry.at));
        out.field("act", entry.act).field("target", entry.target).field("who", entry.who);
        out.key("request_id");
        entry.request_id.empty() ? out.null() : out.string(entry.request_id);
        out.field("outcome", entry.outcome).end_object();
    }
    return list.end(page.has_more);
}

}  // namespace palimpsest
