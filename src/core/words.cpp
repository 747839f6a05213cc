// Walks code points once. A token is a run of word characters and of the joiners between them; what
// it holds decides whether it is one word or a whole with parts.
#include "core/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace palimpsest {
namespace {

enum class Script : std::uint8_t { none, letter, digit, unspaced };

struct Char {
    std::int32_t code = -1;
    std::uint32_t begin = 0, end = 0;
    Script script = Script::none;
    bool upper = false;
};

// Scripts that write no blank between words.
bool is_unspaced(std::int32_t c) {
    static constexpr std::pair<std::int32_t, std::int32_t> ranges[] = {
        {0x0e00, 0x0eff}, {0x1000, 0x109f}, {0x1100, 0x11ff},   {0x1780, 0x17ff},  {0x2e80, 0x2fdf},
        {0x3005, 0x3007}, {0x3021, 0x3029}, {0x3031, 0x3035},   {0x3041, 0x30ff},  {0x3105, 0x318f},
        {0x31a0, 0x31ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},   {0xa960, 0xa97f},  {0xac00, 0xd7ff},
        {0xf900, 0xfaff}, {0xff66, 0xffdc}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff}};
    if (c < 0x0e00) return false;
    return std::ranges::any_of(ranges, [c](auto r) { return c >= r.first && c <= r.second; });
}

Script script_of(std::int32_t c) {
    if (c < 0x80) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Script::letter;
        return c >= '0' && c <= '9' ? Script::digit : Script::none;
    }
    switch (utf8proc_category(c)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_NL:
            return is_unspaced(c) ? Script::unspaced : Script::letter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NO:
            return Script::digit;
        case UTF8PROC_CATEGORY_SO:  // Emoji are searched for like characters.
            return c >= 0x2600 ? Script::unspaced : Script::none;
        default:
            return Script::none;
    }
}

Char char_at(std::string_view text, std::size_t at) {
    Char out;
    out.begin = static_cast<std::uint32_t>(at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
        out.code = byte;
        out.end = out.begin + 1;
        out.upper = byte >= 'A' && byte <= 'Z';
    } else {
        const auto length =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                             static_cast<utf8proc_ssize_t>(text.size() - at), &out.code);
        if (length <= 0) {
            out.code = -1;
            out.end = out.begin + 1;
            return out;
        }
        out.end = out.begin + static_cast<std::uint32_t>(length);
        out.upper = utf8proc_category(out.code) == UTF8PROC_CATEGORY_LU;
    }
    out.script = script_of(out.code);
    return out;
}

bool is_between(std::int32_t c, std::int32_t first, std::int32_t last) {
    return c >= first && c <= last;
}

// Whether it makes one character with the one before it, where texts are written in pieces: a
// voice mark behind kana, a vowel or a final consonant behind the Jamo of its syllable.
bool composes(std::int32_t before, std::int32_t c) {
    if (c == 0x3099 || c == 0x309a || c == 0xff9e || c == 0xff9f)
        return is_between(before, 0x3041, 0x30ff) || is_between(before, 0xff66, 0xff9d);
    if (is_between(c, 0x1160, 0x11a7)) return is_between(before, 0x1100, 0x115f);
    if (!is_between(c, 0x11a8, 0x11ff)) return false;
    const bool is_open = is_between(before, 0xac00, 0xd7a3) && (before - 0xac00) % 28 == 0;
    return is_open || is_between(before, 0x1160, 0x11a7);
}

bool is_apostrophe(std::int32_t c) {
    return c == '\'' || c == 0x2019;
}

// Says where a word may, or must not, be broken into lines; folding takes it out.
bool is_invisible(std::int32_t c) {
    return c == 0x00ad || c == 0x2060;
}

// What may stand inside of a token, between `before` and `after`.
bool joins(std::int32_t c, Script before, Script after) {
    if (before == Script::unspaced || after == Script::unspaced) return false;
    if (after == Script::none) return false;
    const bool digits = before == Script::digit && after == Script::digit;
    switch (c) {
        case '_':
        case '-':
        case '.':
        case '/':
        case '\\':
        case '@':
        case '+':
        case '#':
        case '\'':
        case 0x2019:
        case 0x2010:
            return true;
        case ':':
        case ',':
            return digits;
        default:
            return false;
    }
}

// Where a word of small letters (the first may be a capital) ends that nothing can join to
// another one; `at` when there is none. Most words of most texts are such.
std::size_t plain_word_end(std::string_view text, std::size_t at) {
    const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
    std::size_t end = at;
    if (text[at] >= 'A' && text[at] <= 'Z') ++end;
    while (end < text.size() && is_small(text[end])) ++end;
    const auto blank = [&](std::size_t i) {
        return i >= text.size() || text[i] == ' ' || text[i] == '\n';
    };
    if (blank(end)) return end;
    constexpr std::string_view ends = ".,!?;:)";
    return ends.contains(text[end]) && blank(end + 1) ? end : at;
}

class Splitter {
public:
    explicit Splitter(std::string_view text) : text_(text) {}

    std::vector<RawWord> run(std::uint32_t* positions) {
        std::size_t at = 0;
        words_.reserve(text_.size() / 5 + 1);
        while (at < text_.size()) {
            if (const std::size_t end = plain_word_end(text_, at); end > at) {
                add_plain(at, end);
                at = end;
                continue;
            }
            const Char c = char_at(text_, at);
            if (c.script == Script::none)
                at = c.end;
            else if (c.script == Script::unspaced)
                at = read_unspaced(c);
            else
                at = read_token(c);
        }
        if (positions) *positions = position_;
        return std::move(words_);
    }

private:
    std::string_view bytes(std::uint32_t begin, std::uint32_t end) const {
        return text_.substr(begin, end - begin);
    }
    void add(std::string text, std::uint32_t begin, std::uint32_t end, WordKind kind) {
        if (!text.empty()) words_.push_back({std::move(text), position_, begin, end, kind});
    }

    void add_plain(std::size_t begin, std::size_t end) {
        std::string word(text_.substr(begin, std::min(end - begin, word_bytes_max)));
        if (word[0] <= 'Z') word[0] = static_cast<char>(word[0] - 'A' + 'a');
        add(std::move(word), static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
            WordKind::plain);
        ++position_;
    }

    // With what follows and makes one character with it.
    Char composed(Char c) const {
        for (std::int32_t last = c.code; c.end < text_.size();) {
            const Char next = char_at(text_, c.end);
            if (!composes(last, next.code)) break;
            c.end = next.end;
            last = next.code;
        }
        return c;
    }

    std::size_t read_unspaced(Char c) {
        c = composed(c);
        while (true) {
            const std::size_t next = c.end;
            add(fold_word(bytes(c.begin, c.end)), c.begin, c.end, WordKind::single);
            Char after;
            if (next < text_.size()) after = composed(char_at(text_, next));
            const bool goes_on = after.script == Script::unspaced;
            if (goes_on)
                add(fold_word(bytes(c.begin, after.end)), c.begin, after.end, WordKind::pair);
            ++position_;
            if (!goes_on) return next;
            c = after;
        }
    }

    // The characters of one token; `end` is where it ends.
    std::size_t read_token(const Char& first) {
        token_.clear();
        token_.push_back(first);
        std::size_t at = first.end;
        bool joined = false;
        while (at < text_.size()) {
            const Char c = char_at(text_, at);
            if (is_invisible(c.code)) {
                at = c.end;
                continue;
            }
            if (c.script == Script::letter || c.script == Script::digit) {
                token_.push_back(c);
                at = c.end;
                continue;
            }
            if (c.script == Script::unspaced || c.end >= text_.size()) break;
            const Char after = char_at(text_, c.end);
            if (!joins(c.code, token_.back().script, after.script)) break;
            joined = joined || !is_apostrophe(c.code);
            token_.push_back(c);
            token_.push_back(after);
            at = after.end;
        }
        write_token(joined);
        return at;
    }

    // Two small letters, which the plural of capitals (URLs) has not.
    bool small_letters_follow(std::size_t i) const {
        const auto is_small = [&](std::size_t at) {
            return at < token_.size() && token_[at].script == Script::letter && !token_[at].upper;
        };
        return is_small(i + 1) && is_small(i + 2);
    }

    // Where a part of a name ends: before a capital that follows a small letter or is the first of
    // a word behind capitals (HTTPServer).
    std::size_t part_end(std::size_t from, std::size_t to) const {
        for (std::size_t i = from + 1; i < to; ++i)
            if (token_[i].upper && (!token_[i - 1].upper || small_letters_follow(i))) return i;
        return to;
    }

    // Each run of letters or of digits is at a position of its own, whatever its capitals are.
    void write_token(bool joined) {
        const std::uint32_t first = position_;
        bool several = joined;
        for (std::size_t from = 0, to = 0; from < token_.size(); from = to) {
            const Script script = token_[from].script;
            for (to = from + 1; to < token_.size() && token_[to].script == script;) ++to;
            if (script == Script::none) continue;  // The joiner itself.
            several = several || (from > 0 && token_[from - 1].script != Script::none);
            // The s of a genitive and the rest of a shortened word say nothing of their own.
            const bool rest = from >= 3 && is_apostrophe(token_[from - 1].code) && to - from <= 2;
            if (!rest) write_run(from, to);
        }
        if (several) write_whole(first);
    }

    void write_run(std::size_t from, std::size_t to) {
        const bool digits = token_[from].script == Script::digit;
        std::size_t end = part_end(from, to);
        if (digits || end == to) {
            write_word(from, to, digits ? WordKind::number : WordKind::plain);
        } else {
            write_word(from, to, WordKind::name);
            for (std::size_t part = from; part < to; part = end) {
                end = part_end(part, to);
                write_word(part, end, WordKind::plain);
            }
        }
        ++position_;
    }

    void write_word(std::size_t from, std::size_t to, WordKind kind) {
        const std::uint32_t begin = token_[from].begin, end = token_[to - 1].end;
        std::string text = fold_word(bytes(begin, end));
        if (text.size() > word_bytes_max) text = text.substr(0, word_bytes_max);
        add(std::move(text), begin, end, kind);
    }

    // The whole token. Stands before its parts, the first of which is at that position.
    void write_whole(std::uint32_t position) {
        const std::uint32_t begin = token_.front().begin, end = token_.back().end;
        if (end - begin > whole_bytes_max) return;
        std::string text = fold_word(bytes(begin, end));
        const bool digits =
            std::ranges::none_of(token_, [](const Char& c) { return c.script == Script::letter; });
        if (digits) std::erase(text, ',');  // 1,234 and 1234 are one number.
        const auto place =
            std::ranges::find_if(words_.rbegin(), words_.rend(),
                                 [&](const RawWord& w) { return w.position < position; });
        words_.insert(place.base(), {std::move(text), position, begin, end, WordKind::whole});
    }

    std::string_view text_;
    std::vector<Char> token_;
    std::vector<RawWord> words_;
    std::uint32_t position_ = 0;
};

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Marks that words are compared without: accents, the vowels of Hebrew, Arabic and Syriac, the
// stroke that draws Arabic words out. In other scripts such marks are letters.
bool is_accent(std::int32_t c) {
    static constexpr std::pair<std::int32_t, std::int32_t> ranges[] = {
        {0x0300, 0x036f}, {0x0483, 0x0487}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
        {0x05c4, 0x05c5}, {0x05c7, 0x05c7}, {0x0610, 0x061a}, {0x0640, 0x0640}, {0x064b, 0x065f},
        {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x06df, 0x06e4}, {0x06e7, 0x06e8}, {0x06ea, 0x06ed},
        {0x0711, 0x0711}, {0x0730, 0x074a}, {0x08d3, 0x08ff}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
        {0x20d0, 0x20ff}, {0xfe20, 0xfe2f}};
    return c >= 0x0300 &&
           std::ranges::any_of(ranges, [c](auto r) { return is_between(c, r.first, r.second); });
}

// Letters that have a stroke instead of a mark, and are written without it just as often.
std::int32_t without_stroke(std::int32_t c) {
    static constexpr std::pair<std::int32_t, char> letters[] = {
        {0x00f8, 'o'}, {0x0111, 'd'}, {0x0127, 'h'}, {0x0131, 'i'}, {0x0142, 'l'}, {0x0167, 't'}};
    const auto* found = std::ranges::find(letters, c, &std::pair<std::int32_t, char>::first);
    return found == std::end(letters) ? c : found->second;
}

void append_char(std::string& out, std::int32_t c) {
    utf8proc_uint8_t buffer[4];
    const auto bytes = utf8proc_encode_char(c, buffer);
    out.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(bytes));
}

}  // namespace

std::vector<RawWord> split_words(std::string_view text, std::uint32_t* positions) {
    return Splitter(text).run(positions);
}

std::string fold_word(std::string_view word) {
    if (is_ascii(word)) {
        std::string out(word);
        for (char& c : out)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return out;
    }
    utf8proc_uint8_t* folded = nullptr;
    const auto options = static_cast<utf8proc_option_t>(
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(word.data()),
                                     static_cast<utf8proc_ssize_t>(word.size()), &folded, options);
    if (length < 0) return std::string(word);
    std::string out(reinterpret_cast<const char*>(folded), static_cast<std::size_t>(length));
    std::free(folded);
    return out;
}

std::string strip_accents(std::string_view folded) {
    if (is_ascii(folded)) return std::string(folded);
    std::string out;
    std::int32_t parts[8];
    for (std::size_t at = 0; at < folded.size();) {
        const Char c = char_at(folded, at);
        at = c.end;
        if (c.code < 0) {
            out += folded[c.begin];
            continue;
        }
        // Cyrillic й is a letter of its own; Hangul and kana would fall to pieces.
        const bool decomposes =
            c.code != 0x0439 && (c.code < 0x0900 || is_between(c.code, 0x1e00, 0x1fff));
        utf8proc_ssize_t count = 0;
        if (decomposes)
            count = utf8proc_decompose_char(c.code, parts, 8, UTF8PROC_DECOMPOSE, nullptr);
        if (count < 1 || count > 8) {
            parts[0] = c.code;
            count = 1;
        }
        for (utf8proc_ssize_t i = 0; i < count; ++i)
            if (!is_accent(parts[i])) append_char(out, without_stroke(parts[i]));
    }
    return out;
}

}  // namespace palimpsest
