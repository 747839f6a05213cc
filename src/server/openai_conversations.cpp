// openai_conversations: OpenAI's Conversations over our logs, with two routes that OpenAI lacks:
// list and fork. A conversation made here is one of /api/v1 and the other way round.
//
// Deleting a conversation erases it. Deleting an item hides it and what it cannot be parted from,
// which undo brings back; scrub removes for good.
#include <algorithm>
#include <chrono>

#include "server/kept_words.h"
#include "server/openai_input.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/rest.h"
#include "server/retry_key.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::size_t default_limit = 20;

// {"id","object","created_at","metadata"}
void write_conversation(JsonWriter& out, const Header& header) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(header.created);
    out.begin_object().field("id", header.name.id).field("object", "conversation");
    out.key("created_at").number(std::int64_t{seconds.time_since_epoch().count()});
    out.key("metadata").raw(header.metadata).end_object();
}

RouteReply conversation_reply(const Header& header) {
    RouteReply reply{.etag = header.end};
    JsonWriter out(reply.body);
    write_conversation(out, header);
    return reply;
}

// What makes the metadata those of the body: fields that it does not have go.
Result<std::string> replacing_metadata(const Header& header, JsonValue metadata) {
    PAL_TRY(now, parse_json(header.metadata));
    std::string merge;
    JsonWriter out(merge);
    out.begin_object();
    for (const JsonMember field : now.root().members())
        if (!metadata.find(field.key)) out.key(field.key).null();
    for (const JsonMember field : metadata.members()) out.key(field.key).raw(field.value.raw());
    out.end_object();
    return merge;
}

HeaderPatch metadata_patch(const Call& call) {
    HeaderPatch patch;
    if (const auto metadata = call.field("metadata")) patch.metadata_merge = metadata->raw();
    return patch;
}

// The items between these seqs, as they were just written.
Result<ItemPage> written_items(Call& call, const Written& written) {
    ItemPage page;
    if (written.last < written.first) return page;
    ReadQuery query{.ranges = {{written.first, written.last}}, .kinds = only(EntryKind::message)};
    PAL_TRY(entries, read_lineage(call.site.memory.store(), written.header, query));
    for (const Entry& entry : entries)
        std::ranges::move(
            said_items(written.header.log, entry.seq, std::get<MessageEntry>(entry.body).message),
            std::back_inserter(page.items));
    return page;
}

// A place in the conversation: an item's id, or a seq.
Result<std::optional<Seq>> fork_place(Call& call, const Header& header) {
    const auto at = call.field("at");
    if (!at) return std::optional<Seq>();
    if (!at->is_string()) return std::optional(Seq{*call.number("at")});
    auto item = find_item(call.site.memory.store(), header, at->string());
    if (!item) return fail(ErrorCode::not_found, item.error().message, "at");
    return std::optional(item->seq);
}

}  // namespace

Result<RouteReply> create_openai_conversation(Call& call) {
    const auto items = call.field("items");
    // An empty one more does no harm; one that two share would.
    const bool empty = !items || items->size() == 0;
    if (!empty) PAL_CHECK(find_retry_key(call, RetryOf::creation));
    PAL_TRY(name, new_name(call));
    const WriteOptions write = call.write(IfAbsent::create);
    if (empty) {
        PAL_TRY(header, call.site.memory.create(name, metadata_patch(call), write));
        return conversation_reply(header);
    }
    PAL_TRY(messages, read_input_items(call.site, *items));
    const auto written = call.site.memory.append(name, {.messages = messages,
                                                        .format = item_format,
                                                        .write = write,
                                                        .header = metadata_patch(call)});
    if (!written) return std::unexpected(blame_items(written.error(), "items", *items));
    return conversation_reply(written->header);
}

Result<RouteReply> repeat_openai_create(Call& call, Seq) {
    PAL_TRY(name, new_name(call));
    PAL_TRY(header, call.site.memory.head(name));
    return conversation_reply(header);
}

Result<RouteReply> list_openai_conversations(Call& call) {
    PAL_TRY(reply, list_headers(call, write_conversation));
    reply.body = R"({"object":"list",)" + reply.body.substr(1);
    return std::move(reply);
}

Result<RouteReply> get_openai_conversation(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    return conversation_reply(header);
}

Result<RouteReply> update_openai_conversation(Call& call) {
    PAL_TRY(before, call.site.memory.head(call.name()));
    HeaderPatch patch;
    if (const auto metadata = call.field("metadata")) {
        PAL_TRY(merge, replacing_metadata(before, *metadata));
        patch.metadata_merge = merge;
    }
    if (patch.empty()) return conversation_reply(before);
    PAL_TRY(header, call.site.memory.patch(call.name(), patch));
    return conversation_reply(header);
}

Result<RouteReply> repeat_openai_update(Call& call, Seq) {
    return get_openai_conversation(call);
}

Result<RouteReply> delete_openai_conversation(Call& call) {
    PAL_TRY(receipt, erase_all(call.site, call.name()));
    RouteReply reply{.warnings = receipt.remains};
    JsonWriter(reply.body)
        .begin_object()
        .field("id", call.ids.at(0))
        .field("object", "conversation.deleted")
        .key("deleted")
        .boolean(true)
        .end_object();
    return reply;
}

Result<RouteReply> fork_openai_conversation(Call& call) {
    PAL_TRY(parent, call.site.memory.head(call.name()));
    PAL_TRY(child, new_name(call));
    PAL_TRY(at, fork_place(call, parent));
    const Result<Header> header = call.site.memory.fork(call.name(), child, at, call.write());
    if (!header) return std::unexpected(blame(header.error(), call, "id"));
    const HeaderPatch patch = metadata_patch(call);
    if (patch.empty()) return conversation_reply(*header);
    PAL_TRY(patched, call.site.memory.patch(child, patch));
    return conversation_reply(patched);
}

Result<RouteReply> create_openai_items(Call& call) {
    PAL_CHECK(find_retry_key(call, RetryOf::conversation));
    const JsonValue items = *call.field("items");
    PAL_TRY(messages, read_input_items(call.site, items));
    const auto written = call.site.memory.append(
        call.name(), {.messages = messages, .format = item_format, .write = call.write()});
    if (!written)
        return std::unexpected(blame(blame_items(written.error(), "items", items), call, ""));
    PAL_TRY(page, written_items(call, *written));
    return RouteReply{
        .body = write_item_list(page), .etag = written->header.end, .again = written->again};
}

Result<RouteReply> list_openai_items(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    PAL_TRY(page, list_items(call.site.memory.store(), header,
                             {.limit = call.query.number("limit").value_or(default_limit),
                              .newest_first = call.query.text("order") != "asc",
                              .after = std::string(call.query.text("after").value_or("")),
                              .before = std::string(call.query.text("before").value_or(""))}));
    return RouteReply{.body = write_item_list(page), .etag = header.end};
}

Result<RouteReply> get_openai_item(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    PAL_TRY(item, shown_item(call.site.memory.store(), header, call.ids.at(1)));
    return RouteReply{.body = item.json, .etag = header.end};
}

Result<RouteReply> delete_openai_item(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    PAL_TRY(item, shown_item(call.site.memory.store(), header, call.ids.at(1)));
    PAL_TRY(seq, call.site.memory.retract(call.name(), {item.seq, item.seq}, "deleted item"));
    (void)seq;
    return get_openai_conversation(call);
}

}  // namespace palimpsest
