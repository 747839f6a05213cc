// conversations: create, list, read, change and erase.
#include <algorithm>

#include "base/ids.h"
#include "engine/present.h"
#include "server/kept_words.h"
#include "server/rest.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

SortBy sort_of(const Query& query) {
    const std::string_view sort = query.text("sort").value_or("updated");
    if (sort == "created") return SortBy::created;
    return sort == "accessed" ? SortBy::accessed : SortBy::updated;
}

ListQuery list_query(const Call& call) {
    ListQuery query{.tenant = call.site.tenant,
                    .metadata = labels_of(call.query),
                    .sort = sort_of(call.query),
                    .newest_first = call.query.text("order") != "asc",
                    .limit = call.query.number("limit").value_or(100)};
    if (const auto owner = call.query.text("owner")) query.owner = *owner;
    return query;
}

// A page goes on behind a conversation (its id) or behind the store's own cursor, which stays good
// also when that conversation is gone or has moved meanwhile.
Result<Page> page_behind(const Call& call, ListQuery query, std::string_view place,
                         std::string_view param) {
    const Result<Header> header = call.site.memory.head({query.tenant, std::string(place)});
    const bool absent = !header && (header.error().code == ErrorCode::not_found ||
                                    header.error().code == ErrorCode::invalid_request);
    if (!header && !absent) return std::unexpected(header.error());
    query.after = header ? write_cursor(query, {sort_time(*header, query.sort), header->log})
                         : std::string(place);
    auto page = call.site.memory.list(query);
    if (page || header || page.error().code != ErrorCode::invalid_request) return page;
    return fail(ErrorCode::invalid_request,
                "there is no such conversation, and no such place in a listing of this order; "
                "`next` of the page before is one that stays good while conversations come and go",
                std::string(param));
}

// A page that has its bytes before its rows goes on behind the last of these.
RouteReply write_page(const Page& page, const ListQuery& query, WriteHeader write) {
    ListReply list;
    const Header* last = nullptr;
    for (const Header& header : page.headers) {
        if (!list.has_room()) break;
        write(list.row(header.name.id), header);
        last = &header;
    }
    if (!list.is_cut()) return list.end(!page.next.empty(), page.next);
    return list.end(true, write_cursor(query, {sort_time(*last, query.sort), last->log}));
}

// The page before a place is the page after it in the other order, turned round.
Result<RouteReply> page_before(Call& call, ListQuery query, std::string_view place,
                               WriteHeader write) {
    query.newest_first = !query.newest_first;
    PAL_TRY(page, page_behind(call, query, place, "before"));
    ListReply list(ListReply::From::end);
    for (const Header& header : page.headers) {
        if (!list.has_room()) break;
        write(list.row(header.name.id), header);
    }
    return list.end(!page.next.empty());
}

// {"metadata": null}: every field that is there now goes.
Result<void> clear_metadata(Call& call, HeaderPatch& patch) {
    const std::optional<JsonValue> given = call.json->root().find("metadata");
    if (!given || !given->is_null()) return {};
    PAL_TRY(header, call.site.memory.head(call.name()));
    PAL_TRY(fields, parse_json(header.metadata));
    patch.metadata_merge.emplace();
    JsonWriter out(*patch.metadata_merge);
    out.begin_object();
    for (const JsonMember field : fields.root().members()) out.key(field.key).null();
    out.end_object();
    return {};
}

}  // namespace

Result<RouteReply> create_conversation(Call& call) {
    PAL_TRY(name, new_name(call));
    PAL_TRY(patch, header_patch_of(call));
    const Result<Header> header =
        call.site.memory.create(name, patch, call.write(IfAbsent::create));
    if (!header) return std::unexpected(blame(header.error(), call, "id"));
    return header_reply(*header);
}

Result<RouteReply> repeat_create(Call& call, Seq) {
    PAL_TRY(name, new_name(call));
    PAL_TRY(header, call.site.memory.head(name));
    return header_reply(header);
}

Result<RouteReply> list_headers(Call& call, WriteHeader write) {
    ListQuery query = list_query(call);
    const auto after = call.query.text("after");
    const auto before = call.query.text("before");
    if (after && before)
        return fail(ErrorCode::invalid_request, "give 'after' or 'before', not both", "before");
    if (before) return page_before(call, std::move(query), *before, write);
    PAL_TRY(page, after ? page_behind(call, query, *after, "after") : call.site.memory.list(query));
    return write_page(page, query, write);
}

Result<RouteReply> list_conversations(Call& call) {
    return list_headers(call, write_header);
}

Result<RouteReply> get_conversation(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    return header_reply(header);
}

Result<RouteReply> patch_conversation(Call& call) {
    PAL_TRY(patch, header_patch_of(call));
    PAL_CHECK(clear_metadata(call, patch));
    const Result<Header> header =
        call.site.memory.patch(call.name(), patch, call.number("revision"), call.if_match);
    if (!header) return std::unexpected(blame(header.error(), call, "revision"));
    return header_reply(*header);
}

Result<RouteReply> delete_conversation(Call& call) {
    PAL_TRY(receipt, erase_all(call.site, call.name()));
    RouteReply reply;
    JsonWriter out(reply.body);
    write_receipt(out, receipt);
    return reply;
}

}  // namespace palimpsest
