#include "server/turn_log.h"

#include <algorithm>

#include "base/json.h"
#include "engine/call_note.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::size_t notes_max = 8;  // A call's own note has at most preamble and tools before it.
constexpr std::size_t later_max = 1000;  // entries from a turn's first call to its last
constexpr Kinds said_and_noted{
    static_cast<std::uint16_t>(only(EntryKind::message).bits | only(EntryKind::note).bits)};
constexpr Kinds no_messages{all_kinds.bits & ~only(EntryKind::message).bits};

const NoteEntry* note_of(const Entry& entry, std::string_view kind) {
    const auto* note = std::get_if<NoteEntry>(&entry.body);
    return note && note->kind == kind ? note : nullptr;
}

std::unexpected<Error> no_turn() {
    return fail(ErrorCode::not_found, "this conversation has no such turn; `begin` gives its id",
                "turn_id");
}

// Whether the entry can stand between the start of a turn and the note of its call.
bool is_of_begin(const Entry& entry) {
    if (const auto* message = std::get_if<MessageEntry>(&entry.body))
        return message->answers == Seq{};
    return std::holds_alternative<CompactionEntry>(entry.body) || note_of(entry, "text") ||
           note_of(entry, "compaction") || note_of(entry, "call");
}

Result<Usage> read_usage(const NoteEntry& note) {
    PAL_TRY(document, parse_json(view_of(note.body)));
    const auto number = [&](std::string_view field) -> std::uint64_t {
        const auto value = document.root().find(field);
        return value ? static_cast<std::uint64_t>(value->integer().value_or(0)) : 0;
    };
    return Usage{.input = number("input"),
                 .cached = number("cached"),
                 .cache_writes = number("cache_writes"),
                 .output = number("output"),
                 .reasoning = number("reasoning")};
}

// The newest call that goes on with the turn, up to its answer; 0: there is none.
Result<Seq> find_later_call(Memory& memory, const ConversationId& name, Seq turn, Range among) {
    Seq found;
    // Its answer mostly stands right there.
    std::size_t limit = notes_max;
    for (std::size_t read = 0; !among.empty() && read < later_max; read += limit, limit *= 4) {
        PAL_TRY(entries,
                memory.log(name, {.range = among, .kinds = said_and_noted, .limit = limit}));
        for (const Entry& entry : entries) {
            const auto* message = std::get_if<MessageEntry>(&entry.body);
            if (message && message->answers == turn) return found;
            const auto* note = std::get_if<NoteEntry>(&entry.body);
            if (note && was_sent(*note) && noted_turn({entry}) == turn) found = entry.seq;
        }
        if (entries.size() < limit) break;
        among.from = entries.back().seq + 1;
    }
    return found;
}

}  // namespace

Result<Seq> find_call(Memory& memory, const ConversationId& name, const LogId& log, Seq turn) {
    PAL_TRY(header, memory.head(name));
    if (log != header.log || turn == Seq{} || turn > header.end) return no_turn();
    PAL_TRY(notes, memory.log(name, {.range = {turn, header.end},
                                     .kinds = only(EntryKind::note),
                                     .limit = notes_max}));
    const auto call =
        std::ranges::find_if(notes, [](const Entry& entry) { return note_of(entry, "call"); });
    if (call == notes.end()) return no_turn();
    PAL_TRY(entries, memory.log(name, {.range = {turn, call->seq},
                                       .limit = call->seq.value - turn.value + 1,
                                       .content = false}));
    if (!std::ranges::all_of(entries, is_of_begin)) return no_turn();
    PAL_TRY(later, find_later_call(memory, name, turn, {call->seq + 1, header.end}));
    if (later != Seq{}) return later;
    if (!was_sent(std::get<NoteEntry>(call->body))) return no_turn();
    return call->seq;
}

Result<void> read_begun(Memory& memory, Seq call, Begun& begun) {
    PAL_TRY(past, memory.past_call(begun.name, call));
    PAL_TRY(note, parse_json(past.note));
    FormatId format = FormatId::openai_chat;
    if (const auto name = note.root().find("format")) {
        PAL_TRY(known, parse_format_name(name->string()));
        format = known;
    }
    if (const auto model = note.root().find("model")) begun.model = model->string();
    begun.tools = past.tools == "[]" ? "" : past.tools;
    PAL_TRY(preamble, read_messages(format, make_bytes(std::move(past.preamble))));
    begun.preamble = std::move(preamble);
    begun.view = std::move(past.view);
    begun.view.seq = call;
    return {};
}

// It stands before the notes that end the view.
Result<std::optional<Compaction>> find_compaction(Memory& memory, const Begun& begun) {
    PAL_TRY(entries, memory.log(begun.name, {.range = {begun.turn, begun.view.seq},
                                             .kinds = no_messages,
                                             .limit = notes_max,
                                             .newest_first = true}));
    const auto last = std::ranges::find_if(entries, [](const Entry& entry) {
        return !note_of(entry, "text") && !note_of(entry, "compaction") && !note_of(entry, "call");
    });
    const auto* entry = last == entries.end() ? nullptr : std::get_if<CompactionEntry>(&last->body);
    if (!entry || entry->cause == Cause::request) return std::nullopt;
    PAL_TRY(compaction, memory.find_compaction(begun.name, last->seq));
    return std::optional(std::move(compaction));
}

Result<Answer> read_answer(Memory& memory, const Begun& begun) {
    Answer answer{.message = *begun.already, .interrupted = begun.already_interrupted};
    const Seq behind = begun.already_at + 1;
    PAL_TRY(entries, memory.log(begun.name, {.range = {behind, behind}}));
    const NoteEntry* note = entries.empty() ? nullptr : note_of(entries.front(), "usage");
    if (!note) return answer;
    PAL_TRY(usage, read_usage(*note));
    answer.usage = usage;
    return answer;
}

}  // namespace palimpsest
