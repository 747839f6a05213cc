// Reads a tokenizer.json into the parts of a JsonTokenizer, and refuses what they cannot express.
#include "token/tokenizer_json.h"

#include "base/json.h"

#include <array>
#include <optional>

namespace palimpsest {
namespace {

struct KnownPattern {
    std::string_view pattern;
    Family family = Family::cl100k;
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
     Family::cl100k},
    {PAL_CONTRACTIONS "|" PAL_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" PAL_SPACES,
     Family::qwen},
    {PAL_WORD PAL_FIRST "*" PAL_LAST "+" PAL_CONTRACTIONS "?|"
     PAL_WORD PAL_FIRST "+" PAL_LAST "*" PAL_CONTRACTIONS "?|"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" PAL_SPACES,
     Family::o200k},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Family::r50k},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Family::r50k},
};
// clang-format on

std::unexpected<Error> missing(const std::string& what) {
    return fail(ErrorCode::unprocessable, "tokenizer.json: " + what + " is not supported");
}

std::string_view text_of(JsonValue object, std::string_view key) {
    const auto found = object.find(key);
    return found ? found->string() : std::string_view();
}

bool is_true(JsonValue object, std::string_view key) {
    const auto found = object.find(key);
    return found && found->boolean().value_or(false);
}

// Only patterns whose splitter is written (split.h) are known.
Result<Family> family_of_split(JsonValue split) {
    // The patterns match all of a text, so dropping what does not match drops nothing.
    const std::string_view behavior = text_of(split, "behavior");
    const bool inverted = is_true(split, "invert");
    if (!(behavior == "Isolated" && !inverted) && !(behavior == "Removed" && inverted))
        return missing("a Split with the behavior " + std::string(behavior));
    const auto pattern = split.find("pattern");
    const std::string_view regex = pattern ? text_of(*pattern, "Regex") : "";
    for (const KnownPattern& known : patterns)
        if (known.pattern == regex) return known.family;
    return missing("the pattern " + std::string(regex));
}

// A Split followed by ByteLevel, or ByteLevel with its own pattern.
Result<Family> family_of(JsonValue root) {
    const auto stage = root.find("pre_tokenizer");
    if (!stage || !stage->is_object()) return missing("a file without pre_tokenizer");
    std::optional<Family> family;
    std::vector<JsonValue> steps{*stage};
    if (text_of(*stage, "type") == "Sequence") {
        steps.clear();
        for (const JsonValue step : stage->find("pretokenizers").value_or(*stage).elements())
            steps.push_back(step);
    }
    bool byte_level = false;
    for (const JsonValue step : steps) {
        const std::string_view type = text_of(step, "type");
        if (type == "ByteLevel") {
            if (is_true(step, "add_prefix_space")) return missing("add_prefix_space");
            byte_level = true;
            const auto regex = step.find("use_regex");
            if (!regex || regex->boolean().value_or(true)) {
                if (family) return missing("two patterns");
                family = Family::r50k;
            }
        } else if (type == "Split" && !family) {
            PAL_TRY(found, family_of_split(step));
            family = found;
        } else {
            return missing("the pre-tokenizer " + std::string(type) + " at this place");
        }
    }
    if (!family || !byte_level) return missing("a pre-tokenizer other than byte-level");
    return *family;
}

Result<void> check_normalizer(JsonValue root) {
    const auto normalizer = root.find("normalizer");
    if (!normalizer || normalizer->is_null() || text_of(*normalizer, "type") == "NFC") return {};
    return missing("the normalizer " + std::string(text_of(*normalizer, "type")));
}

Result<void> check_model(JsonValue model) {
    const std::string_view type = text_of(model, "type");
    if (type != "BPE" && !type.empty()) return missing("the model " + std::string(type));
    for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (!text_of(model, affix).empty()) return missing(std::string(affix));
    if (is_true(model, "byte_fallback")) return missing("byte_fallback");
    const auto dropout = model.find("dropout");
    if (dropout && !dropout->is_null()) return missing("dropout");
    return {};
}

// The bytes that byte-level vocabularies write as characters from U+0100 on, in order.
constexpr bool is_shifted(unsigned byte) {
    return byte < 33 || (byte > 126 && byte < 161) || byte == 173;
}

// From the printable spelling to bytes; empty if a character is not one of the 256.
std::string unspell(std::string_view text) {
    static constexpr auto shifted = [] {
        std::array<char, 68> table{};
        std::size_t n = 0;
        for (unsigned byte = 0; byte < 256; ++byte)
            if (is_shifted(byte)) table[n++] = static_cast<char>(byte);
        return table;
    }();
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned code = static_cast<std::uint8_t>(text[i]);
        if (code >= 0xE0) return {};
        if (code >= 0x80) {
            if (++i == text.size()) return {};
            code = (code & 31) << 6 | (static_cast<std::uint8_t>(text[i]) & 63u);
        }
        if (code >= 256 + shifted.size()) return {};
        out += code < 256 ? static_cast<char>(code) : shifted[code - 256];
    }
    return out;
}

Result<void> read_words(JsonValue model, JsonTokenizer::Parts& parts) {
    const auto vocabulary = model.find("vocab");
    if (!vocabulary || !vocabulary->is_object()) return missing("a model without vocab");
    for (const auto [spelling, id] : vocabulary->members()) {
        const auto token = id.integer();
        if (!token || *token < 0 || *token >= no_token) return missing("an id out of range");
        const std::string bytes = unspell(spelling);
        if (!bytes.empty()) parts.words.emplace(bytes, static_cast<Token>(*token));
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto found = parts.words.find(std::string(1, static_cast<char>(byte)));
        if (found == parts.words.end())
            return missing("a vocabulary without byte " + std::to_string(byte));
        parts.bytes.push_back(found->second);
    }
    return {};
}

Result<void> read_merges(JsonValue model, JsonTokenizer::Parts& parts) {
    const auto merges = model.find("merges");
    if (!merges || !merges->is_array()) return missing("a model without merges");
    std::uint32_t rank = 0;
    for (const JsonValue merge : merges->elements()) {
        std::array<std::string_view, 2> sides;
        if (merge.is_string()) {
            const std::size_t blank = merge.string().find(' ');
            if (blank == std::string_view::npos) return missing("a merge of one part");
            sides = {merge.string().substr(0, blank), merge.string().substr(blank + 1)};
        } else {
            std::size_t n = 0;
            for (const JsonValue side : merge.elements())
                if (n < 2) sides[n++] = side.string();
        }
        const std::string left = unspell(sides[0]), right = unspell(sides[1]);
        const auto first = parts.words.find(left), second = parts.words.find(right);
        const auto joined = parts.words.find(left + right);
        if (first == parts.words.end() || second == parts.words.end() ||
            joined == parts.words.end())
            return missing("a merge of or into what is not a token");
        parts.merges.emplace(pair_key(first->second, second->second),
                             JsonTokenizer::Merge{rank++, joined->second});
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const JsonTokenizer>> load_tokenizer_json(const TokenizerFile& file) {
    PAL_TRY(document, parse_json(file.json, {.depth = 64, .duplicate_keys = true}));
    const JsonValue root = document.root();
    const auto model = root.find("model");
    if (!model || !model->is_object())
        return fail(ErrorCode::invalid_request, "this is not a tokenizer.json: it has no model");
    JsonTokenizer::Parts parts;
    parts.name = file.name;
    parts.scheme = file.scheme;
    parts.whole_words = is_true(*model, "ignore_merges");
    PAL_CHECK(check_normalizer(root));
    PAL_CHECK(check_model(*model));
    PAL_TRY(family, family_of(root));
    parts.family = family;
    PAL_CHECK(read_words(*model, parts));
    PAL_CHECK(read_merges(*model, parts));
    return std::make_shared<const JsonTokenizer>(std::move(parts));
}

}  // namespace palimpsest
