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
};
struct Candidate {
    Seq seq = {};
    std::uint32_t passage = 0;
    double score = 0;
};
struct RecallInput {
    std::span<const Candidate> candidates = {};  // best first
    std::set<Seq> shown = {};                    // not to be quoted again
    std::function<std::optional<Quotable>(Seq seq)> read = {};
    std::function<std::uint32_t(std::string_view text)> count = {};
};
// The quotation, in the order in which it was said; empty when nothing is worth it.
std::string quote_recalled(const RecallInput& input, const RecallBudget& budget);

// What of the log the items show or quote as it was said.
std::set<Seq> shown_seqs(std::span<const Item> items,
                         const std::function<std::string(const Message&)>& text_of);
// The origins that a quotation names.
std::vector<Seq> quoted_seqs(std::string_view quotation);

}  // namespace palimpsest
