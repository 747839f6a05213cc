// Recall: what was said and is not shown as it was said. The log still has it; nothing is written.
//
// What a person hid (retract, rewind) or removed (scrub) is not recalled: a model must not reach
// behind such a decision.
#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "core/recollect.h"
#include "core/tool_uses.h"
#include "engine/hidden.h"
#include "engine/load.h"
#include "engine/recall.h"
#include "engine/state.h"
#include "format/content.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::size_t answer_bytes_max = 64u << 10;

bool contains(const std::vector<std::string>& ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

// What a message has to do with the call of an id.
struct Bond {
    bool calls = false, answers = false;
};

Bond bond_by_shape(const Message& message, std::string_view id) {
    return {contains(message.shape.calls, id), contains(message.shape.results, id)};
}

// Uses of tools that the provider ran stand in no shape.
Bond bond_by_parts(const Message& message, std::string_view id) {
    Bond bond;
    if (hosted_uses(message) == 0 && !may_hold_results(message)) return bond;
    const auto content = read_content_of(message);
    if (!content) return bond;
    for (const ContentPart& part : content->parts) {
        if (part.id != id) continue;
        bond.calls = bond.calls || part.kind == ContentKind::tool_call;
        bond.answers = bond.answers || part.kind == ContentKind::tool_result;
    }
    return bond;
}

// How the log is searched for the messages of a call.
struct Walk {
    Bond (*bond)(const Message&, std::string_view);
    bool content;
    std::size_t page_entries;
};
constexpr Walk walks[] = {{bond_by_shape, false, 1000}, {bond_by_parts, true, 100}};

// Where the call of that id and its results stand, newest use of the id first. Reads from the end
// backwards until the call is found.
Result<std::vector<Range>> places_of(Store& store, const Header& header, const Walk& walk,
                                     std::string_view id) {
    std::vector<Range> places;
    for (Seq end = header.end; end > Seq{};) {
        ReadQuery query{.ranges = {{Seq{1}, end}}, .kinds = only(EntryKind::message)};
        query.limit = walk.page_entries;
        query.newest_first = true;
        query.content = walk.content;
        PAL_TRY(entries, read_lineage(store, header, query));
        for (const Entry& entry : entries) {
            const Bond bond = walk.bond(std::get<MessageEntry>(entry.body).message, id);
            if (bond.calls || bond.answers) places.push_back({entry.seq, entry.seq});
            if (bond.calls) {
                std::ranges::reverse(places);
                return places;
            }
        }
        if (entries.size() < walk.page_entries) break;
        end = entries.back().seq - 1;
    }
    std::ranges::reverse(places);
    return places;
}

// Positions alone tell it of most calls; only where they do not are messages read, and not for what
// may be a range as well: tools of a provider have no such ids.
Result<std::vector<Range>> places_of(Store& store, const Header& header, const RecallQuery& query) {
    const bool has_range = query.range.from > Seq{} && !query.range.empty();
    if (query.call_id.empty()) return std::vector<Range>{query.range};
    for (const Walk& walk : walks) {
        if (has_range && walk.content) break;
        PAL_TRY(places, places_of(store, header, walk, query.call_id));
        if (!places.empty()) return places;
    }
    return has_range ? std::vector<Range>{query.range} : std::vector<Range>();
}

constexpr ToolArgument recall_arguments[] = {{"call_id"}, {"from", true}, {"to", true}};
constexpr std::string_view recall_usage =
    R"(recall takes {"call_id": text} or {"from": number, "to": number}: positions from 1 on)";

Result<RecallQuery> query_of(std::string_view arguments) {
    PAL_TRY(document, read_arguments(arguments, recall_arguments, recall_usage));
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
    if (query.call_id.empty() == (query.range.from == Seq{}))
        return fail(ErrorCode::invalid_request, std::string(recall_usage));
    return query;
}

std::string what_was_asked(const RecallQuery& query) {
    if (query.range.from == Seq{}) return "call '" + query.call_id + "'";
    const std::string from = std::to_string(query.range.from.value);
    return query.range.from == query.range.to
               ? "message at seq " + from
               : "message from seq " + from + " to " + std::to_string(query.range.to.value);
}

}  // namespace

Result<RecallQuery> recall_query(std::string_view what) {
    const std::size_t dots = what.find("..");
    const auto number = [](std::string_view text) {
        Seq seq;
        const auto [end, fault] =
            std::from_chars(text.data(), text.data() + text.size(), seq.value);
        return fault == std::errc{} && end == text.data() + text.size() ? seq : Seq{};
    };
    const Seq from = number(what.substr(0, dots));
    const Seq to = dots == what.npos ? from : number(what.substr(dots + 2));
    if (to > Seq{} && to < from)
        return fail(
            ErrorCode::invalid_request,
            "the range " + std::string(what) + " ends before it begins: say the smaller seq first",
            "call_id");
    RecallQuery query{.call_id = std::string(what)};
    if (from > Seq{} && to >= from) query.range = {from, to};
    return query;
}

std::string how_shown(const View& view, Seq seq) {
    for (const Item& item : view.items)
        if (item.range.contains(seq))
            return item.kind == ItemKind::summary ? "folded"
                                                  : std::string(item_kind_name(item.kind));
    return "dropped";
}

Result<std::vector<Recalled>> Memory::recall(const ConversationId& name, const RecallQuery& query) {
    const bool has_range = query.range.from > Seq{} && !query.range.empty();
    if (query.call_id.empty() && !has_range)
        return fail(ErrorCode::invalid_request,
                    "recall takes the id of a call, or a seq or range from 1 on", "call_id");
    PAL_TRY(header, head(name));
    PAL_TRY(places, places_of(*state_->store, header, query));
    const std::string what = what_was_asked(query);
    if (places.empty())
        return fail(ErrorCode::not_found, "there is no " + what +
                                              "; the log has the ids of calls, and seqs count "
                                              "from 1");
    PAL_TRY(
        entries,
        read_lineage(*state_->store, header,
                     {.ranges = places, .kinds = only(EntryKind::message), .limit = query.limit}));
    if (entries.empty())
        return fail(ErrorCode::not_found, "there is no " + what + "; the log ends at seq " +
                                              std::to_string(header.end.value) +
                                              " and shows which of them are messages");
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
                    "there is no " + what +
                        " that may be shown: it was removed, or hidden, which can be undone");
    return recalled;
}

Result<JsonDocument> read_arguments(std::string_view arguments, std::span<const ToolArgument> known,
                                    std::string_view usage) {
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::invalid_request, why + "; " + std::string(usage));
    };
    auto document = parse_json(arguments);
    if (!document) return refuse("the arguments are not JSON: " + document.error().message);
    if (!document->root().is_object()) return refuse("the arguments are not an object");
    for (const JsonMember& member : document->root().members()) {
        const auto one = std::ranges::find(known, member.key, &ToolArgument::name);
        if (one == known.end())
            return refuse("there is no argument '" + std::string(member.key) + "'");
        const bool fits =
            one->is_number ? member.value.integer().has_value() : member.value.is_string();
        if (!fits && !member.value.is_null())
            return refuse("'" + std::string(member.key) + "' is not a " +
                          (one->is_number ? "whole number" : "text"));
    }
    return document;
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
    std::string text(quotation_opening);
    for (const Recalled& one : *found)
        text += quoted_piece(one.seq, one.message.shape.role, view_of(one.message.raw));
    const std::size_t whole = text.size();
    if (whole > answer_bytes_max) {
        text.resize(utf8_prefix(text, answer_bytes_max).size());
        text += "\n[" + std::to_string(whole - text.size()) + " more bytes are left out]\n";
    }
    return text + std::string(quotation_closing);
}

}  // namespace palimpsest
