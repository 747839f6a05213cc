#include "core/recollect.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "core/snippet.h"
#include "core/stems.h"
#include "palimpsest/memory.h"
#include "palimpsest/search.h"

namespace palimpsest {
namespace {

constexpr std::string_view origin = "[seq ";
constexpr std::size_t whole_bytes = 800;  // longer messages are quoted by their best passage

constexpr std::size_t excerpt_sizes[] = {480, 240, 120};
// Two messages away at most, with entries of other kinds between them.
constexpr std::uint64_t beside = 8;

struct Piece {
    Seq seq = {};
    std::string text = {};
    bool lent = false;
    std::uint64_t tokens = 0;
};

// None when nothing of it fits.
std::optional<Piece> fitting_piece(const RecallInput& input, const Quotable& said,
                                   const Candidate& one, std::uint64_t room) {
    Piece piece{said.seq, {}, one.lent};
    const auto fits = [&](std::string_view text) {
        piece.text = quoted_piece(said.seq, said.role, text);
        piece.tokens = input.count(piece.text);
        return piece.tokens <= room;
    };
    const bool whole = said.text.size() <= whole_bytes;
    if (fits(whole ? said.text : passage_of(said.text, one.passage))) return piece;
    if (!input.excerpt || one.lent) return std::nullopt;
    for (const std::size_t bytes : excerpt_sizes) {
        const std::string part = input.excerpt(said.text, one.passage, bytes);
        if (!part.empty() && fits(part)) return piece;
    }
    return std::nullopt;
}

bool is_told_already(const RecallInput& input, const Quotable& said) {
    if (said.fingerprint != Fingerprint{} && input.shown_texts.contains(said.fingerprint))
        return true;
    if (input.quotations.empty()) return false;
    const std::string piece = quoted_piece(said.seq, said.role, said.text);
    return input.quotations.contains(std::string_view(piece).substr(piece.find('\n')));
}

// What only stands beside a hit tells nothing without it.
void drop_strays(std::vector<Piece>& chosen) {
    const std::vector<Piece> all = chosen;
    std::erase_if(chosen, [&](const Piece& piece) {
        return piece.lent && std::ranges::none_of(all, [&](const Piece& hit) {
                   const auto [low, high] = std::minmax(hit.seq.value, piece.seq.value);
                   return !hit.lent && high - low <= beside;
               });
    });
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
    std::uint32_t told = 0;  // the end of what was taken last: it has its parts
    // A word that is common in another language may be what the question is about.
    for (const RawWord& word : all) {
        if (word.kind == WordKind::single || is_common_word(word.text, language)) continue;
        if (word.end <= told) continue;
        told = word.end;
        words += question.substr(word.begin, word.end - word.begin);
        words += ' ';
    }
    return words;
}

std::string quote_recalled(const RecallInput& input, const RecallBudget& budget) {
    std::vector<Piece> chosen;
    std::set<std::string> texts;
    std::uint64_t used = input.count(quotation_opening) + input.count(quotation_closing);
    const double least =
        input.candidates.empty() ? 0 : input.candidates.front().score * budget.least_share;
    for (const Candidate& one : input.candidates) {
        if (one.score < least || used >= budget.tokens) break;
        if (input.shown.contains(one.seq)) continue;
        const auto said = input.read(one.seq);
        if (!said || said->text.empty() || is_told_already(input, *said)) continue;
        if (texts.contains(said->text)) continue;
        auto piece = fitting_piece(input, *said, one, budget.tokens - used);
        if (!piece) continue;
        used += piece->tokens;
        texts.insert(said->text);
        chosen.push_back(*std::move(piece));
    }
    drop_strays(chosen);
    if (chosen.empty()) return {};
    std::ranges::sort(chosen, {}, &Piece::seq);
    std::string text(quotation_opening);
    for (const Piece& piece : chosen) text += piece.text;
    return text + std::string(quotation_closing);
}

std::string quoted_piece(Seq seq, Role role, std::string_view text, std::string_view about) {
    std::string piece(origin);
    piece += std::to_string(seq.value) + ", " + std::string(role_name(role));
    if (!about.empty()) piece += ", " + std::string(about);
    piece += "]\n> ";
    for (const char c : text) {
        piece += c;
        if (c == '\n') piece += "> ";
    }
    return piece + '\n';
}

bool is_quotation(std::string_view text) {
    return text.starts_with(quotation_opening);
}

bool is_lookup_tool(std::string_view tool) {
    return tool == search_tool_name || tool == recall_tool_name;
}

bool is_lookup_call(std::string_view tool, std::string_view arguments) {
    constexpr std::string_view search_fields[] = {"query", "limit"};
    constexpr std::string_view recall_fields[] = {"call_id", "from", "to"};
    if (!is_lookup_tool(tool)) return false;
    const auto document = parse_json(arguments);
    if (!document || !document->root().is_object()) return true;  // It was told so.
    const std::span<const std::string_view> known =
        tool == search_tool_name ? std::span<const std::string_view>(search_fields) : recall_fields;
    bool some = false;
    for (const JsonMember& member : document->root().members()) {
        if (std::ranges::find(known, member.key) != known.end()) return true;
        some = true;
    }
    return !some;
}

bool is_lookup_note(std::string_view answer) {
    while (answer.starts_with('[') && answer.contains("]\n"))  // warnings
        answer.remove_prefix(answer.find("]\n") + 2);
    return answer.starts_with(nothing_found) || answer.starts_with("Error: ");
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
