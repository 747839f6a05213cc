#include "server/stored_response.h"

#include <algorithm>

#include "base/ids.h"
#include "base/json_write.h"
#include "engine/call_note.h"
#include "palimpsest/format.h"
#include "server/openai_items.h"
#include "server/response_log.h"
#include "server/turn_log.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::size_t entries_max = 1000;  // of other turns, between a call and its answer
constexpr std::string_view end_kind = "response";
constexpr Kinds answer_kinds{
    static_cast<std::uint16_t>(only(EntryKind::message).bits | only(EntryKind::note).bits)};

std::unexpected<Error> no_response(std::string_view id) {
    return fail(ErrorCode::not_found, "there is no response '" + std::string(id) + "'");
}

std::string text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? std::string(value->string()) : std::string();
}

std::int64_t seconds(Time time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

// What was sent along as instructions: the first of the preamble.
std::string instructions_of(const PastCall& past) {
    const auto preamble = parse_json(past.preamble);
    if (!preamble || preamble->root().size() == 0) return {};
    const auto content = (*preamble->root().elements().begin()).find("content");
    return content && content->is_string() ? std::string(content->raw()) : std::string();
}

Result<void> read_call(Store& store, StoredResponse& response) {
    PAL_TRY(entry, read_entry(store, response.header, response.call));
    PAL_TRY(past, read_call_note(store, response.header, entry));
    PAL_TRY(note, parse_json(past.note));
    const auto parameters = note.root().find("parameters");
    const auto mark = parameters ? parameters->find(end_kind) : std::nullopt;
    if (!mark) return no_response(response.state.id);
    const auto made = mark->find("made");
    response.made = made && made->boolean() == true;
    response.state.model = text_at(*mark, "model");
    response.state.fields = parameters->raw();
    response.state.created = seconds(past.at);
    response.state.tools = past.tools;
    if (mark->find("instructions")) response.state.instructions = instructions_of(past);
    return {};
}

// Notes of before this had a code say none.
ErrorCode code_named(std::string_view name) {
    const auto found = std::ranges::find(error_table(), name, &ErrorInfo::name);
    return found == error_table().end() ? ErrorCode::upstream_failed : found->code;
}

void read_end(const NoteEntry& note, Seq call, ResponseState& state) {
    const auto body = parse_json(view_of(note.body));
    const auto of = body ? body->root().find("call") : std::nullopt;
    if (!of || of->integer() != static_cast<std::int64_t>(call.value)) return;
    state.status = text_at(body->root(), "status");
    state.reason = text_at(body->root(), "reason");
    if (const auto message = body->root().find("error"); message && message->is_string())
        state.error =
            Error{code_named(text_at(body->root(), "code")), std::string(message->string())};
}

std::optional<ReplyUsage> as_reply_usage(const std::optional<Usage>& usage) {
    if (!usage) return {};
    return ReplyUsage{.input_tokens = usage->input,
                      .output_tokens = usage->output,
                      .cached_tokens = usage->cached,
                      .cache_write_tokens = usage->cache_writes,
                      .reasoning_tokens = usage->reasoning};
}

// The answer that stands behind the call, as far as there is one.
Result<void> read_outcome(Store& store, StoredResponse& response) {
    response.end = response.call;
    ReadQuery query{.ranges = {{response.call + 1, response.header.end}}, .kinds = answer_kinds};
    query.limit = entries_max;
    if (query.ranges.front().empty()) return {};
    PAL_TRY(entries, read_lineage(store, response.header, query));
    std::vector<Message> messages;
    std::vector<Seq> seqs;
    for (const Entry& entry : entries) {
        if (const auto* note = std::get_if<NoteEntry>(&entry.body)) {
            if (note->kind == end_kind) read_end(*note, response.call, response.state);
            if (note->kind == "usage" && !seqs.empty() && entry.seq == response.end + 1) {
                response.state.usage = as_reply_usage(read_usage_note(*note));
                response.end = entry.seq;
            }
            continue;
        }
        const auto& said = std::get<MessageEntry>(entry.body);
        if (said.answers != response.turn || (!seqs.empty() && entry.seq != seqs.back() + 1))
            continue;
        messages.push_back(said.message);
        seqs.push_back(entry.seq);
        response.end = entry.seq;
        response.state.completed = seconds(entry.at);
        response.state.status = said.interrupted ? "incomplete" : "completed";
        response.state.reason = said.interrupted ? "interrupted" : "";
        response.state.error.reset();  // An earlier attempt's.
    }
    for (ShownItem& item : output_items(response.state.id, messages, seqs))
        response.state.output.push_back(std::move(item.json));
    return {};
}

}  // namespace

Result<StoredResponse> load_response(Site& site, std::string_view id) {
    const std::optional<Position> place = parse_position_id(response_prefix, id);
    if (!place) return no_response(id);
    StoredResponse response{.turn = place->seq};
    response.state.id = id;
    Store& store = site.memory.store();
    const auto header = store.head(place->log);
    if (!header && header.error().code != ErrorCode::not_found)
        return std::unexpected(header.error());
    if (!header || header->name.tenant != site.tenant || header->name.id.empty())
        return no_response(id);
    PAL_TRY(deleted, site.responses->is_deleted(response.state.id));
    if (deleted) return no_response(id);
    response.header = *header;
    response.state.conversation = header->name.id;
    const auto call = find_call(site.memory, header->name, place->log, place->seq);
    if (!call) return no_response(id);
    response.call = *call;
    PAL_CHECK(read_call(store, response));
    PAL_CHECK(read_outcome(store, response));
    if (!response.state.is_open()) return response;
    PAL_TRY(running, site.responses->is_running(response.state.id));
    if (running) return response;
    response.state.status = "incomplete";
    response.state.reason = "interrupted";
    return response;
}

std::string call_parameters(const ResponseState& state, bool made) {
    std::string mark;
    JsonWriter out(mark);
    out.begin_object().field("model", state.model);
    if (made) out.key("made").boolean(true);
    if (!state.instructions.empty()) out.key("instructions").boolean(true);
    out.end_object();
    const bool empty = state.fields == "{}";
    return state.fields.substr(0, state.fields.size() - 1) + (empty ? "" : ",") +
           json_string(end_kind) + ":" + mark + "}";
}

void note_end(Memory& memory, const ConversationId& name, Seq call, const ResponseState& state) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().key("call").number(call.value).field("status", state.status);
    if (!state.reason.empty()) out.field("reason", state.reason);
    if (state.error)
        out.field("error", state.error->message).field("code", error_info(state.error->code).name);
    out.end_object();
    AppendRequest request{.messages = "[]", .format = item_format};
    request.write.if_absent = IfAbsent::fail;
    request.notes.push_back({std::string(end_kind), make_bytes(std::move(body))});
    (void)memory.append(name, request);
}

Result<std::size_t> count_responses(Memory& memory, const Header& header) {
    std::size_t count = 0;
    for (Seq from = header.base + 1;;) {
        PAL_TRY(notes, memory.log(header.name, {.range = {from, seq_max},
                                                .kinds = only(EntryKind::note),
                                                .limit = entries_max}));
        for (const Entry& entry : notes) {
            const auto& note = std::get<NoteEntry>(entry.body);
            const auto body =
                was_sent(note) ? std::optional(parse_json(view_of(note.body))) : std::nullopt;
            const auto parameters =
                body && *body ? (*body)->root().find("parameters") : std::nullopt;
            if (parameters && parameters->find(end_kind)) ++count;
        }
        if (notes.size() < entries_max) return count;
        from = notes.back().seq + 1;
    }
}

}  // namespace palimpsest
