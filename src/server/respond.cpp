#include "server/respond.h"

#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr std::size_t logged_bytes_max = 256;
constexpr std::size_t warnings_bytes_max = 2000;

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text.substr(0, logged_bytes_max)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte < 0x7f) {
            out += c;
            continue;
        }
        out += '%';
        out += digits[byte >> 4U];
        out += digits[byte & 15U];
    }
    return out;
}

}  // namespace

std::string joined_warnings(const std::vector<std::string>& warnings) {
    std::string all;
    for (const std::string& warning : warnings) {
        if (!all.empty()) all += "; ";
        for (const char c : warning) all += c >= ' ' && c < '\x7f' ? c : '?';
        if (all.size() > warnings_bytes_max) return all.substr(0, warnings_bytes_max) + "...";
    }
    return all;
}

// An error that names a parameter is about the request itself. One without may be luck; but where
// something may have been stored, only a key makes a repeat safe.
bool may_retry(const Error& error, Repeat repeat) {
    if (!error_info(error.code).retry || !error.param.empty()) return false;
    const bool something_stored =
        error.code == ErrorCode::outcome_unknown || error.code == ErrorCode::upstream_failed;
    return !something_stored || !repeat.changes || repeat.keyed;
}

HttpResponse write_reply(const Route& route, RouteReply reply) {
    HttpResponse response(reply.status ? reply.status : route.status, std::move(reply.body),
                          reply.type);
    for (auto& [name, value] : reply.headers) response.headers.set(name, std::move(value));
    if (reply.etag) response.headers.set("ETag", "\"" + std::to_string(reply.etag->value) + "\"");
    if (reply.again) response.headers.set("Idempotent-Replayed", "true");
    if (!reply.warnings.empty())
        response.headers.set("x-warnings", joined_warnings(reply.warnings));
    return response;
}

std::string anthropic_error(int status, std::string_view message, std::string_view details) {
    constexpr std::pair<int, std::string_view> types[] = {
        {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
        {413, "request_too_large"},    {429, "rate_limit_error"}, {503, "overloaded_error"},
        {529, "overloaded_error"},
    };
    const bool mistake = status >= 400 && status < 500;
    std::string_view type = mistake ? "invalid_request_error" : "api_error";
    for (const auto& [code, name] : types)
        if (code == status) type = name;
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("type", "error").key("error").begin_object();
    out.field("type", type).field("message", message);
    if (!details.empty()) out.key("details").raw(details);
    out.end_object().end_object();
    return body;
}

namespace {

HttpResponse shaped_error(const Error& error, ErrorShape shape) {
    HttpResponse response = error_response(error);
    if (shape == ErrorShape::anthropic) {
        const std::string where = error.param.empty() ? "" : error.param + ": ";
        response.body = anthropic_error(response.status, where + error.message);
    }
    return response;
}

}  // namespace

HttpResponse write_error(const Error& error, Repeat repeat, ErrorShape shape) {
    HttpResponse response = shaped_error(error, shape);
    if (!may_retry(error, repeat))
        response.headers.set("x-should-retry", "false");
    else if (response.status == 503)
        response.headers.set("Retry-After", "1");
    return response;
}

ErrorShape shape_of(std::string_view path) {
    constexpr std::string_view messages = "/v1/messages";
    const bool below = path.starts_with(messages) &&
                       (path.size() == messages.size() || path[messages.size()] == '/');
    return below ? ErrorShape::anthropic : ErrorShape::openai;
}

void set_request_id(HttpResponse& response, std::string_view id, std::string_view path) {
    response.headers.set("x-request-id", std::string(id));
    if (shape_of(path) == ErrorShape::anthropic)
        response.headers.set("request-id", std::string(id));
}

HttpResponse write_edge_error(int status, const Error& error, std::string_view path) {
    HttpResponse response = shaped_error(error, shape_of(path));
    if (response.status != status && shape_of(path) == ErrorShape::anthropic)
        response.body = anthropic_error(status, error.message);
    response.status = status;
    // A request that came too slowly did not happen, and one that came too early may come again.
    if (status == 503 || status == 408)
        response.headers.set("Retry-After", "1");
    else
        response.headers.set("x-should-retry", "false");
    return response;
}

std::string write_log_line(const LogLine& line) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("event", "request").field("id", line.request_id);
    out.field("method", printable(line.method)).field("path", printable(line.path));
    out.field("peer", printable(line.peer));
    if (!line.key.empty()) out.field("key", line.key);
    if (!line.trace_id.empty()) out.field("trace_id", line.trace_id);
    out.key("status").number(line.status);
    if (!line.fault.empty()) out.field("error", line.fault);
    out.key("us").number(line.micros);
    out.key("bytes_in").number(std::uint64_t{line.bytes_in});
    out.key("bytes_out").number(std::uint64_t{line.bytes_out}).end_object();
    return text;
}

}  // namespace palimpsest
