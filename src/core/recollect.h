// Recall: what was said long ago and is not in the view comes back beside a new question.
//
// It is chosen once for a user's turn and stays where it was put, as a message of the log in front
// of the question: what is in front of it does not change, so a provider's cache keeps hitting. It
// is a quotation, marked as such; it starts no turn, is not searched, and nothing is quoted that
// the view shows.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/recall_budget.h"
#include "palimpsest/view.h"

namespace palimpsest {

// That are looked at, beside those that the view shows already.
constexpr std::size_t recall_candidates = 50;

// A message of that kind is known by its fingerprint, which no text has.
constexpr Fingerprint recalled_fingerprint{0x72656361'6c6c6564, 0x70616c69'6d707365};
inline bool is_recalled(const Message& message) {
    return message.fingerprint == recalled_fingerprint;
}
inline ItemKind kind_of_said(const Message& message) {
    return is_recalled(message) ? ItemKind::recalled : ItemKind::verbatim;
}
// Makes a counted message of the quotation one.
void mark_recalled(Message& message);

// What of a question says what it is about: its words without those that are common in its
// language.
std::string telling_words(std::string_view question);

struct Quotable {
    Seq seq = {};
    Role role = Role::user;
    std::string text = {};
    Fingerprint fingerprint = {};
};
struct Candidate {
    Seq seq = {};
    std::uint32_t passage = 0;
    double score = 0;
    bool lent = false;  // it says nothing of what was asked for, but stands beside what does
};
struct RecallInput {
    std::span<const Candidate> candidates = {};  // best first
    // What the view has, and is not to be told again: positions, texts, its quotations.
    std::set<Seq> shown = {};
    std::set<Fingerprint> shown_texts = {};
    std::string quotations = {};
    std::function<std::optional<Quotable>(Seq seq)> read = {};
    std::function<std::uint32_t(std::string_view text)> count = {};
    // So many bytes of the passage around what was asked for; empty when there is no such place.
    std::function<std::string(std::string_view text, std::uint32_t passage, std::size_t bytes)>
        excerpt = {};
};
// The quotation, in the order in which it was said; empty when nothing is worth it. What does not
// fit is cut to an excerpt or left out, and then what stands beside it is left out as well.
std::string quote_recalled(const RecallInput& input, const RecallBudget& budget);

// ---- what quotations look like
// -------------------------------------------------------------------
//
// Quotations in the log, and the answers of the tools `recall` and `search_memory`, are written
// alike: an opening line, the origins with their quoted lines, a closing line. So whoever hides or
// removes a message finds its copies.

constexpr std::string_view quotation_opening =
    "[recalled from earlier in this conversation; quoted, not addressed to you]\n";
constexpr std::string_view quotation_closing = "[end of what was recalled]";
constexpr std::string_view nothing_found = "Nothing was found";
// One origin. No line of its text can pass for a line of ours. `about` follows the role, if given.
std::string quoted_piece(Seq seq, Role role, std::string_view text, std::string_view about = {});
bool is_quotation(std::string_view text);
// Whether a tool of that name is one of those, and a call of it asks them for something: it says
// nothing to be found. A caller may have a tool of that name that takes something else.
bool is_lookup_tool(std::string_view tool);
bool is_lookup_call(std::string_view tool, std::string_view arguments);
// Whether an answer to a call of such a tool says that there is nothing, or what was wrong.
bool is_lookup_note(std::string_view answer);

// What of the log the items show or quote as it was said.
std::set<Seq> shown_seqs(std::span<const Item> items,
                         const std::function<std::string(const Message&)>& text_of);
// The origins that a quotation names.
std::vector<Seq> quoted_seqs(std::string_view quotation);

}  // namespace palimpsest
