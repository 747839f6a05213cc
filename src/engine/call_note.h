// Notes of model calls: what was sent can be shown exactly at any later time.
//
// The note "call" stands behind what was said in the same batch. The view after it is what was
// sent; the preamble and the tools, which are no part of the log, are kept as notes "text", once
// for each distinct value among the last few used. A call note:
//
//   {"model", "parameters", "preamble": REF, "tools": REF, "texts": [{"hash", "seq"}, ...]}
//
// where REF is null or {"hash", "seq"}; the seq of a text in the same batch is written as {"hash",
// "back"}: how many entries before the note it stands. "texts" is what the next note can refer to.
#pragma once
#include <string>
#include <vector>

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

// The texts that the newest call note knows of.
Result<CallTexts> known_texts(Store& store, const Header& header);

// Appends the notes of one call to the drafts of its batch, and makes `texts` what the next call
// can refer to.
void add_call_note(const BeginRequest& request, const std::vector<Message>& preamble,
                   CallTexts& texts, std::vector<Draft>& drafts);

// Once the batch is written and its first entry stands at `first`.
void settle_texts(CallTexts& texts, Seq first);

NoteEntry usage_note(const Answer& answer, Seq call);

// Everything of a past call but its view. unprocessable when the entry is no call note.
Result<PastCall> read_call_note(Store& store, const Header& header, const Entry& entry);

}  // namespace palimpsest
