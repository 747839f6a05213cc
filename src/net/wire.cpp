#include "net/wire.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "net/http.h"
#include "net/parse.h"

namespace palimpsest {
namespace {

constexpr std::size_t usual_head_bytes = 512;
constexpr std::size_t joined_bytes_max = 64 * 1024;

struct StatusText {
    int status;
    std::string_view text;
};
constexpr StatusText status_texts[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

bool is_framing_field(std::string_view name) {
    return equal_without_case(name, "content-length") ||
           equal_without_case(name, "transfer-encoding") || equal_without_case(name, "connection");
}

void append_value(std::string& out, std::string_view value) {
    const std::size_t plain = out.size() + plain_bytes(value);
    out += value;
    std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(plain), out.end(), is_control, ' ');
}

// Nothing for a field that is ours to set or has no valid name.
void append_header(std::string& out, const HttpHeaders::Field& field) {
    if (!is_token(field.name) || is_framing_field(field.name)) return;
    out.append(field.name).append(": ");
    append_value(out, field.value);
    out += "\r\n";
}

// One line per line of `text`, each with the field's name. "\r\n", "\r" and "\n" end a line.
void append_lines(std::string& out, std::string_view field, std::string_view text) {
    while (true) {
        const std::size_t end = text.find_first_of("\r\n");
        out.append(field).append(text.substr(0, end)) += '\n';
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    }
}

// For the fields that are one line by nature. NUL would make clients ignore an id.
void append_field(std::string& out, std::string_view field, std::string_view text) {
    if (text.empty()) return;
    out += field;
    append_value(out, text);
    out += '\n';
}

}  // namespace

std::string_view status_text(int status) {
    for (const StatusText& row : status_texts)
        if (row.status == status) return row.text;
    return "Status";
}

bool is_bodiless(int status) {
    return status < 200 || status == 204 || status == 304;
}

std::string write_request_head(const HttpRequest& request, std::string_view host,
                               std::string_view prefix) {
    std::string out;
    out.reserve(usual_head_bytes + request.target.size());
    out.append(request.method)
        .append(" ")
        .append(prefix)
        .append(request.target)
        .append(" HTTP/1.1\r\nHost: ");
    append_value(out, host);
    out += "\r\n";
    for (const auto& field : request.headers)
        if (!equal_without_case(field.name, "host")) append_header(out, field);
    const std::string_view method = request.method;
    if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
        out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    out += "\r\n";
    return out;
}

std::string write_response_head(const HttpResponse& response, const ResponseFraming& framing) {
    std::string out;
    // Most bodies go out with their head.
    out.reserve(usual_head_bytes + std::min(response.body.size(), joined_bytes_max));
    out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
    out.append(status_text(response.status)).append("\r\n");
    for (const auto& field : response.headers) append_header(out, field);
    if (framing.stream && framing.chunked)
        out += "Transfer-Encoding: chunked\r\n";
    else if (!framing.stream && !is_bodiless(response.status))
        out += "Content-Length: " + std::to_string(framing.content_bytes) + "\r\n";
    if (!framing.keep_alive)
        out += "Connection: close\r\n";
    else if (framing.old_client)
        out += "Connection: keep-alive\r\n";
    out += "\r\n";
    return out;
}

void append_chunk(std::string& out, std::string_view bytes) {
    if (bytes.empty()) return;
    std::array<char, 16> size = {};
    const auto [end, error] =
        std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
    out.append(size.data(), end).append("\r\n").append(bytes).append("\r\n");
}

std::string write_event(const ServerEvent& event) {
    std::string out;
    out.reserve(event.data.size() + event.event.size() + event.id.size() + 32);
    append_field(out, "event: ", event.event);
    append_field(out, "id: ", event.id);
    append_lines(out, "data: ", event.data);
    return out + '\n';
}

std::string write_event_comment(std::string_view text) {
    std::string out;
    append_lines(out, ": ", text);
    return out + '\n';
}

HttpResponse event_stream() {
    HttpResponse head(200, {}, "text/event-stream; charset=utf-8");
    head.headers.add("Cache-Control", "no-cache");
    return head;
}

}  // namespace palimpsest
