// The parser: one pass over the bytes, a tape out. Strings are passed over in blocks; those with
// escapes are unescaped into the arena on the way. The stack of open containers is a vector that
// never grows beyond the depth limit.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"

namespace palimpsest {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// What stands for a character after a backslash; 0 if it may not stand there.
struct EscapeTable {
    char of[256] = {};
    constexpr EscapeTable() {
        constexpr std::string_view letters = "\"\\/bfnrt", meaning = "\"\\/\b\f\n\r\t";
        for (std::size_t i = 0; i < letters.size(); ++i)
            of[static_cast<unsigned char>(letters[i])] = meaning[i];
    }
};
constexpr EscapeTable escapes;

char simple_escape(char c) {
    return escapes.of[static_cast<unsigned char>(c)];
}

// Every step takes where it stands and gives where it stopped; null is a failure.
class Parser {
public:
    Parser(JsonTape& tape, JsonLimits limits)
        : tape_(tape),
          limits_(limits),
          begin_(tape.text.data()),
          end_(begin_ + tape.text.size()),
          far_(widest_skip_plain()) {}

    Result<void> run() {
        grow(tape_.text.size() / 64 + 8);  // A guess that fits chats.
        const char* at = value(begin_);
        while (at && !open_.empty()) at = after_value(at);
        if (at) at = skip_space(at);
        if (at && at != end_) at = expected(at, "the end of the text");
        if (at) return {};
        return fail(ErrorCode::invalid_request,
                    "invalid JSON at byte " + std::to_string(failed_ - begin_) + ": " + problem_);
    }

private:
    // A container that is not closed yet.
    struct Frame {
        std::uint32_t index = 0, size = 0;
        bool object = false;
        bool alike = false;      // two keys may be equal: only a closer look can tell
        std::uint64_t seen = 0;  // one bit for each key, chosen by its bytes
    };

    const char* failed(const char* at, std::string problem) {
        failed_ = at;
        problem_ = std::move(problem);
        return nullptr;
    }
    const char* expected(const char* at, std::string_view what) {
        return failed(at, "expected " + std::string(what) +
                              (at >= end_ ? ", found the end of the text" : ""));
    }

    const char* skip_space(const char* at) const {
        while (at < end_ && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
        return at;
    }

    std::uint32_t position(const char* at) const { return static_cast<std::uint32_t>(at - begin_); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(next_ - tape_.nodes.get()); }

    void grow(std::size_t size) {
        auto larger = std::make_unique_for_overwrite<JsonNode[]>(size);
        const std::size_t used = count();
        if (used > 0) std::memcpy(larger.get(), tape_.nodes.get(), used * sizeof(JsonNode));
        tape_.nodes = std::move(larger);
        next_ = tape_.nodes.get() + used;
        limit_ = tape_.nodes.get() + size;
    }

    JsonNode& add(JsonKind kind, const char* from, const char* to) {
        if (next_ == limit_) grow(std::size_t{count()} * 2);
        JsonNode& node = *next_++;
        node.begin = position(from);
        node.end = position(to);
        node.link = json_not_in_arena;
        node.size = static_cast<std::uint32_t>(to - from - 2) & 0x1fffffffU;
        node.kind = static_cast<unsigned>(kind) & 7U;
        return node;
    }

    // One value; of a container its opening and all up to its first scalar (or its end).
    const char* value(const char* at) {
        for (;;) {
            at = skip_space(at);
            if (at == end_) return expected(at, "a value");
            switch (*at) {
                case '"':
                    return string(at);
                case '{':
                    at = open(at, JsonKind::object);
                    if (at && at < end_ && *at == '}') return close(at);
                    if (at) at = key(at);
                    break;
                case '[':
                    at = open(at, JsonKind::array);
                    if (at && at < end_ && *at == ']') return close(at);
                    break;
                case 't':
                    return word(at, JsonKind::boolean, "true");
                case 'f':
                    return word(at, JsonKind::boolean, "false");
                case 'n':
                    return word(at, JsonKind::null, "null");
                default:
                    return number(at);
            }
            if (!at) return nullptr;
        }
    }

    const char* after_value(const char* at) {
        Frame& frame = open_.back();
        at = skip_space(at);
        if (at < end_ && *at == ',') {
            ++frame.size;
            at = skip_space(at + 1);
            if (frame.object) at = key(at);
            return at ? value(at) : nullptr;
        }
        if (at < end_ && *at == (frame.object ? '}' : ']')) return close(at);
        return expected(at, frame.object ? "',' or '}'" : "',' or ']'");
    }

    const char* open(const char* at, JsonKind kind) {
        if (open_.size() >= limits_.depth)
            return failed(at, "nested deeper than " + std::to_string(limits_.depth) + " levels");
        open_.push_back({.index = count(), .object = kind == JsonKind::object});
        add(kind, at, at);
        return skip_space(at + 1);
    }

    const char* close(const char* at) {
        const Frame frame = open_.back();
        open_.pop_back();
        const std::uint32_t size = frame.size + (count() > frame.index + 1 ? 1 : 0);
        JsonNode& container = tape_.nodes[frame.index];
        container.size = size & 0x1fffffffU;
        container.link = count();
        container.end = position(at + 1);
        if (frame.alike && !limits_.duplicate_keys && !keys_differ({&tape_, frame.index}))
            return nullptr;
        return at + 1;
    }

    bool keys_differ(JsonValue object) {
        std::vector<std::string_view> keys;
        for (const JsonMember& member : object.members()) keys.push_back(member.key);
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice == keys.end()) return true;
        failed(begin_ + object.offset(),
               "the object has the key \"" + std::string(utf8_prefix(*twice, 100)) + "\" twice");
        return false;
    }

    // Keys that differ in length or in the first 8 bytes mostly have bits of their own.
    void note_key(const char* text, const JsonNode& node) {
        Frame& frame = open_.back();
        std::uint64_t bytes = 0;
        // Too close to the end to be read at once: then the keys are compared.
        const bool near_end = end_ - text < 8;
        if (!near_end) std::memcpy(&bytes, text, sizeof bytes);
        if (node.size < 8) bytes &= (std::uint64_t{1} << (8 * node.size)) - 1;
        const std::uint64_t hash = (bytes ^ node.size) * 0x9e3779b97f4a7c15U;
        const std::uint64_t bit = std::uint64_t{1} << (hash >> 58);
        frame.alike =
            frame.alike || near_end || (frame.seen & bit) != 0 || node.link != json_not_in_arena;
        frame.seen |= bit;
    }

    const char* key(const char* at) {
        if (at == end_ || *at != '"') return expected(at, "a key in quotes");
        const char* const text = at + 1;
        at = string(at);
        if (!at) return nullptr;
        note_key(text, next_[-1]);
        at = skip_space(at);
        if (at == end_ || *at != ':') return expected(at, "':'");
        return at + 1;
    }

    const char* word(const char* at, JsonKind kind, std::string_view text) {
        if (!std::string_view(at, static_cast<std::size_t>(end_ - at)).starts_with(text))
            return expected(at, "a value");
        add(kind, at, at + text.size());
        return at + text.size();
    }

    const char* digits(const char* at) {
        if (at == end_ || !is_digit(*at)) return expected(at, "a digit");
        while (at < end_ && is_digit(*at)) ++at;
        return at;
    }

    const char* number(const char* at) {
        if (*at != '-' && !is_digit(*at)) return expected(at, "a value");
        const char* const from = at;
        if (*at == '-') ++at;
        at = at < end_ && *at == '0' ? at + 1 : digits(at);
        if (at && at < end_ && *at == '.') at = digits(at + 1);
        if (at && at < end_ && (*at == 'e' || *at == 'E')) {
            ++at;
            if (at < end_ && (*at == '+' || *at == '-')) ++at;
            at = digits(at);
        }
        if (at) add(JsonKind::number, from, at);
        return at;
    }

    const char* string(const char* at) {
        const char* const stop = skip_plain(at + 1, end_, far_);
        if (stop == end_ || *stop != '"') return odd_string(at, stop);
        add(JsonKind::string, at, stop + 1);
        return stop + 1;
    }

    // A string with escapes, with more than ASCII in it, or broken; plain up to `stop`.
    const char* odd_string(const char* at, const char* stop) {
        stop = plain(stop);
        if (!stop) return nullptr;
        if (*stop == '"') {
            add(JsonKind::string, at, stop + 1);
            return stop + 1;
        }
        make_arena(at);
        char* const start = out_;
        const char* const last = unescape(at + 1, stop);
        if (!last) return nullptr;
        JsonNode& node = add(JsonKind::string, at, last + 1);
        node.link = static_cast<std::uint32_t>(start - tape_.arena.get());
        node.size = static_cast<std::uint32_t>(out_ - start) & 0x1fffffffU;
        return last + 1;
    }

    // Goes on to the next quote or backslash; everything on the way is checked.
    const char* plain(const char* at) {
        for (;;) {
            if (at == end_) return expected(at, "'\"' at the end of the string");
            if (*at == '"' || *at == '\\') return at;
            if (static_cast<unsigned char>(*at) < 0x20)
                return expected(at, "control characters in strings to be escaped");
            const char* const next = skip_above_ascii(at, end_);
            if (!next) return expected(at, "valid UTF-8");
            at = skip_plain(next, end_, far_);
        }
    }

    // No string grows by unescaping, so the arena never needs more than the text has left, and a
    // block to write over the end.
    void make_arena(const char* from) {
        if (tape_.arena) return;
        const auto left = static_cast<std::size_t>(end_ - from);
        tape_.arena = std::make_unique_for_overwrite<char[]>(left + plain_block);
        out_ = tape_.arena.get();
    }

    // From `at`, the first backslash of a string that began at `from`, to its closing quote.
    const char* unescape(const char* from, const char* at) {
        copy(from, at);
        for (;;) {
            if (*at == '"') return at;
            if (*at == '\\') {
                at = escapes_and_plain(at);
            } else {
                from = at;
                at = plain(at);
                if (at) copy(from, at);
            }
            if (!at) return nullptr;
            if (at == end_) return expected(at, "'\"' at the end of the string");
        }
    }

    // Escapes follow each other closely: one of a single letter and the plain bytes behind it are
    // taken in one step, and copied as they are looked at.
    const char* escapes_and_plain(const char* at) {
        char* out = out_;
        while (end_ - at > plain_block + 2 && *at == '\\' && simple_escape(at[1]) != 0) {
            *out++ = simple_escape(at[1]);
            const PlainBlock block(at + 2);
            block.copy_to(out);
            const int count = block.plain();
            at += 2 + count;
            out += count;
        }
        out_ = out;
        if (*at == '\\') at = escape(at + 1);
        return at ? copy_plain(at) : nullptr;
    }

    const char* copy_plain(const char* at) {
        char* out = out_;
        int count = plain_block;
        while (count == plain_block && end_ - at >= plain_block) {
            const PlainBlock block(at);
            block.copy_to(out);
            count = block.plain();
            at += count;
            out += count;
        }
        if (count == plain_block)
            while (at < end_ && is_plain(*at)) *out++ = *at++;
        out_ = out;
        return at;
    }

    void copy(const char* from, const char* to) {
        std::memcpy(out_, from, static_cast<std::size_t>(to - from));
        out_ += to - from;
    }

    // After the backslash.
    const char* escape(const char* at) {
        if (at == end_) return expected(at, "a character after the backslash");
        if (*at == 'u') return unicode_escape(at + 1);
        const char c = simple_escape(*at);
        if (c == 0) return expected(at, "one of \"\\/bfnrtu after the backslash");
        *out_++ = c;
        return at + 1;
    }

    const char* unicode_escape(const char* at) {
        char32_t code = 0, low = 0;
        if (!hex4(at, code)) return expected(at, "four hexadecimal digits");
        at += 4;
        const bool high = code >= 0xd800 && code < 0xdc00;
        if (high && end_ - at >= 6 && at[0] == '\\' && at[1] == 'u' && hex4(at + 2, low) &&
            low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
        scratch_.clear();
        append_utf8(scratch_, code);
        copy(scratch_.data(), scratch_.data() + scratch_.size());
        return at;
    }

    bool hex4(const char* at, char32_t& code) const {
        if (end_ - at < 4) return false;
        for (int i = 0; i < 4; ++i) {
            const int digit = hex_digit(at[i]);
            if (digit < 0) return false;
            code = code * 16 + static_cast<char32_t>(digit);
        }
        return true;
    }

    JsonTape& tape_;
    const JsonLimits limits_;
    const char* const begin_;
    const char* const end_;
    const SkipPlain far_;
    JsonNode* next_ = nullptr;
    JsonNode* limit_ = nullptr;
    std::vector<Frame> open_;
    char* out_ = nullptr;
    std::string scratch_;
    const char* failed_ = nullptr;
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
