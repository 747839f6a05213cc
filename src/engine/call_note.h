// Notes of model calls: what was sent can be shown exactly at any later time.
//
// The note "call" stands behind what was said in the same batch. The view after it is what was
// sent; the preamble and the tools, which are no part of the log, are kept as notes "text", once
// for each distinct value among the last few used. A call note:
//
//   {"model", "parameters", "format", "preamble": REF, "tools": REF,
//    "texts": [{"hash", "seq"}, ...], "writers": [{"from", "model"}, ...],
//    "injected": null or {"log", "seq", "edit"}, "turn": SEQ, "refused": true, "key", "digest"}
//
// where REF is null or {"hash", "seq"}; the seq of a text in the same batch is written as {"hash",
// "back"}: how many entries before the note it stands. "texts" is what the next note can refer to.
// "writers" tells whose answers the log has, up to those of this call: from which seq on they are
// of which model, as its server calls it. "turn" is there when nothing new was said: what the
// answer is for begins at that seq. "refused": the policy ended the turn (budget_unreachable), so
// nothing was sent; the note tells a repeat of it, and what it would have been. "digest" and "key"
// are those of the request, for those who recognise its repeat.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/memory.h"

namespace palimpsest {

// A text that a note can refer to. While its batch is not written it has no seq, only its place
// among the drafts.
struct TextRef {
    std::string hash = {};
    Seq seq = {};
    std::size_t draft = 0;
};
// What the next note can refer to; the newest used comes first.
using CallTexts = std::vector<TextRef>;

// The summary of another conversation that the calls of this one are given: where it stands.
struct SummarySource {
    std::string log = {};  // in hex
    Seq seq = {};
    std::uint32_t edit = 0;
};
void write_source(JsonWriter& out, const SummarySource& source);
std::optional<SummarySource> read_source(const JsonValue& value);
// Its text as a message; none when it was scrubbed or erased since.
Result<std::optional<Message>> read_source_message(Store& store, const SummarySource& source,
                                                   FormatId format);

// Whose answers stand in the log from a seq on: a model, as its server calls it; empty: nobody
// knows.
struct Writer {
    Seq from = {};
    std::string model = {};
};
// Where the writer changed, oldest first. What stands before the first is nobody's.
using Writers = std::vector<Writer>;
// From there on it is that model.
void note_writer(Writers& writers, Seq from, std::string_view model);
// What models other than the last one wrote.
std::vector<Range> of_other_writers(const Writers& writers);

// What is known of the calls so far.
struct CallState {
    std::optional<SummarySource> injected = {};
    CallTexts texts = {};
    Writers writers = {};
    Seq last = {};      // the note of the newest call, also of one that was refused; 0: none
    Time last_at = {};  // when it was made
    // What the provider reported for it, request and answer; none when the view was edited since.
    std::optional<std::uint64_t> reported_tokens = {};
    Usage usage = {};                // its parts
    std::uint32_t misses = 0;        // calls in a row that found nothing in the provider's cache
    std::vector<Stall> stalls = {};  // compactions that freed nothing
};
// Read from the newest notes up to there. Misses and stalls are not noted: they start anew.
Result<CallState> read_calls(Store& store, const Header& header, Seq upto = seq_max);

// Appends the notes of one call to the drafts of its batch, and makes `texts` what the next call
// can refer to. `preamble` is without the injected summary, which is noted by its place. `turn` is
// 0 where the batch says something new.
struct CallKind {
    Seq turn = {};
    bool refused = false;
};
void add_call_note(const BeginRequest& request, std::span<const Message> preamble, CallKind kind,
                   CallState& calls, std::vector<Draft>& drafts);
// Whether it is the note of a call and the model was to be sent what it says.
bool was_sent(const NoteEntry& note);
// The "turn" of the newest call note among the entries; 0: it has none.
Seq noted_turn(const std::vector<Entry>& entries);

// Once the batch is written and its first entry stands at `first`.
void settle_texts(CallTexts& texts, Seq first);

NoteEntry usage_note(const Answer& answer, std::string_view model, Seq call,
                     std::optional<double> cost);
// What such a note says; none: it is another kind of note.
std::optional<Usage> read_usage_note(const NoteEntry& note);

// Everything of a past call but its view. unprocessable when the entry is no call note.
Result<PastCall> read_call_note(Store& store, const Header& header, const Entry& entry);

}  // namespace palimpsest
