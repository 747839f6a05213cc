#include "model/refusal.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

// As Error::param; OpenAI's own word.
constexpr std::string_view context_overflow = "context_length_exceeded";
constexpr std::string_view refused_words = " answered with status ";
constexpr std::size_t text_bytes_max = 2000;
constexpr int wait_ms_max = 60'000;

// Words by which providers and compatible servers say that the request is too long.
constexpr std::string_view overflow_words[] = {
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds the context",
    "context window",
    "exceed context limit",
    "exceed_context_size",
    "input is too long",
    "too many tokens",
    "larger than the maximum",
    "longer than the model's context",
};

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

struct Said {
    std::string text = {}, kind = {}, param = {};
};

// {"error":{"message","type","code"}} in all formats; else whatever the body says.
Said read_error(std::string_view body) {
    Said said;
    const auto document = parse_json(body);
    if (!document) {
        said.text = body.substr(0, text_bytes_max);
        return said;
    }
    const auto text_in = [](const std::optional<JsonValue>& object, std::string_view name) {
        const auto value = object ? object->find(name) : std::nullopt;
        return value ? std::string(value->string()) : std::string();
    };
    const auto error = document->root().find("error");
    said.text = text_in(error, "message");
    said.kind = text_in(error, "code");
    if (said.kind.empty()) said.kind = text_in(error, "type");
    said.param = text_in(error, "param");
    if (said.text.empty() && error) said.text = std::string(error->string());
    if (said.text.empty()) said.text = text_in(document->root(), "message");
    if (said.text.empty()) said.text = body;
    said.text.resize(std::min(said.text.size(), text_bytes_max));
    return said;
}

bool says_overflow(const Said& said) {
    const std::string text = lowered(said.kind + " " + said.text);
    return std::ranges::any_of(overflow_words,
                               [&](std::string_view words) { return text.contains(words); });
}

ErrorCode code_of(int status, std::string_view kind) {
    if (status == 429) return ErrorCode::rate_limited;
    const bool overloaded = kind == "overloaded_error" || kind == "server_overloaded";
    if (status == 503 || status == 529 || overloaded) return ErrorCode::unavailable;
    return ErrorCode::upstream_failed;
}

}  // namespace

std::string without_secret(std::string text, std::string_view secret) {
    if (secret.empty()) return text;
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
        text.replace(at, secret.size(), "[key]");
    return text;
}

Error refusal_of(std::string_view server, const HttpResponse& response, std::string_view secret) {
    const Said said = read_error(response.body);
    Error error;
    error.code = code_of(response.status, said.kind);
    error.message = std::string(server) + std::string(refused_words) +
                    std::to_string(response.status) + ": " + without_secret(said.text, secret);
    // What is wrong with the request is not mended by sending it again.
    if (response.status == 400 || response.status == 422) error.param = said.param;
    const bool too_long = response.status == 400 || response.status == 413 ||
                          response.status == 422 || response.status == 500;
    if (too_long && says_overflow(said)) error.param = context_overflow;
    return error;
}

int refused_status(const Error& error) {
    const std::size_t at = error.message.find(refused_words);
    if (at == std::string::npos) return 0;
    int status = 0;
    const char* const first = error.message.data() + at + refused_words.size();
    std::from_chars(first, error.message.data() + error.message.size(), status);
    return status;
}

Error refusal_of_event(std::string_view server, const Error& event, std::string_view secret) {
    Error error = event;
    const Said said{.text = event.message, .kind = event.param};
    if (lowered(event.message).contains("overloaded")) error.code = ErrorCode::unavailable;
    if (lowered(event.message).contains("rate limit")) error.code = ErrorCode::rate_limited;
    error.message = std::string(server) + ": " + without_secret(event.message, secret);
    error.param = says_overflow(said) ? std::string(context_overflow) : "";
    return error;
}

bool is_context_overflow(const Error& error) {
    return error.param == context_overflow;
}

int retry_after_ms(const HttpResponse& response) {
    const auto number = [&](std::string_view header, double unit) -> int {
        const auto text = response.headers.find(header);
        double value = 0;
        if (!text) return 0;
        const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
        if (fault != std::errc() || end != text->data() + text->size() || !(value > 0)) return 0;
        return static_cast<int>(std::min(value * unit, double{wait_ms_max}));
    };
    const int exact = number("retry-after-ms", 1);
    return exact > 0 ? exact : number("retry-after", 1000);
}

bool may_send_again(const HttpResponse& response) {
    const auto said = response.headers.find("x-should-retry");
    if (said) return *said == "true";
    const int status = response.status;
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504 || status == 529;
}

}  // namespace palimpsest
