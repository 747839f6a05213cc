#include "model/refusal.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

// As Error::param; OpenAI's own word.
constexpr std::string_view context_overflow = "context_length_exceeded";
constexpr std::string_view refused_words = " answered with status ";
constexpr std::size_t text_bytes_max = 2000;
constexpr int wait_ms_max = 60'000;
constexpr std::string_view wait_words = "; it asks to wait ";
constexpr double told_wait_s_max = 7.0 * 24 * 3600;

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
        said.text = body;
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
    return said;
}

// Words in whatever encoding, and not compressed bytes.
bool is_text(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        return control && c != '\n' && c != '\r' && c != '\t';
    });
}

// The secret goes first: a cut through the middle of it would leave half of it. No character is
// cut.
std::string shown(std::string text, std::string_view secret) {
    if (!is_text(text)) return "(" + std::to_string(text.size()) + " bytes that are no text)";
    text = to_utf8(without_secret(std::move(text), secret));
    return std::string(utf8_prefix(text, text_bytes_max));
}

bool says_overflow(const Said& said) {
    const std::string text = lowered(said.kind + " " + said.text);
    return std::ranges::any_of(overflow_words,
                               [&](std::string_view words) { return text.contains(words); });
}

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<Time> parse_http_date(const std::string& text) {
    std::tm parts{};
    const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (!end || *end != '\0') return {};
    return Time(std::chrono::duration_cast<Duration>(std::chrono::seconds(::timegm(&parts))));
}

ErrorCode code_of(int status, std::string_view kind) {
    if (status == 429) return ErrorCode::rate_limited;
    const bool overloaded = kind == "overloaded_error" || kind == "server_overloaded";
    if (status == 503 || status == 529 || overloaded) return ErrorCode::unavailable;
    return ErrorCode::upstream_failed;
}

// 0: it does not say.
double asked_wait_ms(const HttpResponse& response, Time now) {
    const auto asked = [&](std::string_view header, double unit) -> double {
        const auto text = response.headers.find(header);
        double value = 0;
        if (!text) return 0;
        const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
        if (fault == std::errc() && end == text->data() + text->size()) return value * unit;
        const auto date = parse_http_date(std::string(*text));
        return date ? std::chrono::duration<double, std::milli>(*date - now).count() : 0;
    };
    const double exact = asked("retry-after-ms", 1);
    const double wait = exact > 0 ? exact : asked("retry-after", 1000);
    return wait > 0 ? wait : 0;
}

// 0: there is none.
int number_at(std::string_view text, std::size_t at) {
    int number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    return number;
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
                    std::to_string(response.status) + ": " + shown(said.text, secret);
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
    return number_at(error.message, at + refused_words.size());
}

Error refusal_of_event(std::string_view server, const Error& event, std::string_view secret) {
    Error error = event;
    const Said said{.text = event.message, .kind = event.param};
    const std::string words = lowered(event.param + " " + event.message);
    if (words.contains("overloaded")) error.code = ErrorCode::unavailable;
    if (words.contains("rate limit") || words.contains("rate_limit"))
        error.code = ErrorCode::rate_limited;
    // What we cannot read is the server's fault, not that of whoever asked.
    if (error.code == ErrorCode::invalid_request || error.code == ErrorCode::unprocessable)
        error.code = ErrorCode::upstream_failed;
    error.message = std::string(server) + ": " + shown(event.message, secret);
    error.param = says_overflow(said) ? std::string(context_overflow) : "";
    return error;
}

Error refusal_of_unreadable(std::string_view server, const Unreadable& answer,
                            std::string_view secret) {
    Error error;
    error.code = ErrorCode::upstream_failed;
    error.message = std::string(server) + " answered with success and ";
    if (answer.bytes == 0)
        error.message += "an empty body";
    else
        error.message += std::to_string(answer.bytes) + " bytes of " +
                         (answer.type.empty() ? "no type" : answer.type) +
                         " that are no model's answer (" + answer.why +
                         "): " + json_string(shown(answer.head, secret));
    error.message += "; look at the model's url (up to the version, as in .../v1) and its format";
    return error;
}

bool is_context_overflow(const Error& error) {
    return error.param == context_overflow;
}

void add_wait(Error& error, const HttpResponse& response, Time now) {
    const double seconds = std::ceil(asked_wait_ms(response, now) / 1000);
    if (!(seconds > 0)) return;
    error.message += std::string(wait_words) +
                     std::to_string(static_cast<int>(std::min(seconds, told_wait_s_max))) + " s";
}

int refused_wait_s(const Error& error) {
    const std::size_t at = error.message.rfind(wait_words);
    if (refused_status(error) == 0 || at == std::string::npos) return 0;
    return number_at(error.message, at + wait_words.size());
}

int retry_after_ms(const HttpResponse& response, Time now) {
    const double wait = asked_wait_ms(response, now);
    return wait > wait_ms_max ? -1 : static_cast<int>(std::ceil(wait));
}

bool may_send_again(const HttpResponse& response) {
    const auto said = response.headers.find("x-should-retry");
    if (said) return *said == "true";
    const int status = response.status;
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504 || status == 529;
}

}  // namespace palimpsest
