// Recall: what was said and is not shown as it was said. The log still has it; nothing is written.
//
// What a person hid (retract, rewind) or removed (scrub) is not recalled: a model must not reach
// behind such a decision.
#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "engine/hidden.h"
#include "engine/load.h"
#include "engine/recall.h"
#include "engine/state.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_entries = 1000;
constexpr std::size_t answer_bytes_max = 64u << 10;

bool contains(const std::vector<std::string>& ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

// Where the call of that id and its results stand, newest use of the id first. Reads positions
// only, from the end backwards until the call is found.
Result<std::vector<Range>> places_of(Store& store, const Header& header, std::string_view id) {
    std::vector<Range> places;
    for (Seq end = header.end; end > Seq{};) {
        ReadQuery query{.ranges = {{Seq{1}, end}}, .kinds = only(EntryKind::message)};
        query.limit = page_entries;
        query.newest_first = true;
        query.content = false;
        PAL_TRY(entries, read_lineage(store, header, query));
        for (const Entry& entry : entries) {
            const Shape& shape = std::get<MessageEntry>(entry.body).message.shape;
            const bool calls = contains(shape.calls, id);
            if (calls || contains(shape.results, id)) places.push_back({entry.seq, entry.seq});
            if (calls) {
                std::ranges::reverse(places);
                return places;
            }
        }
        if (entries.size() < page_entries) break;
        end = entries.back().seq - 1;
    }
    std::ranges::reverse(places);
    return places;
}

std::string text_of(const Recalled& one) {
    const std::string where = "[seq " + std::to_string(one.seq.value) + ", " +
                              std::string(role_name(one.message.shape.role)) + "]\n";
    return where + std::string(view_of(one.message.raw)) + "\n";
}

Result<RecallQuery> query_of(std::string_view arguments) {
    PAL_TRY(document, parse_json(arguments));
    const JsonValue root = document.root();
    RecallQuery query;
    if (const auto id = root.find("call_id"); id && id->is_string()) query.call_id = id->string();
    const auto place = [&](std::string_view field) {
        const auto value = root.find(field);
        const auto number = value ? value->integer() : std::nullopt;
        return Seq{static_cast<std::uint64_t>(std::max<std::int64_t>(number.value_or(0), 0))};
    };
    query.range = {place("from"), place("to")};
    if (query.range.to == Seq{}) query.range.to = query.range.from;
    return query;
}

}  // namespace

std::string how_shown(const View& view, Seq seq) {
    for (const Item& item : view.items)
        if (item.range.contains(seq))
            return item.kind == ItemKind::summary ? "folded"
                                                  : std::string(item_kind_name(item.kind));
    return "dropped";
}

Result<std::vector<Recalled>> Memory::recall(const ConversationId& name, const RecallQuery& query) {
    const bool by_range = query.range.from > Seq{} && !query.range.empty();
    if (query.call_id.empty() != by_range)
        return fail(ErrorCode::invalid_request,
                    "recall takes the id of a call, or a seq or range from 1 on", "call_id");
    PAL_TRY(header, head(name));
    std::vector<Range> places{query.range};
    if (!by_range) {
        PAL_TRY(found, places_of(*state_->store, header, query.call_id));
        places = std::move(found);
    }
    const std::string what = by_range ? "message at seq " + std::to_string(query.range.from.value)
                                      : "call '" + query.call_id + "'";
    if (places.empty()) return fail(ErrorCode::not_found, "there is no " + what);
    PAL_TRY(
        entries,
        read_lineage(*state_->store, header,
                     {.ranges = places, .kinds = only(EntryKind::message), .limit = query.limit}));
    PAL_TRY(hidden, hidden_by_hand(*state_->store, header));
    PAL_TRY(hot, current_view(*state_, header));
    const View view = hot->view();
    std::vector<Recalled> recalled;
    for (const Entry& entry : entries) {
        const auto& said = std::get<MessageEntry>(entry.body);
        const bool away = std::ranges::any_of(
            hidden, [&](const Range& range) { return range.contains(entry.seq); });
        const std::string shown = how_shown(view, entry.seq);
        // A pin shows even what was hidden.
        if (said.scrubbed || (away && shown == "dropped")) continue;
        recalled.push_back({entry.seq, entry.at, said.message, shown});
    }
    if (recalled.empty())
        return fail(ErrorCode::not_found,
                    "there is no " + what + " that may be shown: it was hidden or removed");
    return recalled;
}

std::string function_tool(FormatId format, std::string_view name, std::string_view about,
                          std::string_view schema) {
    std::string body = R"({"model":"m","messages":[{"role":"user","content":"x"}],"tools":[)"
                       R"({"type":"function","function":)";
    JsonWriter json(body);
    json.begin_object().field("name", name).field("description", about);
    json.key("parameters").raw(schema).end_object();
    body += "}]}";
    // By way of a request: each format knows how its tools are written.
    const auto converted = convert_json(FormatId::openai_chat, format, body);
    const auto document =
        converted ? parse_json(converted->json) : Result<JsonDocument>(parse_json(body));
    const auto tools = document ? document->root().find("tools") : std::nullopt;
    if (tools)
        for (const JsonValue tool : tools->elements()) return std::string(tool.raw());
    return "{}";
}

std::string recall_tool(FormatId format) {
    constexpr std::string_view about =
        "Fetches earlier parts of this conversation that were left out to save room: the full "
        "output of a tool call by its call id (as the placeholder names it), or messages by "
        "position.";
    constexpr std::string_view schema =
        R"({"type":"object","properties":{"call_id":{"type":"string","description":"the id of )"
        R"(a tool call whose output was removed"},"from":{"type":"integer","description":)"
        R"("the position of a message"},"to":{"type":"integer","description":)"
        R"("the last position, if several are wanted"}}})";
    return function_tool(format, recall_tool_name, about, schema);
}

std::string Memory::answer_recall(const ConversationId& name, std::string_view arguments) {
    const auto query = query_of(arguments);
    if (!query) return "Error: " + query.error().message;
    const auto found = recall(name, *query);
    if (!found) return "Error: " + found.error().message;
    std::string text;
    for (const Recalled& one : *found) text += text_of(one);
    if (text.size() <= answer_bytes_max) return text;
    const std::size_t whole = text.size();
    text.resize(utf8_prefix(text, answer_bytes_max).size());
    return text + "\n[" + std::to_string(whole - text.size()) + " more bytes are left out]";
}

}  // namespace palimpsest
