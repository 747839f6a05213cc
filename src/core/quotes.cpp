#include "core/quotes.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace palimpsest {
namespace {

using Place = std::uint64_t;  // the message above, the position in it below
using Places = std::vector<Place>;

constexpr Place place_of(std::uint32_t message, std::uint32_t position) {
    return Place{message} << 32 | position;
}

// The first place from `at` on that is not before the wanted one: near ones in few steps.
Places::const_iterator skip_to(Places::const_iterator at, Places::const_iterator end,
                               Place wanted) {
    std::ptrdiff_t step = 1;
    while (end - at > step && at[step] < wanted) {
        at += step;
        step *= 2;
    }
    return std::lower_bound(at, at + std::min(step + 1, end - at), wanted);
}

// Of the starts those that have the word so many positions further on.
void keep_followed(Places& starts, const Places& places, std::uint32_t offset) {
    std::size_t kept = 0;
    auto at = places.begin();
    for (const Place start : starts) {
        at = skip_to(at, places.end(), start + offset);
        if (at == places.end()) break;
        if (*at == start + offset) starts[kept++] = start;
    }
    starts.resize(kept);
}

class QuoteFinder {
public:
    explicit QuoteFinder(const WordIndex& index) : index_(index) {}

    // Where the quote starts.
    Places starts_of(const Quote& quote) {
        std::vector<Asked> words = rarest_first(quote);
        const QuotedWord& rarest = *words.front().second;
        Places starts;
        for (const Place place : places_of(rarest))
            if (static_cast<std::uint32_t>(place) >= rarest.offset)
                starts.push_back(place - rarest.offset);
        for (const auto& [passages, word] : words) {
            if (starts.empty()) break;
            if (word != &rarest) keep_followed(starts, places_of(*word), word->offset);
        }
        return starts;
    }

private:
    using Asked = std::pair<std::uint64_t, const QuotedWord*>;  // in how many passages

    std::vector<Asked> rarest_first(const Quote& quote) const {
        std::vector<Asked> words;
        std::vector<PostingList> lists;
        for (const QuotedWord& word : quote) {
            lists.clear();
            for (const QuotedTerm& term : word.terms) index_.find(term.text, lists);
            std::uint64_t passages = 0;
            for (const PostingList& list : lists) passages += list.passages;
            words.emplace_back(passages, &word);
        }
        std::ranges::stable_sort(words, {}, &Asked::first);
        return words;
    }

    const Places& places_of(const QuotedWord& word) {
        const auto [row, fresh] = known_.try_emplace(word.text);
        if (!fresh) return row->second;
        Places& places = row->second;
        std::vector<PostingList> lists;
        for (const QuotedTerm& term : word.terms) {
            lists.clear();
            index_.find(term.text, lists);
            for (const PostingList& list : lists) add_places(list.bytes, term.mark, places);
        }
        if (!std::ranges::is_sorted(places)) std::ranges::sort(places);
        places.erase(std::ranges::unique(places).begin(), places.end());  // by two of its terms
        return places;
    }

    void add_places(std::string_view bytes, std::uint8_t mark, Places& places) const {
        const auto& passages = index_.passages();
        scan_postings(bytes, [&](const Posting& posting) {
            if (posting.passage >= passages.size()) return;
            const std::uint32_t message = passages[posting.passage].message;
            scan_positions(bytes, posting, [&](std::uint32_t position, std::uint8_t form) {
                if (form == mark) places.push_back(place_of(message, position));
            });
        });
    }

    const WordIndex& index_;
    std::unordered_map<std::string_view, Places> known_;  // by the words of quotes
};

// A text's words by position, those that are in some quote as numbers.
class NumberedWords {
public:
    NumberedWords(const std::vector<RawWord>& words, std::span<const Quote> quotes) {
        for (const Quote& quote : quotes)
            for (const QuotedWord& word : quote)
                numbers_.try_emplace(word.text, static_cast<std::uint32_t>(numbers_.size() + 1));
        for (std::size_t w = 0; w < words.size(); ++w) {
            if (words[w].kind == WordKind::whole || words[w].kind == WordKind::pair) continue;
            const auto known = numbers_.find(strip_accents(words[w].text));
            if (known != numbers_.end()) text_.push_back({words[w].position, known->second, w});
        }
    }

    std::vector<QuotePlace> find(const Quote& quote) const {
        std::vector<std::uint32_t> wanted;
        for (const QuotedWord& word : quote) wanted.push_back(numbers_.at(word.text));
        std::vector<QuotePlace> found;
        std::uint32_t free = 0;  // the first position behind the quote that was found last
        for (auto at = text_.begin(); at != text_.end(); ++at) {
            if (at->position < free || at->number != wanted.front()) continue;
            const Numbered* last = end_of(quote, wanted, at);
            if (!last) continue;
            found.push_back({at->word, last->word});
            free = last->position + 1;
        }
        return found;
    }

private:
    // A name and its parts are at one position: each of them may be the one that is asked for.
    struct Numbered {
        std::uint32_t position = 0, number = 0;
        std::size_t word = 0;
    };
    using At = std::vector<Numbered>::const_iterator;

    // The last word of the quote that starts there, or null.
    const Numbered* end_of(const Quote& quote, const std::vector<std::uint32_t>& wanted,
                           At start) const {
        At at = start;
        for (std::size_t i = 1; i < wanted.size(); ++i) {
            const std::uint32_t position = start->position + quote[i].offset;
            while (at != text_.end() && at->position < position) ++at;
            while (at != text_.end() && at->position == position && at->number != wanted[i]) ++at;
            if (at == text_.end() || at->position != position) return nullptr;
        }
        return &*at;
    }

    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<Numbered> text_;
};

}  // namespace

std::vector<std::uint32_t> messages_with(const WordIndex& index, std::span<const Quote> quotes) {
    QuoteFinder finder(index);
    std::vector<std::uint32_t> messages;
    for (std::size_t q = 0; q < quotes.size(); ++q) {
        std::vector<std::uint32_t> having;
        for (const Place start : finder.starts_of(quotes[q])) {
            const auto message = static_cast<std::uint32_t>(start >> 32);
            if (!having.empty() && having.back() == message) continue;
            if (q == 0 || std::ranges::binary_search(messages, message)) having.push_back(message);
        }
        messages = std::move(having);
        if (messages.empty()) break;
    }
    return messages;
}

std::vector<std::vector<QuotePlace>> find_quotes(const std::vector<RawWord>& words,
                                                 std::span<const Quote> quotes) {
    std::vector<std::vector<QuotePlace>> found;
    if (quotes.empty()) return found;
    const NumberedWords numbered(words, quotes);
    for (const Quote& quote : quotes) found.push_back(numbered.find(quote));
    return found;
}

bool has_quotes(std::string_view text, const SearchQuery& query) {
    if (query.quotes.empty()) return true;
    const auto found = find_quotes(split_words(text), query.quotes);
    return std::ranges::none_of(found, [](const auto& places) { return places.empty(); });
}

}  // namespace palimpsest
