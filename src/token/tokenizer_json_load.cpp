// Reads a tokenizer.json into the parts of a JsonTokenizer, and refuses what they cannot express.
#include "token/tokenizer_json.h"

#include "base/json.h"

#include <array>
#include <optional>

namespace palimpsest {
namespace {

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

// Only patterns whose splitter is written (split_stage.h) are known.
Result<Stage> stage_of(JsonValue split) {
    const auto pattern = split.find("pattern");
    const std::string_view regex = pattern ? text_of(*pattern, "Regex") : "";
    const std::optional<Stage> stage = find_stage(regex);
    if (!stage) return missing("the pattern " + std::string(regex));
    // An expression that matches all of a text leaves nothing to drop.
    const std::string_view behavior = text_of(split, "behavior");
    const bool inverted = is_true(split, "invert");
    const bool drops_nothing = behavior == "Removed" && inverted && *stage <= Stage::r50k;
    if (!(behavior == "Isolated" && !inverted) && !drops_nothing)
        return missing("a Split with the behavior " + std::string(behavior));
    return *stage;
}

// The members of a Sequence, or the step itself.
std::vector<JsonValue> steps_of(JsonValue step, std::string_view members) {
    std::vector<JsonValue> steps{step};
    if (text_of(step, "type") != "Sequence") return steps;
    steps.clear();
    if (const auto list = step.find(members))
        for (const JsonValue one : list->elements()) steps.push_back(one);
    return steps;
}

// Splits followed by ByteLevel, or ByteLevel with its own pattern.
Result<std::vector<Stage>> read_stages(JsonValue root) {
    const auto first = root.find("pre_tokenizer");
    if (!first || !first->is_object()) return missing("a file without pre_tokenizer");
    std::vector<Stage> stages;
    bool byte_level = false;
    for (const JsonValue step : steps_of(*first, "pretokenizers")) {
        const std::string_view type = text_of(step, "type");
        if (byte_level || (type != "ByteLevel" && type != "Split"))
            return missing("the pre-tokenizer " + std::string(type) + " at this place");
        if (type == "Split") {
            PAL_TRY(stage, stage_of(step));
            stages.push_back(stage);
            continue;
        }
        if (is_true(step, "add_prefix_space")) return missing("add_prefix_space");
        byte_level = true;
        const auto regex = step.find("use_regex");
        if (!regex || regex->boolean().value_or(true)) stages.push_back(Stage::r50k);
    }
    if (stages.empty() || !byte_level) return missing("a pre-tokenizer other than byte-level");
    return stages;
}

// Whether text is normalised to form C, the only form that is known here.
Result<bool> read_normalizer(JsonValue root) {
    const auto normalizer = root.find("normalizer");
    if (!normalizer || normalizer->is_null()) return false;
    bool nfc = false;
    for (const JsonValue step : steps_of(*normalizer, "normalizers")) {
        if (text_of(step, "type") != "NFC")
            return missing("the normalizer " + std::string(text_of(step, "type")));
        nfc = true;
    }
    return nfc;
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

void read_added(JsonValue root, JsonTokenizer::Parts& parts) {
    const auto added = root.find("added_tokens");
    if (!added) return;
    for (const JsonValue one : added->elements()) {
        const auto id = one.find("id");
        const auto token = id ? id->integer() : std::nullopt;
        if (token && *token >= 0 && *token < no_token)
            parts.added.emplace(static_cast<Token>(*token), text_of(one, "content"));
    }
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
    PAL_TRY(nfc, read_normalizer(root));
    parts.nfc = nfc;
    PAL_CHECK(check_model(*model));
    PAL_TRY(stages, read_stages(root));
    parts.stages = std::move(stages);
    PAL_CHECK(read_words(*model, parts));
    read_added(root, parts);
    PAL_CHECK(read_merges(*model, parts));
    return std::make_shared<const JsonTokenizer>(std::move(parts));
}

}  // namespace palimpsest
