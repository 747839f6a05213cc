// count: exact tokens of texts, or of whole requests with all that the service adds to them.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cli/documents.h"
#include "cli/tokenizer_file.h"
#include "token/request.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"encoding", "E", "o200k_base (default), cl100k_base, approx, ..., or a tokenizer.json file."},
    {"model", "M", "Count as this model does."},
    {"format", "F", "Each input is a request or a list of messages in this format."},
    {"jsonl", "", "One JSON string (or, with --format, request) per line; one count per line."},
};

struct Counting {
    const ModelSpec* model = nullptr;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::unique_ptr<TokenCounter> counter;
    std::optional<FormatId> format;
};

Result<Counting> counting_of(const Arguments& arguments) {
    const ModelMatch match = find_model(arguments.get("model").value_or("gpt-4o"));
    if (arguments.has("model") && !match.known)
        std::fprintf(stderr, "unknown model %s: counted with %s\n",
                     printable(*arguments.get("model")).c_str(),
                     std::string(match.spec->encoding).c_str());
    Counting counting{match.spec, {}, {}, {}};
    const auto encoding = arguments.get("encoding").value_or(std::string(match.spec->encoding));
    PAL_TRY(tokenizer, open_named_tokenizer(encoding));
    counting.tokenizer = tokenizer;
    counting.counter = tokenizer->counter();
    if (!arguments.has("format")) return counting;
    PAL_TRY(format, format_flag(arguments, "format"));
    counting.format = format;
    return counting;
}

// Requests that are counted as they are; others as the chat that they convert to.
struct RequestCounting {
    FormatId format;
    decltype(&count_chat_request) count;
};
constexpr RequestCounting request_countings[] = {
    {FormatId::openai_chat, count_chat_request},
    {FormatId::anthropic, count_messages_request},
};

// A bare list becomes the body of a request.
Result<std::uint64_t> count_body(Counting& counting, std::string_view json) {
    std::string body(json);
    const auto* const own =
        std::ranges::find(request_countings, *counting.format, &RequestCounting::format);
    const bool converted = own == std::end(request_countings);
    if (converted) {
        PAL_TRY(chat, convert_json(*counting.format, FormatId::openai_chat, json));
        body = std::move(chat.json);
    }
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && body[first] == '[') body = "{\"messages\":" + body + "}";
    const auto count = converted ? count_chat_request : own->count;
    PAL_TRY(counted, count(*counting.model, *counting.counter, body));
    return counted.total();
}

Result<std::uint64_t> count_line(Counting& counting, std::string_view json) {
    if (counting.format) return count_body(counting, json);
    PAL_TRY(document, parse_json(json));
    if (!document.root().is_string())
        return fail(ErrorCode::invalid_request, "each line must be a JSON string");
    return counting.counter->count(document.root().string());
}

// Prints one count per line of the input; gives their sum.
Result<std::uint64_t> count_lines(Counting& counting, Output& out, std::string_view text) {
    std::uint64_t total = 0;
    for (const InputDocument& document : split_documents(text, true)) {
        PAL_TRY(tokens, count_line(counting, document.json));
        out.line(std::to_string(tokens));
        total += tokens;
    }
    return total;
}

}  // namespace

extern const Flags count_flags;
const Flags count_flags = flags;

Result<int> run_count(Invocation& call) {
    PAL_TRY(counting, counting_of(call.arguments));
    std::vector<std::string> files = call.arguments.from(0);
    if (files.empty()) files.emplace_back("-");
    std::uint64_t total = 0;
    for (const std::string& file : files) {
        PAL_TRY(text, read_input(file));
        if (call.arguments.has("jsonl")) {
            PAL_TRY(lines, count_lines(counting, call.out, text));
            total += lines;
            continue;
        }
        Result<std::uint64_t> tokens = counting.counter->count(text);
        if (counting.format) tokens = count_body(counting, text);
        PAL_TRY(one, std::move(tokens));
        total += one;
        call.out.line(std::to_string(one) + (files.size() > 1 ? " " + printable(file) : ""));
    }
    if (files.size() > 1) call.out.line(std::to_string(total) + " total");
    return 0;
}

}  // namespace palimpsest
