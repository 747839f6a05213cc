#include "token/encoding.h"

#include "token/counter.h"
#include "token/tables.h"
#include "token/utf8_prefix.h"

#include <algorithm>
#include <charconv>

namespace palimpsest {
namespace {

constexpr SpecialToken o200k_specials[] = {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}};
constexpr SpecialToken harmony_specials[] = {
    {"<|startoftext|>", 199998}, {"<|endoftext|>", 199999}, {"<|return|>", 200002},
    {"<|constrain|>", 200003},   {"<|channel|>", 200005},   {"<|start|>", 200006},
    {"<|end|>", 200007},         {"<|message|>", 200008},   {"<|call|>", 200012},
    {"<|endofprompt|>", 200018},
};
constexpr SpecialToken cl100k_specials[] = {{"<|endoftext|>", 100257},
                                            {"<|fim_prefix|>", 100258},
                                            {"<|fim_middle|>", 100259},
                                            {"<|fim_suffix|>", 100260},
                                            {"<|endofprompt|>", 100276}};
constexpr SpecialToken r50k_specials[] = {{"<|endoftext|>", 50256}};

constexpr EncodingSpec encodings[] = {
    {"o200k_base", 2, "o200k_base", Family::o200k, o200k_specials},
    {"cl100k_base", 3, "cl100k_base", Family::cl100k, cl100k_specials},
    {"o200k_harmony", 4, "o200k_base", Family::o200k, harmony_specials, 200000, 201088},
    {"p50k_base", 5, "p50k_base", Family::r50k, r50k_specials},
    {"r50k_base", 6, "r50k_base", Family::r50k, r50k_specials},
};

constexpr std::string_view reserved_head = "<|reserved_";

bool is_blank(std::string_view bytes) {
    return std::ranges::all_of(bytes, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
}

// The special token that `text` starts with; its spelling is cut off.
const Token* match_named(std::span<const SpecialToken> specials, std::string_view& text) {
    for (const SpecialToken& special : specials)
        if (text.starts_with(special.text)) {
            text.remove_prefix(special.text.size());
            return &special.token;
        }
    return nullptr;
}

bool is_reserved(const EncodingSpec& spec, Token token) {
    if (token < spec.reserved_from || token >= spec.reserved_to) return false;
    if (token == 200018) return true;  // The reference gives this id two spellings.
    return std::ranges::none_of(spec.specials,
                                [&](const SpecialToken& s) { return s.token == token; });
}

bool match_reserved(const EncodingSpec& spec, std::string_view& text, Token& token) {
    if (spec.reserved_to == 0 || !text.starts_with(reserved_head)) return false;
    const char* const from = text.data() + reserved_head.size();
    const char* const end = text.data() + std::min(text.size(), reserved_head.size() + 8);
    const auto [to, error] = std::from_chars(from, end, token);
    if (error != std::errc() || to - from != 6 || !is_reserved(spec, token)) return false;
    if (std::string_view(to, static_cast<std::size_t>(end - to)) != "|>") return false;
    text.remove_prefix(reserved_head.size() + 8);
    return true;
}

}  // namespace

std::span<const EncodingSpec> encoding_table() {
    return encodings;
}

Encoding::Encoding(const EncodingSpec& spec)
    : spec_(spec), vocabulary_(vocabulary_table(spec.vocabulary)) {}

std::unique_ptr<TokenCounter> Encoding::counter() const {
    return std::make_unique<Counter>(*this, CounterOptions{});
}

std::uint64_t Encoding::count(std::string_view text) const {
    return Counter(*this, CounterOptions{.cache_bits = 6}).count(text);
}

// Encodes text that is UTF-8; gives the number of tokens before its last piece.
std::size_t Encoding::encode_pieces(std::string_view text, Merger& merger,
                                    std::vector<Token>& out) const {
    std::size_t last_piece = out.size();
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const char* const next = piece_end(spec_.family, at, end);
        last_piece = out.size();
        const auto& tokens = merger.merge({at, next});
        out.insert(out.end(), tokens.begin(), tokens.end());
        at = next;
    }
    return last_piece;
}

// See the head of encoding.h. Cuts the tokens off `out` that are merged with what follows, down to
// `first` at most, and gives the number of their bytes.
std::size_t Encoding::cut_tail(std::size_t first, std::size_t last_piece,
                               std::vector<Token>& out) const {
    if (last_piece < out.size() && is_blank(vocabulary_.bytes(out[last_piece])))
        while (last_piece > first && is_blank(vocabulary_.bytes(out[last_piece - 1]))) --last_piece;
    std::size_t bytes = 0;
    for (std::size_t i = last_piece; i < out.size(); ++i) bytes += vocabulary_.length(out[i]);
    out.resize(last_piece);
    return bytes;
}

void Encoding::encode_ordinary(std::string_view text, Merger& merger,
                               std::vector<Token>& out) const {
    const std::size_t valid = utf8_prefix(text);
    const std::size_t first = out.size();
    const std::size_t last_piece = encode_pieces(text.substr(0, valid), merger, out);
    if (valid == text.size()) return;
    const std::size_t from = valid - cut_tail(first, last_piece, out);
    const auto& tokens = merger.merge(text.substr(from));
    out.insert(out.end(), tokens.begin(), tokens.end());
}

Encoding::BrokenTail Encoding::broken_tail(std::string_view text) const {
    std::vector<Token> out;
    Merger merger(vocabulary_);
    const std::size_t valid = utf8_prefix(text);
    const std::size_t last_piece = encode_pieces(text.substr(0, valid), merger, out);
    const std::size_t from = valid - cut_tail(0, last_piece, out);
    return {from, out.size()};
}

std::vector<Token> Encoding::encode(std::string_view text, Specials specials) const {
    std::vector<Token> out;
    Merger merger(vocabulary_);
    std::size_t at = specials == Specials::recognised ? text.find("<|") : std::string_view::npos;
    while (at != std::string_view::npos) {
        std::string_view rest = text.substr(at);
        const Token* named = match_named(spec_.specials, rest);
        Token token = named != nullptr ? *named : 0;
        if (named != nullptr || match_reserved(spec_, rest, token)) {
            encode_ordinary(text.substr(0, at), merger, out);
            out.push_back(token);
            text = rest;
            at = text.find("<|");
        } else {
            at = text.find("<|", at + 1);
        }
    }
    encode_ordinary(text, merger, out);
    return out;
}

const SpecialToken* Encoding::special(Token token) const {
    const auto found = std::ranges::find(spec_.specials, token, &SpecialToken::token);
    return found == spec_.specials.end() ? nullptr : &*found;
}

Result<std::string> Encoding::decode(std::span<const Token> tokens) const {
    std::string out;
    for (const Token token : tokens) {
        const bool ordinary = token < vocabulary_.ids() && vocabulary_.length(token) != 0;
        if (const SpecialToken* found = special(token))
            out += found->text;
        else if (ordinary)
            out += vocabulary_.bytes(token);
        else if (is_reserved(spec_, token))
            out += std::string(reserved_head) + std::to_string(token) + "|>";
        else
            return fail(ErrorCode::invalid_request,
                        std::string(spec_.name) + " has no token " + std::to_string(token),
                        "tokens");
    }
    return out;
}

Result<std::shared_ptr<const Encoding>> open_encoding(std::string_view name) {
    std::string names;
    for (const EncodingSpec& spec : encodings) {
        if (spec.name == name) return std::make_shared<const Encoding>(spec);
        names += (names.empty() ? "" : ", ") + std::string(spec.name);
    }
    return fail(ErrorCode::not_found,
                "no encoding '" + std::string(name) + "'; there are: " + names, "encoding");
}

}  // namespace palimpsest
