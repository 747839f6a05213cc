#include "net/message.h"

#include "base/json_write.h"

#include <algorithm>

namespace palimpsest {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

constexpr std::size_t usual_headers = 8;
constexpr std::string_view hex = "0123456789abcdef";

Result<std::string> decode(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_space) {
            out += ' ';
            continue;
        }
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low < 0)
            return fail(ErrorCode::invalid_request, "the URL has a '%' without two hex digits");
        if (high == 0 && low == 0)
            return fail(ErrorCode::invalid_request,
                        "the URL has an encoded NUL, which no name and no text may have; leave it "
                        "out");
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

}  // namespace

bool same_without_case(const char* a, const char* b, std::size_t size) {
    return std::equal(a, a + size, b,
                      [](char x, char y) { return x == y || lower(x) == lower(y); });
}

std::optional<std::string_view> HttpHeaders::find(std::string_view name) const {
    for (const Field& field : fields_)
        if (equal_without_case(field.name, name)) return field.value;
    return std::nullopt;
}

std::size_t HttpHeaders::count(std::string_view name) const {
    return static_cast<std::size_t>(
        std::count_if(fields_.begin(), fields_.end(),
                      [&](const Field& field) { return equal_without_case(field.name, name); }));
}

void HttpHeaders::add(std::string name, std::string value) {
    if (fields_.empty()) fields_.reserve(usual_headers);
    fields_.push_back({.name = std::move(name), .value = std::move(value)});
}

void HttpHeaders::set(std::string_view name, std::string value) {
    std::erase_if(fields_, [&](const Field& f) { return equal_without_case(f.name, name); });
    add(std::string(name), std::move(value));
}

HttpResponse::HttpResponse(int status_code, std::string content, std::string_view type)
    : status(status_code), body(std::move(content)) {
    if (!type.empty()) headers.add("Content-Type", std::string(type));
}

HttpResponse json_response(int status, std::string body) {
    return HttpResponse(status, std::move(body), "application/json");
}

HttpResponse error_response(const Error& error) {
    return error_response(error_info(error.code).http_status, error);
}

HttpResponse error_response(int status, const Error& error) {
    const std::string name = json_string(error_info(error.code).name);
    const std::string param = error.param.empty() ? "null" : json_string(error.param);
    return json_response(status, "{\"error\":{\"type\":" + name + ",\"code\":" + name +
                                     ",\"message\":" + json_string(error.message) +
                                     ",\"param\":" + param + "}}");
}

Result<std::string> percent_decode(std::string_view text) {
    return decode(text, false);
}

std::string percent_encode(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const char small = lower(c);
        if ((small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
            c == '_' || c == '~') {
            out += c;
        } else {
            out += '%';
            out += hex[byte >> 4];
            out += hex[byte & 15];
        }
    }
    return out;
}

Result<QueryParameters> parse_query(std::string_view query) {
    QueryParameters parameters;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        PAL_TRY(name, decode(pair.substr(0, equals), true));
        PAL_TRY(value, decode(pair.substr(std::min(pair.size(), equals + 1)), true));
        parameters.emplace_back(std::move(name), std::move(value));
    }
    return parameters;
}

std::optional<std::string_view> find_parameter(const QueryParameters& parameters,
                                               std::string_view name) {
    for (const auto& [key, value] : parameters)
        if (key == name) return value;
    return std::nullopt;
}

Result<std::vector<std::string>> path_segments(std::string_view path) {
    std::vector<std::string> segments;
    if (path.starts_with('/')) path.remove_prefix(1);
    if (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) return segments;
    while (true) {
        const std::size_t slash = path.find('/');
        PAL_TRY(segment, percent_decode(path.substr(0, slash)));
        segments.push_back(std::move(segment));
        if (slash == std::string_view::npos) return segments;
        path.remove_prefix(slash + 1);
    }
}

}  // namespace palimpsest
