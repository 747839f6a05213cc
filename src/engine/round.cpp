#include "engine/round.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "engine/call_note.h"
#include "palimpsest/format.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr Kinds said_and_noted{
    static_cast<std::uint16_t>(only(EntryKind::message).bits | only(EntryKind::note).bits)};

std::uint64_t number_in(JsonValue object, std::string_view field) {
    const auto value = object.find(field);
    const auto number = value ? value->integer() : std::nullopt;
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

void read_calls_note(const NoteEntry& note, Seq answer, RoundLog& out) {
    const bool is_start = note.kind == tool_started_note;
    if (!is_start && note.kind != tool_pending_note) return;
    const auto body = parse_json(view_of(note.body));
    if (!body || number_in(body->root(), "answer") != answer.value) return;
    if (const auto key = body->root().find("key")) out.key = key->string();
    const auto calls = body->root().find("calls");
    if (!calls || !is_start) return;
    for (const JsonValue id : calls->elements()) out.started.emplace(id.string());
}

void read_usage(const NoteEntry& note, Round& round) {
    const auto usage = read_usage_note(note);
    if (!usage) return;
    round.usage = *usage;
    const auto body = parse_json(view_of(note.body));
    const auto cost = body ? body->root().find("cost") : std::nullopt;
    if (cost) round.cost = cost->number();
}

void take_item(Round& round, const Entry& entry) {
    const auto& said = std::get<MessageEntry>(entry.body);
    round.items.push_back(said.message);
    round.seq = entry.seq;
    round.finished.seq = entry.seq;
    round.begun.turn = said.answers;
    round.interrupted = said.interrupted;
    round.stored = true;
}

// One walk over what stands behind an answer.
class RoundReader {
public:
    RoundReader(Seq answer, const std::vector<PendingCall>& calls) : answer_(answer) {
        for (const PendingCall& call : calls) open_.insert(call.id);
    }
    // False: nothing further on belongs to this round or the next answer.
    bool take(const Entry& entry) {
        if (const auto* note = std::get_if<NoteEntry>(&entry.body)) {
            if (out_.next) read_usage(*note, *out_.next);
            if (out_.next) return false;
            read_calls_note(*note, answer_, out_);
            return true;
        }
        const auto& said = std::get<MessageEntry>(entry.body);
        const bool answers_us = std::ranges::find(out_.results, said.answers) != out_.results.end();
        if (answers_us && said.answers != Seq{}) {
            if (out_.next && entry.seq != out_.next->seq + 1) return false;
            if (!out_.next) out_.next.emplace();
            take_item(*out_.next, entry);
            return true;
        }
        if (out_.next) return false;
        bool ours = false;
        for (const std::string& id : said.message.shape.results)
            if (open_.erase(id) > 0) {
                out_.answered.insert(id);
                ours = true;
            }
        if (ours) out_.results.push_back(entry.seq);
        return true;
    }
    RoundLog result() { return std::move(out_); }

private:
    Seq answer_;
    std::set<std::string> open_;
    RoundLog out_;
};

}  // namespace

NoteEntry calls_note(std::string_view kind, Seq answer, std::string_view key,
                     const std::vector<PendingCall>& calls) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().key("answer").number(answer.value).field("key", key);
    out.key("calls").begin_array();
    for (const PendingCall& call : calls) out.string(call.id);
    out.end_array().end_object();
    return {std::string(kind), make_bytes(std::move(body))};
}

Result<RoundLog> read_round(Memory& memory, const ConversationId& name, const Round& round,
                            const std::vector<PendingCall>& calls) {
    RoundReader reader(round.seq, calls);
    PAL_TRY(entries, memory.log(name, {.range = {round.seq + 1, seq_max},
                                       .kinds = said_and_noted,
                                       .limit = SIZE_MAX}));
    for (const Entry& entry : entries)
        if (!reader.take(entry)) break;
    return reader.result();
}

Result<Round> read_answer(Memory& memory, const ConversationId& name, Seq seq) {
    constexpr std::uint64_t items_max = 256;
    PAL_TRY(entries, memory.log(name, {.range = {seq - items_max + 1, seq + 1},
                                       .kinds = said_and_noted,
                                       .limit = SIZE_MAX}));
    Round round;
    for (const Entry& entry : entries) {
        const auto* said = std::get_if<MessageEntry>(&entry.body);
        if (entry.seq > seq) {
            if (!said) read_usage(std::get<NoteEntry>(entry.body), round);
            break;
        }
        if (!said) continue;
        const bool goes_on = !round.items.empty() && entry.seq == round.seq + 1 &&
                             said->answers == round.begun.turn && said->answers != Seq{};
        if (!goes_on) round = {};
        take_item(round, entry);
    }
    if (round.seq != seq)
        return fail(ErrorCode::not_found, "there is no answer at seq " + std::to_string(seq.value));
    return round;
}

Result<Seq> call_of_answer(Memory& memory, const ConversationId& name, Seq seq) {
    PAL_TRY(entries, memory.log(name, {.range = {seq + 1, seq + 1}}));
    if (entries.empty()) return Seq{};
    const auto* note = std::get_if<NoteEntry>(&entries.front().body);
    if (!note || note->kind != "usage") return Seq{};
    PAL_TRY(body, parse_json(view_of(note->body)));
    return Seq{number_in(body.root(), "call")};
}

Result<TurnRequest> read_turn_request(Memory& memory, const ConversationId& name, Seq call) {
    TurnRequest turn;
    if (call == Seq{}) return turn;
    PAL_TRY(header, memory.head(name));
    PAL_TRY(entry, read_entry(memory.store(), header, call));
    PAL_TRY(past, read_call_note(memory.store(), header, entry));
    PAL_TRY(note, parse_json(past.note));
    if (const auto model = note.root().find("model")) turn.request.model = model->string();
    if (const auto more = note.root().find("parameters")) turn.request.parameters = more->raw();
    if (const auto format = note.root().find("format")) {
        PAL_TRY(id, parse_format_name(format->string()));
        turn.request.format = id;
    }
    turn.request.tools = past.tools == "[]" ? "" : past.tools;
    PAL_TRY(preamble, parse_json(past.preamble));
    std::size_t left = preamble.root().size();
    // A summary of another conversation is put there anew by each begin.
    if (note.root().find("injected") && left > 0) --left;
    for (const JsonValue message : preamble.root().elements()) {
        if (left-- == 0) break;
        if (!turn.preamble.empty()) turn.preamble += ',';
        turn.preamble += message.raw();
    }
    return turn;
}

}  // namespace palimpsest
