// list: the conversations of a tenant.
#include "base/time.h"
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"owner", "NAME", "Only those of this owner."},
    {"meta", "K=V", "Only those whose metadata has this field; may be given several times.", true},
    {"sort", "BY", "created, updated or accessed. [updated]"},
    {"oldest-first", "", "Turn the order round."},
    {"limit", "N", "How many. [100]"},
    {"all", "", "All of them."},
    {"after", "CURSOR", "Go on after a page; the line below it gave the cursor."},
};

Result<SortBy> parse_sort(std::string_view name) {
    if (name == "created") return SortBy::created;
    if (name == "updated") return SortBy::updated;
    if (name == "accessed") return SortBy::accessed;
    return fail(ErrorCode::invalid_request,
                "--sort must be created, updated or accessed, not \"" + clipped(name, 40) + "\"",
                "--sort");
}

Result<ListQuery> query_of(const Invocation& call) {
    const Arguments& arguments = call.arguments;
    ListQuery query{.tenant = call.settings.tenant, .owner = arguments.get("owner")};
    PAL_TRY(metadata, parse_pairs(arguments.all("meta")));
    query.metadata = metadata;
    PAL_TRY(sort, parse_sort(arguments.get("sort").value_or("updated")));
    PAL_TRY(limit, arguments.number("limit"));
    query.sort = sort;
    query.newest_first = !arguments.has("oldest-first");
    query.after = arguments.get("after").value_or("");
    query.limit = limit.value_or(query.limit);
    return query;
}

void print_page(Invocation& call, const Page& page) {
    if (call.json()) {
        for (const Header& header : page.headers) print_json(call.out, write_header, header);
        return;
    }
    Table table({"ID", "MESSAGES", "UPDATED", "OWNER", "TITLE"});
    for (const Header& header : page.headers)
        table.add({header.name.id, std::to_string(header.messages), format_time(header.updated),
                   header.owner, header.title});
    table.print(call.out);
}

}  // namespace

extern const Flags list_flags;
const Flags list_flags = flags;

Result<int> run_list(Invocation& call) {
    PAL_TRY(query, query_of(call));
    if (query.limit == 0) return 0;
    for (;;) {
        PAL_TRY(page, call.memory->list(query));
        print_page(call, page);
        query.after = page.next;
        if (page.next.empty() || call.out.closed()) return 0;
        if (!call.arguments.has("all")) break;
    }
    if (!call.json()) {
        PAL_CHECK(call.out.flush());
        std::fprintf(stderr, "there are more: --after %s\n", printable(query.after).c_str());
    }
    return 0;
}

}  // namespace palimpsest
