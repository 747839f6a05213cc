#include "core/identifiers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace palimpsest {
namespace {

constexpr std::size_t text_bytes_max = 256 * 1024;  // Further on, an identifier is one of too many.
constexpr std::size_t identifier_bytes_max = 120;

// What a byte is in an identifier, and its counts packed into one word, so that a word is weighed
// by adding: digits, letters, upper case, marks; eight bits each are enough for 120 bytes.
struct ByteKind {
    bool word = false, inner = false, start = false;
    std::uint32_t counts = 0;
};
constexpr std::uint32_t one_digit = 1, one_letter = 1u << 8, one_upper = 1u << 16,
                        one_mark = 1u << 24;

constexpr std::array<ByteKind, 256> make_kinds() {
    std::array<ByteKind, 256> kinds{};
    for (unsigned c = 0; c < 256; ++c) {
        const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
        const bool digit = c >= '0' && c <= '9';
        ByteKind& kind = kinds[c];
        kind.word = upper || lower || digit || c >= 0x80;
        kind.start = kind.word || c == '/' || c == '~' || c == '#';
        kind.counts =
            (digit ? one_digit : 0) + (upper || lower ? one_letter : 0) + (upper ? one_upper : 0);
        for (const char inner : {'_', '-', '.', '/', ':', '@', '#', '+', '~'})
            kind.inner |= c == static_cast<unsigned char>(inner);
        if (c == '_' || c == '/' || c == '@') kind.counts += one_mark;
    }
    return kinds;
}
constexpr std::array<ByteKind, 256> byte_kinds = make_kinds();

const ByteKind& kind_of(char c) {
    return byte_kinds[static_cast<unsigned char>(c)];
}

std::string_view trimmed(std::string_view word) {
    const auto drop = [](char c) { return c == '.' || c == ':' || c == '-' || c == '#'; };
    while (!word.empty() && drop(word.back())) word.remove_suffix(1);
    while (!word.empty() && (drop(word.front()) && word.front() != '#')) word.remove_prefix(1);
    return word;
}

// The name of a JSON field: it says what follows and identifies nothing.
bool is_key(std::string_view text, std::size_t end) {
    return text.substr(end).starts_with("\":");
}

struct Found {
    std::string_view word;
    int weight = 0;
    std::size_t at = 0;
};

// How telling a word with these counts is; `word` is trimmed.
int weigh(std::string_view word, std::uint32_t counts) {
    if (word.empty() || word.size() > identifier_bytes_max) return 0;
    const std::uint32_t digits = counts & 255, letters = counts >> 8 & 255,
                        uppers = counts >> 16 & 255, marks = counts >> 24;
    if (digits > 0 && letters > 0 && word.size() >= 4) return 4;
    if (marks > 0 && letters > 2) return 4;
    if (digits >= 4) return 3;
    if (uppers > 1 && letters > 3 && uppers < letters) return 2;
    const bool capital = word.front() >= 'A' && word.front() <= 'Z';
    return capital && letters >= 4 ? 1 : 0;
}

// The words found so far, in a table of places with room for twice as many.
class Finds {
public:
    bool add(const Found& one) {
        if (2 * (found_.size() + 1) > places_.size()) grow();
        std::uint32_t& place = place_of(one.word);
        if (place != 0) return false;
        found_.push_back(one);
        place = static_cast<std::uint32_t>(found_.size());
        return true;
    }
    std::vector<Found> take() && { return std::move(found_); }

private:
    // By the first and the last eight bytes: words that differ in the middle alone are few.
    static std::size_t hash_of(std::string_view word) {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        std::uint64_t first = 0, last = 0;
        const std::size_t size = std::min<std::size_t>(word.size(), 8);
        std::memcpy(&first, word.data(), size);
        std::memcpy(&last, word.data() + word.size() - size, size);
        const std::uint64_t mixed = (first * odd) ^ ((last + word.size()) * (odd << 1 | 1));
        return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
    std::uint32_t& place_of(std::string_view word) {
        const std::size_t mask = places_.size() - 1;
        std::size_t at = hash_of(word) & mask;
        while (places_[at] != 0 && found_[places_[at] - 1].word != word) at = (at + 1) & mask;
        return places_[at];
    }
    void grow() {
        places_.assign(std::max<std::size_t>(64, 2 * places_.size()), 0);
        for (std::uint32_t n = 0; n < found_.size(); ++n) place_of(found_[n].word) = n + 1;
    }

    std::vector<Found> found_;
    std::vector<std::uint32_t> places_;  // 0: free, else which of the found, counted from 1
};

std::vector<Found> all_identifiers(std::string_view text) {
    Finds finds;
    std::size_t at = 0;
    while (at < text.size()) {
        if (!kind_of(text[at]).start) {
            ++at;
            continue;
        }
        std::size_t end = at;
        // What is trimmed off a word counts nothing, so its counts are known when its end is.
        // Beyond the longest identifier they may overflow: it is none.
        std::uint32_t counts = 0;
        for (; end < text.size(); ++end) {
            const ByteKind& kind = kind_of(text[end]);
            if (!kind.word && !kind.inner) break;
            counts += kind.counts;
        }
        if (counts >= one_upper || (counts & 255) > 0) {
            const std::string_view word = trimmed(text.substr(at, end - at));
            const int weight = weigh(word, counts);
            if (weight > 0 && !is_key(text, end)) finds.add({word, weight, at});
        }
        at = std::max(end, at + 1);
    }
    return std::move(finds).take();
}

}  // namespace

int identifier_weight(std::string_view word) {
    std::uint32_t counts = 0;
    for (const char c : word.substr(0, identifier_bytes_max)) counts += kind_of(c).counts;
    return weigh(word, counts);
}

std::vector<std::string_view> find_identifiers(std::string_view text, std::size_t most) {
    if (most == 0) return {};
    std::vector<Found> found = all_identifiers(text.substr(0, text_bytes_max));
    if (found.size() > most) {
        std::ranges::stable_sort(found, std::greater<>(), &Found::weight);
        found.resize(most);
        std::ranges::sort(found, {}, &Found::at);
    }
    std::vector<std::string_view> out;
    for (const Found& one : found) out.push_back(one.word);
    return out;
}

}  // namespace palimpsest
