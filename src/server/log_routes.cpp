// log_routes: what was said, appended and read; and what the model would be sent.
#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "engine/explain.h"
#include "engine/present.h"
#include "palimpsest/format.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

// A place in a log: a seq, or the id of a message.
Result<Seq> parse_place(std::string_view text, std::string_view param) {
    Seq seq;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seq.value);
    if (fault == std::errc{} && end == text.data() + text.size() && seq <= seq_max) return seq;
    if (const std::optional<Position> position = parse_position_id("msg_", text))
        return position->seq;
    return fail(ErrorCode::invalid_request, "must be a seq or the id of a message",
                std::string(param));
}

// What lies between the places that are named, in the order of the list: of one from the newest on,
// older entries are behind a place.
Result<Range> range_of(const Query& query, bool newest_first) {
    Range range{Seq{1}, seq_max};
    if (const auto low = query.text(newest_first ? "before" : "after")) {
        PAL_TRY(seq, parse_place(*low, newest_first ? "before" : "after"));
        range.from = seq + 1;
    }
    if (const auto high = query.text(newest_first ? "after" : "before")) {
        PAL_TRY(seq, parse_place(*high, newest_first ? "after" : "before"));
        range.to = seq - 1;
    }
    return range;
}

// The entries behind a place, or those before one: what is next to the place is read, in the order
// of the list it is shown.
struct Paging {
    LogQuery query = {};
    std::size_t limit = 100;
    bool turn_round = false;  // it is read in the other order than it is shown
};

Result<Paging> paging_of(const Query& query, Kinds kinds) {
    const bool newest_first = query.text("order") == "desc";
    PAL_TRY(range, range_of(query, newest_first));
    const auto last = query.number("last");
    const bool from_the_end = query.text("before") && !query.text("after");
    const bool reads_newest = last || newest_first != from_the_end;
    const std::uint64_t limit = last.value_or(query.number("limit").value_or(100));
    return Paging{.query = {.range = range,
                            .kinds = kinds,
                            .limit = limit + 1,
                            .newest_first = reads_newest,
                            .content = query.text("content") != "0"},
                  .limit = limit,
                  .turn_round = reads_newest != newest_first};
}

Result<RouteReply> list_entries(Call& call, Kinds kinds) {
    PAL_TRY(paging, paging_of(call.query, kinds));
    PAL_TRY(header, call.site.memory.head(call.name()));
    std::vector<Entry> entries;
    if (!paging.query.range.empty() && paging.limit > 0) {
        PAL_TRY(read, call.site.memory.log(call.name(), paging.query));
        entries = std::move(read);
    }
    const bool has_more = entries.size() > paging.limit;
    if (has_more) entries.resize(paging.limit);
    if (paging.turn_round) std::ranges::reverse(entries);
    ListReply list;
    for (const Entry& entry : entries)
        write_entry(list.row(std::to_string(entry.seq.value)), entry);
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
