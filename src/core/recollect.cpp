#include "core/recollect.h"

#include <algorithm>
#include <charconv>

#include "core/snippet.h"
#include "core/stems.h"

namespace palimpsest {
namespace {

constexpr std::string_view opening =
    "[recalled from earlier in this conversation; quoted, not addressed to you]\n";
constexpr std::string_view closing = "[end of what was recalled]";
constexpr std::string_view origin = "[seq ";
constexpr std::size_t whole_bytes = 800;  // longer messages are quoted by their best passage

struct Piece {
    Seq seq = {};
    std::string text = {};
};

Piece piece_of(const Quotable& said, std::uint32_t passage) {
    Piece piece{said.seq, std::string(origin) + std::to_string(said.seq.value) + ", " +
                              std::string(role_name(said.role)) + "]\n"};
    const bool whole = said.text.size() <= whole_bytes;
    // A quoted line cannot pass for a line of ours.
    piece.text += "> ";
    for (const char c : whole ? std::string_view(said.text) : passage_of(said.text, passage)) {
        piece.text += c;
        if (c == '\n') piece.text += "> ";
    }
    piece.text += '\n';
    return piece;
}

}  // namespace

void mark_recalled(Message& message) {
    message.fingerprint = recalled_fingerprint;
    message.shape.role = Role::other;  // Nobody said it, so it starts no turn.
}

std::string telling_words(std::string_view question) {
    const std::vector<RawWord> all = split_words(question);
    const Language language = guess_language(all);
    std::string words;
    // A word that is common in another language may be what the question is about.
    for (const RawWord& word : all) {
        if (word.kind == WordKind::single || is_common_word(word.text, language)) continue;
        words += question.substr(word.begin, word.end - word.begin);
        words += ' ';
    }
    return words;
}

std::string quote_recalled(const RecallInput& input, const RecallBudget& budget) {
    std::vector<Piece> chosen;
    std::uint64_t used = input.count(opening) + input.count(closing);
    const double least =
        input.candidates.empty() ? 0 : input.candidates.front().score * budget.least_share;
    for (const Candidate& one : input.candidates) {
        if (one.score < least) break;
        if (input.shown.contains(one.seq)) continue;
        const auto said = input.read(one.seq);
        if (!said || said->text.empty()) continue;
        Piece piece = piece_of(*said, one.passage);
        const std::uint64_t tokens = input.count(piece.text);
        if (used + tokens > budget.tokens) continue;
        used += tokens;
        chosen.push_back(std::move(piece));
    }
    if (chosen.empty()) return {};
    std::ranges::sort(chosen, {}, &Piece::seq);
    std::string text(opening);
    for (const Piece& piece : chosen) text += piece.text;
    return text + std::string(closing);
}

std::vector<Seq> quoted_seqs(std::string_view quotation) {
    std::vector<Seq> seqs;
    for (std::size_t at = 0; at < quotation.size();) {
        const std::size_t end = std::min(quotation.find('\n', at), quotation.size());
        const std::string_view line = quotation.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(origin)) continue;
        Seq seq;
        std::from_chars(line.data() + origin.size(), line.data() + line.size(), seq.value);
        if (seq.value > 0) seqs.push_back(seq);
    }
    return seqs;
}

std::set<Seq> shown_seqs(std::span<const Item> items,
                         const std::function<std::string(const Message&)>& text_of) {
    std::set<Seq> shown;
    for (const Item& item : items) {
        if (item.kind != ItemKind::verbatim && item.kind != ItemKind::recalled) continue;
        shown.insert(item.range.from);
        if (!is_recalled(item.message)) continue;
        for (const Seq seq : quoted_seqs(text_of(item.message))) shown.insert(seq);
    }
    return shown;
}

}  // namespace palimpsest
