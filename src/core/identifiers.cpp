#include "core/identifiers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace palimpsest {
namespace {

constexpr std::size_t text_bytes_max = 256 * 1024;  // Further on, an identifier is one of too many.
constexpr std::size_t identifier_bytes_max = 120;

// What a byte is in an identifier, and its counts packed into one word, so that a word is weighed
// by adding: digits, letters, upper case, marks; eight bits each are enough for 120 bytes.
struct ByteKind {
    bool inside = false, start = false;  // of an identifier
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
        const bool word = upper || lower || digit || c >= 0x80;
        kind.start = word || c == '/' || c == '~' || c == '#';
        kind.inside = word;
        kind.counts =
            (digit ? one_digit : 0) + (upper || lower ? one_letter : 0) + (upper ? one_upper : 0);
        for (const char inner : {'_', '-', '.', '/', ':', '@', '#', '+', '~'})
            kind.inside |= c == static_cast<unsigned char>(inner);
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

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// How much of the word at `at` belongs to an escape that a backslash before it begins: the u00e9 of
// "\u00e9", and in JSON the n of "\n", which elsewhere may be the path C:\new.
std::size_t escape_size(std::string_view text, std::size_t at, bool json) {
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return 0;
    const std::string_view rest = text.substr(at);
    const auto hex = rest.substr(1, 4);
    if (rest.front() == 'u' && hex.size() == 4 && std::ranges::all_of(hex, is_hex)) return 5;
    return json && std::string_view("nrtbf").contains(rest.front()) ? 1 : 0;
}

bool is_json(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && (text[first] == '{' || text[first] == '[');
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

// A word by its first and last eight bytes, which are all of it up to sixteen.
struct WordKey {
    explicit WordKey(std::string_view text) : word(text) {
        const std::size_t size = std::min<std::size_t>(word.size(), 8);
        if (size == 8) {
            std::memcpy(&first, word.data(), 8);
            std::memcpy(&last, word.data() + word.size() - 8, 8);
        } else {
            for (std::size_t n = 0; n < size; ++n)
                first = first << 8 | static_cast<unsigned char>(word[n]);
        }
    }
    bool operator==(const WordKey& other) const {
        return first == other.first && last == other.last && word.size() == other.word.size() &&
               (word.size() <= 16 || word == other.word);
    }
    std::size_t hash() const {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        const std::uint64_t mixed = (first * odd) ^ ((last + word.size()) * (odd << 1 | 1));
        return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }

    std::string_view word;
    std::uint64_t first = 0, last = 0;
};

// The words found so far, in a table of places with room for twice as many.
class Finds {
public:
    // Its place in the table, until the next one is added: 0 when it is new.
    std::uint32_t& place_of(const WordKey& key) {
        if (2 * (keys_.size() + 1) > places_.size()) grow();
        return look_up(key);
    }
    void add(std::uint32_t& place, const WordKey& key, int weight, std::size_t at) {
        keys_.push_back(key);
        found_.push_back({key.word, weight, at});
        place = static_cast<std::uint32_t>(keys_.size());
    }
    std::vector<Found> take() && { return std::move(found_); }

private:
    std::uint32_t& look_up(const WordKey& key) {
        const std::size_t mask = places_.size() - 1;
        std::size_t at = key.hash() & mask;
        while (places_[at] != 0 && keys_[places_[at] - 1] != key) at = (at + 1) & mask;
        return places_[at];
    }
    void grow() {
        places_.assign(std::max<std::size_t>(64, 2 * places_.size()), 0);
        for (std::uint32_t n = 0; n < keys_.size(); ++n) look_up(keys_[n]) = n + 1;
    }

    std::vector<Found> found_;
    std::vector<WordKey> keys_;
    std::vector<std::uint32_t> places_;  // 0: free, else which of the found, counted from 1
};

// Which of 64 bytes are what, a bit each. Plain words are most of a text: those without a telling
// byte (digit, upper case, mark) are stepped over without a look at their letters.
struct Block {
    static constexpr std::size_t size = 64;
    std::uint64_t inside = 0, start = 0, telling = 0;
};

#if defined(__SSE2__)
// The bytes from `low` to `high`, both ASCII.
__m128i among(__m128i bytes, char low, char high) {
    const __m128i above = _mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(low - 1)));
    return _mm_and_si128(above, _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(high + 1))));
}
__m128i either(__m128i a, __m128i b) {
    return _mm_or_si128(a, b);
}

Block block_at(const char* text) {
    Block out;
    for (int quarter = 0; quarter < 4; ++quarter) {
        const __m128i bytes =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * quarter));
        const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
        const __m128i upper = among(bytes, 'A', 'Z'), digit = among(bytes, '0', '9');
        const __m128i lower = among(bytes, 'a', 'z');
        const __m128i wide = _mm_cmplt_epi8(bytes, _mm_setzero_si128());  // not ASCII
        const __m128i slash = is('/'), mark = either(is('_'), is('@'));
        const __m128i word = either(either(upper, lower), either(digit, wide));
        const __m128i start = either(either(word, slash), either(is('~'), is('#')));
        const __m128i signs = either(either(is('-'), is('.')), either(is(':'), is('+')));
        const auto bits = [&](__m128i which) {
            return std::uint64_t(unsigned(_mm_movemask_epi8(which))) << (16 * quarter);
        };
        out.start |= bits(start);
        out.inside |= bits(either(start, either(mark, signs)));
        out.telling |= bits(either(either(upper, digit), either(slash, mark)));
    }
    return out;
}
#else
Block block_at(const char* text) {
    Block out;
    for (std::size_t n = 0; n < Block::size; ++n) {
        const ByteKind& kind = kind_of(text[n]);
        out.start |= std::uint64_t{kind.start} << n;
        out.inside |= std::uint64_t{kind.inside} << n;
        const bool telling = kind.counts >= one_upper || (kind.counts & 255) > 0;
        out.telling |= std::uint64_t{telling} << n;
    }
    return out;
}
#endif

std::uint32_t counts_of(std::string_view word) {
    std::uint32_t counts = 0;
    for (const char c : word) counts += kind_of(c).counts;
    return counts;
}

class IdentifierSearch {
public:
    explicit IdentifierSearch(std::string_view text) : text_(text), json_(is_json(text)) {}

    std::vector<Found> run() && {
        for (std::size_t at = 0; at < text_.size(); at += Block::size) {
            std::array<char, Block::size> end{};  // A byte of 0 is in no word.
            const bool whole = text_.size() - at >= Block::size;
            if (!whole) std::memcpy(end.data(), text_.data() + at, text_.size() - at);
            search(block_at(whole ? text_.data() + at : end.data()), at);
        }
        if (open_) close(text_.size());
        return std::move(finds_).take();
    }

private:
    static std::uint64_t from(std::uint64_t bits, std::size_t n) {
        return n < Block::size ? bits >> n << n : 0;
    }
    static std::size_t first(std::uint64_t bits) {  // its size: none
        return static_cast<std::size_t>(std::countr_zero(bits));
    }
    // Behind the last byte of a gap among the first `before` bytes, but not before n.
    static std::size_t run_begin(const Block& block, std::size_t n, std::size_t before) {
        const std::uint64_t behind = before < Block::size ? ~std::uint64_t{0} << before : 0;
        const std::uint64_t gaps = from(~block.inside, n) & ~behind;
        return gaps == 0 ? n : Block::size - static_cast<std::size_t>(std::countl_zero(gaps));
    }

    // From one telling byte to the next.
    void search(const Block& block, std::size_t base) {
        std::size_t n = 0;
        if (open_) {
            const std::size_t end = first(~block.inside);
            telling_ |= first(block.telling) < end;
            if (end == Block::size) return;
            close(base + end);
            n = end + 1;
        }
        for (;;) {
            const std::size_t tells = first(from(block.telling, n));
            if (tells == Block::size) break;
            const std::size_t begin = first(from(block.start, run_begin(block, n, tells)));
            n = begin;
            if (begin > tells) continue;  // It stands before the first byte of the word.
            open(base + begin, true);
            n = first(from(~block.inside, tells));
            if (n == Block::size) return;
            close(base + n);
        }
        // A word that has told nothing so far may go on in the next block.
        const std::size_t last = first(from(block.start, run_begin(block, n, Block::size)));
        if (last < Block::size) open(base + last, false);
    }

    void open(std::size_t at, bool telling) {
        open_ = true;
        telling_ = telling;
        begun_ = at;
    }

    void close(std::size_t end) {
        open_ = false;
        if (!telling_) return;
        begun_ += std::min(escape_size(text_, begun_, json_), end - begun_);
        while (begun_ < end && !kind_of(text_[begun_]).start) ++begun_;
        const std::string_view word = trimmed(text_.substr(begun_, end - begun_));
        if (word.size() > identifier_bytes_max) return;
        const WordKey key(word);
        std::uint32_t& place = finds_.place_of(key);
        if (place != 0) return;
        const int weight = weigh(word, counts_of(word));
        if (weight > 0 && !is_key(text_, end)) finds_.add(place, key, weight, begun_);
    }

    std::string_view text_;
    bool json_;
    Finds finds_;
    std::size_t begun_ = 0;
    bool open_ = false, telling_ = false;  // a word goes on; it has a telling byte
};

}  // namespace

int identifier_weight(std::string_view word) {
    return weigh(word, counts_of(word.substr(0, identifier_bytes_max)));
}

std::vector<std::string_view> find_identifiers(std::string_view text, std::size_t most) {
    if (most == 0) return {};
    std::vector<Found> found = IdentifierSearch(text.substr(0, text_bytes_max)).run();
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
