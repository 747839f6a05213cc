// log_routes: what was said, appended and read; and what the model would be sent.
#include "engine/explain.h"
#include "engine/present.h"
#include "palimpsest/format.h"
#include "server/paging.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

// Reads on, few entries at a time, until the page has its rows or its bytes. True: there are more.
Result<bool> write_entries(Call& call, const LogPage& page, Kinds kinds, ListReply& list) {
    LogQuery query{.range = page.range,
                   .kinds = kinds,
                   .newest_first = page.newest_first,
                   .content = call.query.text("content") != "0"};
    ReadSteps steps;
    for (std::size_t left = page.limit; !query.range.empty();) {
        query.limit = steps.next(left + 1);
        PAL_TRY(entries, call.site.memory.log(call.name(), query));
        for (const Entry& entry : entries) {
            if (left == 0 || !list.has_room()) return true;
            write_entry(list.row(std::to_string(entry.seq.value)), entry);
            --left;
        }
        if (entries.size() < query.limit) return false;
        const Seq reached = entries.back().seq;
        query.newest_first ? query.range.to = reached - 1 : query.range.from = reached + 1;
    }
    return false;
}

Result<RouteReply> list_entries(Call& call, Kinds kinds) {
    PAL_TRY(page, find_log_page(call.query));
    PAL_TRY(header, call.site.memory.head(call.name()));
    ListReply list(page.from);
    bool has_more = false;
    if (page.limit > 0) {
        PAL_TRY(more, write_entries(call, page, kinds, list));
        has_more = more;
    }
    RouteReply reply = list.end(has_more);
    reply.etag = header.end;
    return reply;
}

std::optional<EntryKind> kind_named(std::string_view name) {
    for (std::size_t i = 0; i < entry_kind_count; ++i)
        if (entry_kind_name(static_cast<EntryKind>(i)) == name) return static_cast<EntryKind>(i);
    return {};
}

// The list to send. Anthropic's has no place for a system prompt: then it is a body with both.
Result<RouteReply> sendable(const View& view, std::string_view format_text) {
    PAL_TRY(format, parse_format_name(format_text));
    RouteReply reply{.body = "[]", .etag = view.header.end};
    if (view.items.empty()) return reply;
    std::vector<Message> messages;
    for (const Item& item : view.items) messages.push_back(item.message);
    PAL_TRY(rendered, render(format, messages));
    reply.body = write_list(rendered.messages);
    if (!rendered.system.empty())
        reply.body = "{\"system\":" + system_json(rendered) + ",\"messages\":" + reply.body + "}";
    reply.warnings = std::move(rendered.lost);
    for (const RepairNote& note : rendered.notes) reply.warnings.push_back(note.what);
    return reply;
}

}  // namespace

Result<RouteReply> append_messages(Call& call) {
    PAL_TRY(format, format_of(call));
    const std::optional<JsonValue> create = call.field("create");
    const IfAbsent if_absent =
        create && create->boolean() == false ? IfAbsent::fail : IfAbsent::create;
    const Result<Written> written =
        call.site.memory.append(call.name(), {.messages = call.field("messages")->raw(),
                                              .format = format,
                                              .write = call.write(if_absent)});
    if (!written) return std::unexpected(blame(written.error(), call, ""));
    RouteReply reply{.etag = written->header.end, .again = written->again};
    JsonWriter out(reply.body);
    out.begin_object().key("seq").number(written->last.value).key("ids").begin_array();
    for (const std::string& id : written->ids) out.string(id);
    out.end_array().end_object();
    return reply;
}

Result<RouteReply> list_messages(Call& call) {
    return list_entries(call, only(EntryKind::message));
}

Result<RouteReply> list_log(Call& call) {
    const std::optional<std::string_view> name = call.query.text("kind");
    if (!name) return list_entries(call, all_kinds);
    const std::optional<EntryKind> kind = kind_named(*name);
    if (!kind) return fail(ErrorCode::invalid_request, "there is no such kind of entry", "kind");
    return list_entries(call, only(*kind));
}

Result<RouteReply> get_view(Call& call) {
    ViewOptions options;
    if (const auto at = call.query.number("at")) options.at = Seq{*at};
    options.window = call.query.number("window");
    options.model = call.query.text("model").value_or("");
    options.policy = call.query.text("policy").value_or("");
    PAL_TRY(view, call.site.memory.view(call.name(), options));
    if (const auto format = call.query.text("format")) return sendable(view, *format);
    RouteReply reply{.etag = view.header.end};
    JsonWriter out(reply.body);
    if (!call.query.flag("explain")) {
        write_view(out, view);
        return reply;
    }
    PAL_TRY(left_out, explain_left_out(call.site.memory, view));
    write_explained_view(out, view, left_out);
    return reply;
}

Result<RouteReply> get_call(Call& call) {
    PAL_TRY(seq, parse_place(call.ids.at(1), "seq"));
    PAL_TRY(past, call.site.memory.past_call(call.name(), seq));
    RouteReply reply{.etag = past.view.header.end};
    JsonWriter out(reply.body);
    write_past_call(out, past);
    return reply;
}

}  // namespace palimpsest
