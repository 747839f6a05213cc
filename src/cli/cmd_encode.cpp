// encode, decode: text to a JSON array of token ids and back.
#include <functional>

#include "base/json.h"
#include "base/json_write.h"
#include "cli/documents.h"
#include "cli/tokenizer_file.h"
#include "token/encoding.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"encoding", "E", "o200k_base (default), cl100k_base, ..., or a tokenizer.json file."},
    {"special", "", "Spellings of special tokens become those tokens (encode)."},
    {"jsonl", "", "One JSON string (encode) or array (decode) per line."},
};

struct Coder {
    std::function<std::vector<Token>(std::string_view text)> encode;
    std::function<Result<std::string>(std::span<const Token> tokens)> decode;
};

Result<Coder> coder_of(const Arguments& arguments) {
    const std::string name = arguments.get("encoding").value_or("o200k_base");
    if (is_tokenizer_file(name)) {
        if (arguments.has("special"))
            return fail(ErrorCode::unprocessable,
                        "the special tokens of a tokenizer.json are always text", "special");
        PAL_TRY(file, read_tokenizer_file(name));
        return Coder{[file](std::string_view text) { return file->encode(text); },
                     [file](std::span<const Token> tokens) { return file->decode(tokens); }};
    }
    PAL_TRY(encoding, open_encoding(name));
    const auto specials = arguments.has("special") ? Specials::recognised : Specials::as_text;
    return Coder{
        [encoding, specials](std::string_view text) { return encoding->encode(text, specials); },
        [encoding](std::span<const Token> tokens) { return encoding->decode(tokens); }};
}

std::string json_of(const std::vector<Token>& tokens) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const Token token : tokens) json.number(std::uint64_t{token});
    json.end_array();
    return out;
}

Result<std::string> decode_array(const Coder& coder, std::string_view text) {
    PAL_TRY(document, parse_json(text));
    if (!document.root().is_array())
        return fail(ErrorCode::invalid_request, "decode takes a JSON array of token ids");
    std::vector<Token> tokens;
    for (const JsonValue id : document.root().elements()) {
        const auto value = id.integer();
        if (!value || *value < 0 || *value > UINT32_MAX)
            return fail(ErrorCode::invalid_request, "not a token id: " + clipped(id.raw(), 40));
        tokens.push_back(static_cast<Token>(*value));
    }
    return coder.decode(tokens);
}

}  // namespace

extern const Flags encode_flags;
const Flags encode_flags = flags;

Result<int> run_encode(Invocation& call) {
    PAL_TRY(coder, coder_of(call.arguments));
    if (!call.arguments.has("jsonl")) {
        call.out.json_line(json_of(coder.encode(call.input)));
        return 0;
    }
    for (const InputDocument& line : split_documents(call.input, true)) {
        PAL_TRY(document, parse_json(line.json));
        if (!document.root().is_string())
            return fail(ErrorCode::invalid_request,
                        "line " + std::to_string(line.line) + " is not a JSON string");
        call.out.json_line(json_of(coder.encode(document.root().string())));
    }
    return 0;
}

// The text goes out byte for byte; with --json or --jsonl as a JSON string.
Result<int> run_decode(Invocation& call) {
    PAL_TRY(coder, coder_of(call.arguments));
    if (!call.arguments.has("jsonl")) {
        PAL_TRY(text, decode_array(coder, call.input));
        if (call.json()) {
            call.out.json_line(json_string(text));
            return 0;
        }
        call.out.write(call.out.is_terminal() ? printable_lines(text) : text);
        return 0;
    }
    for (const InputDocument& line : split_documents(call.input, true)) {
        PAL_TRY(text, decode_array(coder, line.json));
        call.out.json_line(json_string(text));
    }
    return 0;
}

}  // namespace palimpsest
