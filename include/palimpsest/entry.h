// Entries: the records of a log. Nothing here is ever rewritten, but by scrub and erase.
//
// An edit says what became of a range of messages, and holds the resulting bytes, not a recipe.
// Every entry that changes the view (compaction, pin, retract, rewind, undo) carries the complete
// state of the view after it, its basis: opening a conversation reads the newest basis, the runs
// that it names, and the messages after it; never the history.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "palimpsest/message.h"
#include "palimpsest/types.h"

namespace palimpsest {

// From weakest to strongest. Where several edits in force cover a message the strongest wins,
// and of equally strong ones the later. Numbers are stored.
enum class Treatment : std::uint8_t {
    verbatim = 0,
    shortened = 1,
    cleared = 2,
    folded = 3,
    dropped = 4,
};

// One statement about the messages in `range`, in absolute seqs.
struct Edit {
    Treatment treatment = Treatment::dropped;
    Range range = {};
    Bytes result = {};  // cleared, shortened: the rewritten message; folded: the summary's text
    FormatId format = FormatId::openai_chat;  // of `result`, where it is a message
    std::string reason = {};                  // for people
    std::string pass = {};                    // who planned it
    Count before = {}, after = {};
    bool scrubbed = false;  // its result is gone for good
};

// A run of the view: messages next to each other that fare alike. Runs are ascending and do not
// overlap; a seq in no run is dropped. A summary that owns several runs is shown at its first one.
struct BasisItem {
    Range range = {};
    Treatment treatment = Treatment::verbatim;  // never dropped: dropped messages are in no run
    Seq by = {};                                // the entry that holds the edit; 0 for verbatim
    std::uint32_t edit = 0;                     // index into that entry's edits
    std::uint32_t messages = 0;                 // how many messages the run owns; at least one
    std::uint64_t tokens = 0;  // what it costs in the view (under the basis's scheme)
    bool operator==(const BasisItem&) const = default;
};

// The whole state of the view after an edit entry. Messages after `upto` are verbatim, also those
// that are older than the entry itself (a summary that was made while the conversation went on).
// An entry does not know its own seq before it is written: see resolve_basis() in src/core/fold.h.
struct Basis {
    Seq upto = {};
    std::uint16_t scheme = 0;
    std::vector<BasisItem> items = {};
    std::vector<Seq> applied =
        {};  // entries in force: compactions, pins, retracts, rewinds; ascending
    std::vector<Seq> pinned = {};  // pinned messages, ascending
    bool operator==(const Basis&) const = default;
};

enum class Cause : std::uint8_t { policy = 0, request = 1, overflow = 2, import = 3 };

struct MessageEntry {
    Message message = {};
    bool interrupted = false;  // a partial answer
    bool scrubbed = false;     // its content is gone for good
    Seq answers = {};          // the first seq of the turn that this answers; 0: none named
};
struct CompactionEntry {
    Cause cause = Cause::policy;
    std::string trigger = {}, policy = {};
    std::uint64_t tokens_before = 0, tokens_after = 0;
    std::vector<Edit> edits = {};
    Basis basis = {};
};
struct PinEntry {
    std::vector<Seq> targets = {};  // every message of the pinned groups
    bool on = true;
    Basis basis = {};
};
struct RetractEntry {  // hidden by hand
    Range range = {};
    // Outside of it: the rest of groups that the range would split, and what quotes it.
    std::vector<Seq> also = {};
    std::string reason = {};
    Basis basis = {};
};
struct RewindEntry {  // the client went back: what was said after `to` is not shown any more
    Seq to = {};
    Seq upto = {};  // the end of the log at that moment
    std::string reason = {};
    Basis basis = {};
};
struct UndoEntry {
    Seq target = {};  // what was named
    Seq root = {};    // the entry that is switched off, or on again
    Basis basis = {};
};
struct CheckpointEntry {
    std::string name = {};
    std::string metadata = {};  // a JSON object
};
struct NoteEntry {
    std::string kind = {};  // "call", "text", "tool_started", "interrupted", "repair", ...
    Bytes body = {};        // JSON
};

// The kind of an entry. Numbers are stored: only ever append.
enum class EntryKind : std::uint8_t {
    message = 0,
    compaction = 1,
    pin = 2,
    retract = 3,
    rewind = 4,
    undo = 5,
    checkpoint = 6,
    note = 7,
};
constexpr std::size_t entry_kind_count = 8;
std::string_view entry_kind_name(EntryKind kind);

// An entry whose bytes only the holder of a key can read: what an encrypted store hands to the
// store that keeps it (src/store/sealed_store.h). Nobody else ever sees one.
struct SealedEntry {
    EntryKind kind = EntryKind::message;
    std::string meta = {};
    Bytes payload = {};
};

// The alternatives stand in the order of the kinds; the sealed one says its own.
using Body = std::variant<MessageEntry, CompactionEntry, PinEntry, RetractEntry, RewindEntry,
                          UndoEntry, CheckpointEntry, NoteEntry, SealedEntry>;
inline EntryKind kind_of(const Body& body) {
    const auto* sealed = std::get_if<SealedEntry>(&body);
    return sealed ? sealed->kind : static_cast<EntryKind>(body.index());
}

// A set of kinds, for reading.
struct Kinds {
    std::uint16_t bits = 0xffff;
    bool has(EntryKind kind) const { return (bits >> static_cast<unsigned>(kind)) & 1U; }
};
constexpr Kinds only(EntryKind kind) {
    return {static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind))};
}
constexpr Kinds all_kinds{};
constexpr Kinds basis_kinds{0b111110};  // the kinds that change the view and carry a basis

struct Entry {
    Seq seq = {};
    Time at = {};
    std::uint64_t ordinal = 0;  // messages in the lineage up to and with this entry
    Body body = {};
};

// The basis that the entry carries, or null.
const Basis* basis_of(const Body& body);
Basis* basis_of(Body& body);

}  // namespace palimpsest
