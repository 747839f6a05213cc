// The parser: one pass over the bytes, a tape out. Strings are scanned 16 bytes at a time; those
// with escapes are unescaped into the arena on the way. The stack of open containers is a vector
// that never grows beyond the depth limit.
#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/json.h"
#include "base/utf8.h"

namespace palimpsest {
namespace {

// Marks quotes, backslashes, control characters and what is not ASCII in 16 bytes. Compared as
// signed numbers, bytes from 0x80 on are below a space too.
inline __m128i special_bytes(const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                        _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
}

// The first of those from `at` on; or `end`. Keys end in the first 16 bytes, long texts are passed
// 64 at a time.
inline const char* skip_plain(const char* at, const char* end) {
    for (; end - at >= 16; at += 16) {
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special_bytes(at)));
        if (mask != 0) return at + std::countr_zero(mask);
        while (end - at >= 80) {
            const __m128i low = _mm_or_si128(special_bytes(at + 16), special_bytes(at + 32));
            const __m128i high = _mm_or_si128(special_bytes(at + 48), special_bytes(at + 64));
            if (_mm_movemask_epi8(_mm_or_si128(low, high)) != 0) break;
            at += 64;
        }
    }
    while (at < end && *at >= ' ' && *at != '"' && *at != '\\') ++at;
    return at;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

char simple_escape(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
            return c;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

class Parser {
public:
    Parser(JsonTape& tape, JsonLimits limits)
        : tape_(tape),
          limits_(limits),
          begin_(tape.text.data()),
          at_(begin_),
          end_(begin_ + tape.text.size()) {}

    Result<void> run() {
        // A guess that fits chats; the vector grows where it does not.
        tape_.nodes.reserve(tape_.text.size() / 64 + 8);
        bool good = value();
        while (good && !open_.empty()) good = after_value();
        if (good) {
            skip_space();
            good = at_ == end_ || expected("the end of the text");
        }
        if (good) return {};
        return fail(ErrorCode::invalid_request,
                    "invalid JSON at byte " + std::to_string(at_ - begin_) + ": " + problem_);
    }

private:
    bool expected(std::string_view what) {
        problem_ = "expected " + std::string(what);
        if (at_ >= end_) problem_ += ", found the end of the text";
        return false;
    }

    void skip_space() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    }

    std::uint32_t position() const { return static_cast<std::uint32_t>(at_ - begin_); }

    JsonNode& add(JsonKind kind) {
        JsonNode& node = tape_.nodes.emplace_back();
        node.begin = position();
        node.kind = static_cast<unsigned>(kind) & 7U;
        return node;
    }

    // One value; of a container its opening and all up to its first scalar (or its end).
    bool value() {
        for (;;) {
            skip_space();
            if (at_ == end_) return expected("a value");
            switch (*at_) {
                case '"':
                    return string();
                case '{':
                    if (!open(JsonKind::object)) return false;
                    if (at_ < end_ && *at_ == '}') return close();
                    if (!key()) return false;
                    break;
                case '[':
                    if (!open(JsonKind::array)) return false;
                    if (at_ < end_ && *at_ == ']') return close();
                    break;
                case 't':
                    return word(JsonKind::boolean, "true");
                case 'f':
                    return word(JsonKind::boolean, "false");
                case 'n':
                    return word(JsonKind::null, "null");
                default:
                    return number();
            }
        }
    }

    bool after_value() {
        const JsonNode& container = tape_.nodes[open_.back()];
        const bool object = container.kind == static_cast<unsigned>(JsonKind::object);
        skip_space();
        if (at_ < end_ && *at_ == ',') {
            ++at_;
            count();
            skip_space();
            return (!object || key()) && value();
        }
        if (at_ < end_ && *at_ == (object ? '}' : ']')) return close();
        return expected(object ? "',' or '}'" : "',' or ']'");
    }

    void count() {
        JsonNode& container = tape_.nodes[open_.back()];
        container.size = (container.size + 1) & 0x1fffffffU;
    }

    bool open(JsonKind kind) {
        if (open_.size() >= limits_.depth) {
            problem_ = "nested deeper than " + std::to_string(limits_.depth) + " levels";
            return false;
        }
        open_.push_back(static_cast<std::uint32_t>(tape_.nodes.size()));
        add(kind);
        ++at_;
        skip_space();
        return true;
    }

    bool close() {
        const std::uint32_t index = open_.back();
        JsonNode& container = tape_.nodes[index];
        if (tape_.nodes.size() > index + 1) count();
        container.link = static_cast<std::uint32_t>(tape_.nodes.size());
        ++at_;
        container.end = position();
        open_.pop_back();
        return container.kind != static_cast<unsigned>(JsonKind::object) || container.size < 2 ||
               limits_.duplicate_keys || keys_differ(JsonValue(&tape_, index));
    }

    bool keys_differ(JsonValue object) {
        keys_.clear();
        for (const JsonMember& member : object.members()) keys_.push_back(member.key);
        constexpr std::size_t few = 12;  // Below it comparing all pairs is faster than sorting.
        const std::string_view* twice = nullptr;
        if (keys_.size() <= few) {
            for (std::size_t i = 1; i < keys_.size(); ++i)
                for (std::size_t j = 0; j < i; ++j)
                    if (keys_[i] == keys_[j]) twice = &keys_[i];
        } else {
            std::sort(keys_.begin(), keys_.end());
            const auto found = std::adjacent_find(keys_.begin(), keys_.end());
            if (found != keys_.end()) twice = &*found;
        }
        if (twice == nullptr) return true;
        at_ = begin_ + object.offset();
        problem_ = "the object has the key \"" + std::string(utf8_prefix(*twice, 100)) + "\" twice";
        return false;
    }

    bool key() {
        if (at_ == end_ || *at_ != '"') return expected("a key in quotes");
        if (!string()) return false;
        skip_space();
        if (at_ == end_ || *at_ != ':') return expected("':'");
        ++at_;
        return true;
    }

    bool word(JsonKind kind, std::string_view text) {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(text))
            return expected("a value");
        JsonNode& node = add(kind);
        at_ += text.size();
        node.end = position();
        return true;
    }

    bool digits() {
        if (at_ == end_ || !is_digit(*at_)) return expected("a digit");
        while (at_ < end_ && is_digit(*at_)) ++at_;
        return true;
    }

    bool number() {
        if (*at_ != '-' && !is_digit(*at_)) return expected("a value");
        JsonNode& node = add(JsonKind::number);
        if (*at_ == '-') ++at_;
        if (at_ < end_ && *at_ == '0') {
            ++at_;
        } else if (!digits()) {
            return false;
        }
        if (at_ < end_ && *at_ == '.') {
            ++at_;
            if (!digits()) return false;
        }
        if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
            ++at_;
            if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
            if (!digits()) return false;
        }
        node.end = position();
        return true;
    }

    bool string() {
        const char* const from = at_ + 1;
        const char* const stop = skip_plain(from, end_);
        if (stop == end_ || *stop != '"') return odd_string();
        JsonNode node;
        node.begin = position();
        node.end = node.begin + static_cast<std::uint32_t>(stop - at_) + 1;
        node.link = json_not_in_arena;
        node.size = static_cast<std::uint32_t>(stop - from) & 0x1fffffffU;
        node.kind = static_cast<unsigned>(JsonKind::string) & 7U;
        tape_.nodes.push_back(node);
        at_ = stop + 1;
        return true;
    }

    // A string with escapes, with more than ASCII in it, or broken.
    bool odd_string() {
        JsonNode& node = add(JsonKind::string);
        const char* const from = ++at_;
        if (!plain()) return false;
        if (*at_ == '"') {
            node.link = json_not_in_arena;
            node.size = static_cast<std::uint32_t>(at_ - from) & 0x1fffffffU;
        } else if (!unescape(node, from)) {
            return false;
        }
        ++at_;
        node.end = position();
        return true;
    }

    // Goes on to the next quote or backslash; everything on the way is checked.
    bool plain() {
        for (;;) {
            at_ = skip_plain(at_, end_);
            if (at_ == end_) return expected("'\"' at the end of the string");
            if (*at_ == '"' || *at_ == '\\') return true;
            if (static_cast<unsigned char>(*at_) < 0x20)
                return expected("control characters in strings to be escaped");
            do {
                const std::size_t length = utf8_length({at_, static_cast<std::size_t>(end_ - at_)});
                if (length == 0) return expected("valid UTF-8");
                at_ += length;
            } while (at_ < end_ && static_cast<unsigned char>(*at_) >= 0x80);
        }
    }

    // At the first backslash of a string that began at `from`.
    bool unescape(JsonNode& node, const char* from) {
        // No string grows by unescaping, so the arena never needs more than the text has left.
        if (!tape_.arena) {
            arena_base_ = position() - static_cast<std::uint32_t>(at_ - from);
            tape_.arena = std::make_unique_for_overwrite<char[]>(tape_.text.size() - arena_base_);
            out_ = tape_.arena.get();
        }
        char* const start = out_;
        for (;;) {
            copy(from, at_);
            if (*at_ == '"') break;
            if (!escape()) return false;
            from = at_;
            if (!plain()) return false;
        }
        node.link = static_cast<std::uint32_t>(start - tape_.arena.get());
        node.size = static_cast<std::uint32_t>(out_ - start) & 0x1fffffffU;
        return true;
    }

    void copy(const char* from, const char* to) {
        std::memcpy(out_, from, static_cast<std::size_t>(to - from));
        out_ += to - from;
    }

    bool escape() {
        ++at_;
        if (at_ == end_) return expected("a character after the backslash");
        if (*at_ == 'u') return unicode_escape();
        const char c = simple_escape(*at_);
        if (c == 0) return expected("one of \"\\/bfnrtu after the backslash");
        *out_++ = c;
        ++at_;
        return true;
    }

    bool unicode_escape() {
        ++at_;
        char32_t code = 0;
        if (!hex4(code)) return expected("four hexadecimal digits");
        const bool high = code >= 0xd800 && code < 0xdc00;
        if (high && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
            const char* const mark = at_;
            char32_t low = 0;
            at_ += 2;
            if (hex4(low) && low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            } else {
                at_ = mark;
            }
        }
        scratch_.clear();
        append_utf8(scratch_, code);
        copy(scratch_.data(), scratch_.data() + scratch_.size());
        return true;
    }

    bool hex4(char32_t& code) {
        if (end_ - at_ < 4) return false;
        for (int i = 0; i < 4; ++i) {
            const int digit = hex_digit(at_[i]);
            if (digit < 0) return false;
            code = code * 16 + static_cast<char32_t>(digit);
        }
        at_ += 4;
        return true;
    }

    JsonTape& tape_;
    const JsonLimits limits_;
    const char* const begin_;
    const char* at_;
    const char* const end_;
    std::vector<std::uint32_t> open_;
    std::vector<std::string_view> keys_;
    char* out_ = nullptr;
    std::uint32_t arena_base_ = 0;
    std::string scratch_;
    std::string problem_;
};

}  // namespace

Result<JsonDocument> parse_json(std::string_view text, JsonLimits limits) {
    if (text.size() >= json_max_bytes)
        return fail(ErrorCode::too_large, "JSON text of " + std::to_string(text.size()) +
                                              " bytes; at most " +
                                              std::to_string(json_max_bytes - 1) + " are read");
    auto tape = std::make_unique<JsonTape>();
    tape->text = text;
    PAL_CHECK(Parser(*tape, limits).run());
    return JsonDocument(std::move(tape));
}

}  // namespace palimpsest
