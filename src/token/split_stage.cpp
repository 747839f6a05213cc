#include "token/split_stage.h"

#include "token/chars.h"

namespace palimpsest {
namespace {

using namespace chars;

struct KnownPattern {
    std::string_view pattern;
    Stage stage = Stage::cl100k;
};

// Pieces that several patterns share; adjacent literals join.
#define PAL_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define PAL_SPACES R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define PAL_WORD R"([^\r\n\p{L}\p{N}]?)"
#define PAL_FIRST R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define PAL_LAST R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

// clang-format off
constexpr KnownPattern patterns[] = {
    {PAL_CONTRACTIONS "|" PAL_WORD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" PAL_SPACES,
     Stage::cl100k},
    {PAL_CONTRACTIONS "|" PAL_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" PAL_SPACES,
     Stage::qwen},
    {PAL_WORD PAL_FIRST "*" PAL_LAST "+" PAL_CONTRACTIONS "?|"
     PAL_WORD PAL_FIRST "+" PAL_LAST "*" PAL_CONTRACTIONS "?|"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" PAL_SPACES,
     Stage::o200k},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Stage::r50k},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Stage::r50k},
    {R"(\p{N}{1,3})", Stage::digits},
    {"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", Stage::cjk},
    // The line ends are characters there, not escapes.
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
     "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
     "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     Stage::deepseek_words},
};
// clang-format on

constexpr std::uint32_t marked_letters = letters | marks;
constexpr std::uint32_t printed_signs = bit(CharClass::punctuation) | bit(CharClass::symbol);

bool is_ascii_letter(const char* at, const char* end) {
    return at != end && (byte(at) | 0x20) - 'a' < 26;
}

bool is_cjk(Char c) {
    return c.size != 0 && ((c.code >= 0x4E00 && c.code <= 0x9FA5) || c.code - 0x3040 < 0xC0);
}

// Each gives the end of a match at `at`, or `at`.

const char* digits_end(const char* at, const char* end) {
    Char c = char_at(at, end);
    for (int n = 0; n < 3 && is_in(c, digits); ++n, c = char_at(at, end)) at += c.size;
    return at;
}

const char* cjk_end(const char* at, const char* end) {
    for (Char c = char_at(at, end); is_cjk(c); c = char_at(at, end)) at += c.size;
    return at;
}

const char* deepseek_end(const char* at, const char* end) {
    const Char c = char_at(at, end);
    const char* const next = at + c.size;
    if (c.code < 0x80 && is_in(c, printed_signs) && is_ascii_letter(next, end)) {
        const char* word = next;
        while (is_ascii_letter(word, end)) ++word;
        return word;
    }
    if (is_in(c, marked_letters)) return skip(at, end, marked_letters);
    const bool may_lead = !is_in(c, printed_signs) && c.kind != CharClass::newline;
    if (may_lead && is_in(char_at(next, end), marked_letters))
        return skip(next, end, marked_letters);
    if (is_in(c, printed_signs) || (*at == ' ' && is_in(char_at(next, end), printed_signs)))
        return skip_bytes(skip(next, end, printed_signs), end, "\r\n");
    return is_in(c, spaces) ? space_end(at, end, SpaceRule::up_to_newline) : at;
}

const char* match_end(Stage stage, const char* at, const char* end) {
    switch (stage) {
        case Stage::o200k:
            return piece_end<Family::o200k>(at, end);
        case Stage::cl100k:
            return piece_end<Family::cl100k>(at, end);
        case Stage::qwen:
            return piece_end<Family::qwen>(at, end);
        case Stage::r50k:
            return piece_end<Family::r50k>(at, end);
        case Stage::digits:
            return digits_end(at, end);
        case Stage::cjk:
            return cjk_end(at, end);
        case Stage::deepseek_words:
            break;
    }
    return deepseek_end(at, end);
}

void split_part(std::string_view part, Stage stage, std::vector<std::string_view>& out) {
    const char* const end = part.data() + part.size();
    const char* gap = part.data();
    const auto add = [&](const char* from, const char* to) {
        if (from != to) out.emplace_back(from, static_cast<std::size_t>(to - from));
    };
    for (const char* at = gap; at != end;) {
        const char* const next = match_end(stage, at, end);
        if (next == at) {
            at += char_at(at, end).size;
            continue;
        }
        add(gap, at);
        add(at, next);
        gap = at = next;
    }
    add(gap, end);
}

}  // namespace

std::optional<Stage> find_stage(std::string_view regex) {
    for (const KnownPattern& known : patterns)
        if (known.pattern == regex) return known.stage;
    return {};
}

std::vector<std::string_view> split_stages(std::string_view text, std::span<const Stage> stages) {
    std::vector<std::string_view> parts{text}, finer;
    for (const Stage stage : stages) {
        finer.clear();
        for (const std::string_view part : parts) split_part(part, stage, finer);
        parts.swap(finer);
    }
    return parts;
}

}  // namespace palimpsest
