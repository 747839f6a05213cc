// encode, decode: text to a JSON array of token ids and back.
#include "base/json.h"
#include "base/json_write.h"
#include "cli/documents.h"
#include "token/encoding.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"encoding", "E", "The encoding: o200k_base (default), cl100k_base, o200k_harmony, ..."},
    {"special", "", "Spellings of special tokens become those tokens (encode)."},
    {"jsonl", "", "One JSON string (encode) or array (decode) per line."},
};

Result<std::shared_ptr<const Encoding>> encoding_of(const Arguments& arguments) {
    return open_encoding(arguments.get("encoding").value_or("o200k_base"));
}

std::string json_of(const std::vector<Token>& tokens) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const Token token : tokens) json.number(std::uint64_t{token});
    json.end_array();
    return out;
}

Result<std::string> decode_array(const Encoding& encoding, std::string_view text) {
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
    return encoding.decode(tokens);
}

}  // namespace

extern const Flags encode_flags;
const Flags encode_flags = flags;

Result<int> run_encode(Invocation& call) {
    PAL_TRY(encoding, encoding_of(call.arguments));
    const auto specials = call.arguments.has("special") ? Specials::recognised : Specials::as_text;
    if (!call.arguments.has("jsonl")) {
        call.out.json_line(json_of(encoding->encode(call.input, specials)));
        return 0;
    }
    for (const InputDocument& line : split_documents(call.input, true)) {
        PAL_TRY(document, parse_json(line.json));
        if (!document.root().is_string())
            return fail(ErrorCode::invalid_request,
                        "line " + std::to_string(line.line) + " is not a JSON string");
        call.out.json_line(json_of(encoding->encode(document.root().string(), specials)));
    }
    return 0;
}

// The text goes out byte for byte; with --jsonl as a JSON string per line.
Result<int> run_decode(Invocation& call) {
    PAL_TRY(encoding, encoding_of(call.arguments));
    if (!call.arguments.has("jsonl")) {
        PAL_TRY(text, decode_array(*encoding, call.input));
        call.out.write(call.out.is_terminal() ? printable_lines(text) : text);
        return 0;
    }
    for (const InputDocument& line : split_documents(call.input, true)) {
        PAL_TRY(text, decode_array(*encoding, line.json));
        call.out.json_line(json_string(text));
    }
    return 0;
}

}  // namespace palimpsest
