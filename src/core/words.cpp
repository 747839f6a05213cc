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

bool is_apostrophe(std::int32_t c) {
    return c == '\'' || c == 0x2019;
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

    std::size_t read_unspaced(Char c) {
        while (true) {
            const std::size_t next = c.end;
            add(fold_word(bytes(c.begin, c.end)), c.begin, c.end, WordKind::single);
            Char after;
            if (next < text_.size()) after = char_at(text_, next);
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

    // Where a part ends: at a joiner, at a change between letters and digits, before a capital that
    // follows a small letter or is the first of a word behind capitals (HTTPServer).
    bool splits(std::size_t i) const {
        const Char &before = token_[i - 1], &c = token_[i];
        if (c.script == Script::none || before.script == Script::none) return true;
        if (c.script != before.script) return true;
        return c.upper && (!before.upper || small_letters_follow(i));
    }

    void write_token(bool joined) {
        const std::uint32_t first = position_;
        bool several = joined;
        std::size_t from = 0;
        Run run;
        for (std::size_t i = 1; i <= token_.size(); ++i) {
            if (i < token_.size() && !splits(i)) continue;
            if (i < token_.size() && token_[i].script != Script::none &&
                token_[i - 1].script != Script::none)
                several = true;
            write_run(run, from, i);
            from = i;
        }
        if (several) write_whole(0, token_.size(), first);
    }

    // Parts that are letters and follow each other.
    struct Run {
        std::size_t from = 0, parts = 0;
        std::uint32_t position = 0;
    };

    // A part, and behind the last part of a name inside of a token (iPhone15Pro, api/HttpClient)
    // the name itself.
    void write_run(Run& run, std::size_t from, std::size_t to) {
        const bool letters = token_[from].script == Script::letter;
        if (letters && run.parts++ == 0) run = {from, 1, position_};
        write_part(from, to);
        if (!letters || (to < token_.size() && token_[to].script == Script::letter)) return;
        const bool all = run.from == 0 && to == token_.size();
        if (run.parts > 1 && !all) write_whole(run.from, to, run.position);
        run.parts = 0;
    }

    // Stands before its parts, the first of which is at that position.
    void write_whole(std::size_t from, std::size_t to, std::uint32_t position) {
        const std::uint32_t begin = token_[from].begin, end = token_[to - 1].end;
        if (end - begin > whole_bytes_max) return;
        std::string text = fold_word(bytes(begin, end));
        const bool digits = std::all_of(token_.begin() + static_cast<std::ptrdiff_t>(from),
                                        token_.begin() + static_cast<std::ptrdiff_t>(to),
                                        [](const Char& c) { return c.script != Script::letter; });
        if (digits) std::erase(text, ',');  // 1,234 and 1234 are one number.
        const auto place =
            std::ranges::find_if(words_.rbegin(), words_.rend(),
                                 [&](const RawWord& w) { return w.position < position; });
        words_.insert(place.base(), {std::move(text), position, begin, end, WordKind::whole});
    }

    void write_part(std::size_t from, std::size_t to) {
        const Char& head = token_[from];
        if (head.script == Script::none) return;  // The joiner itself.
        // The s of a genitive and the rest of a shortened word say nothing of their own.
        if (from > 0 && is_apostrophe(token_[from - 1].code) && to - from <= 2 && from >= 3) return;
        const std::uint32_t end = token_[to - 1].end;
        std::string text = fold_word(bytes(head.begin, end));
        if (text.size() > word_bytes_max) text = text.substr(0, word_bytes_max);
        add(std::move(text), head.begin, end,
            head.script == Script::digit ? WordKind::number : WordKind::plain);
        ++position_;
    }

    std::string_view text_;
    std::vector<Char> token_;
    std::vector<RawWord> words_;
    std::uint32_t position_ = 0;
};

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
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
        const auto n = c.code < 0 || c.code >= 0x0530
                           ? 0
                           : utf8proc_decompose_char(c.code, parts, 8, UTF8PROC_DECOMPOSE, nullptr);
        // Cyrillic й is a letter of its own.
        if (n <= 1 || n > 8 || c.code == 0x0439) {
            if (c.code < 0x0300 || c.code > 0x036f) out += folded.substr(c.begin, c.end - c.begin);
            continue;
        }
        utf8proc_uint8_t buffer[4];
        const auto bytes = utf8proc_encode_char(parts[0], buffer);
        out.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(bytes));
    }
    return out;
}

}  // namespace palimpsest
