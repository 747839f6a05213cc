#include "net/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace palimpsest {
namespace {

std::unexpected<HttpFault> refuse(int status, std::string message) {
    return std::unexpected(HttpFault{status, std::move(message)});
}
std::unexpected<HttpFault> refuse(std::string message) {
    return refuse(400, std::move(message));
}

constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A kind of characters, as a table: every byte of every head is looked up.
class CharSet {
public:
    explicit constexpr CharSet(bool (*is_in)(char)) {
        for (std::size_t byte = 0; byte < in_.size(); ++byte)
            in_[byte] = is_in(static_cast<char>(byte));
    }
    constexpr bool has(char c) const { return in_[static_cast<unsigned char>(c)]; }
    constexpr bool has_all(std::string_view text) const {
        for (const char c : text)
            if (!has(c)) return false;
        return true;
    }

private:
    std::array<bool, 256> in_ = {};
};

constexpr CharSet token_chars([](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
});
constexpr CharSet target_chars([](char c) {
    return c > 0x20 && c < 0x7f && !std::string_view("\"#<>\\^`{|}").contains(c);
});
constexpr CharSet host_chars([](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
});
constexpr CharSet digits(is_digit);

// Whether one of eight bytes is below 0x20 or is 0x7f, by the top bits that it leaves. A tab is
// too.
bool may_hold_control(const char* bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101U, tops = ones << 7U;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    const std::uint64_t low = (word - ones * 0x20U) & ~word;
    const std::uint64_t other = word ^ (ones * 0x7fU);
    return ((low | ((other - ones) & ~other)) & tops) != 0;
}

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
    return text;
}

// The text before `separator`; what follows it stays in `rest`.
std::optional<std::string_view> cut(std::string_view& rest, std::string_view separator) {
    const std::size_t at = rest.find(separator);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view before = rest.substr(0, at);
    rest.remove_prefix(at + separator.size());
    return before;
}

bool is_port(std::string_view text) {
    return text.size() <= 5 && digits.has_all(text);
}

// A name, an IPv4 address or a bracketed IPv6 address, and an optional port.
bool is_authority(std::string_view text) {
    std::string_view host = text;
    if (host.starts_with('[')) {
        const std::size_t close = host.find(']');
        if (close == std::string_view::npos) return false;
        const std::string_view after = host.substr(close + 1);
        const std::string_view inside = host.substr(1, close - 1);
        if (!after.empty() && (after[0] != ':' || !is_port(after.substr(1)))) return false;
        return !inside.empty() &&
               inside.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
    }
    if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
        if (!is_port(host.substr(colon + 1))) return false;
        host = host.substr(0, colon);
    }
    return !host.empty() && host_chars.has_all(host);
}

// Splits the target; gives the authority of the absolute form, empty for the others.
std::expected<std::string_view, HttpFault> parse_target(HttpRequest& request) {
    std::string_view rest = request.target;
    std::string_view authority;
    if (rest.empty() || !target_chars.has_all(rest))
        return refuse("the request target has characters that must be percent-encoded");
    if (rest == "*" && request.method == "OPTIONS") {
        request.path = "*";
        return authority;
    }
    if (rest.size() > 7 && equal_without_case(rest.substr(0, 7), "http://")) {
        rest.remove_prefix(7);
        authority = rest.substr(0, rest.find_first_of("/?"));
        rest.remove_prefix(authority.size());
        if (!is_authority(authority)) return refuse("the request target names no valid host");
    }
    const std::string_view path = rest.substr(0, rest.find('?'));
    if (path.starts_with('/'))
        request.path = path;
    else if (path.empty() && !authority.empty())
        request.path = "/";
    else
        return refuse("the request target must begin with '/'");
    if (path.size() < rest.size()) request.query = rest.substr(path.size() + 1);
    return authority;
}

std::expected<int, HttpFault> parse_version(std::string_view version) {
    if (version == "HTTP/1.1") return 1;
    if (version == "HTTP/1.0") return 0;
    const bool well_formed = version.size() == 8 && version.starts_with("HTTP/") &&
                             is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
    if (well_formed) return refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    return refuse("the first line does not end in an HTTP version");
}

struct Framing {
    BodyFraming kind = BodyFraming::none;
    std::uint64_t bytes = 0;
};

std::expected<Framing, HttpFault> parse_framing(const HttpHeaders& headers, int minor_version) {
    const std::size_t lengths = headers.count("content-length");
    const std::size_t codings = headers.count("transfer-encoding");
    if (codings > 0) {
        if (lengths > 0) return refuse("both Content-Length and Transfer-Encoding are given");
        if (minor_version == 0) return refuse("Transfer-Encoding needs HTTP/1.1");
        if (codings > 1 || !equal_without_case(*headers.find("transfer-encoding"), "chunked"))
            return refuse("the only transfer coding understood is \"chunked\"");
        return Framing{BodyFraming::chunked, 0};
    }
    if (lengths == 0) return Framing{};
    if (lengths > 1) return refuse("Content-Length is given more than once");
    const std::string_view text = *headers.find("content-length");
    std::uint64_t bytes = 0;
    if (text.empty() || text.size() > 18 || !digits.has_all(text))
        return refuse("Content-Length is not a plain decimal number");
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return Framing{BodyFraming::length, bytes};
}

bool keeps_alive(const HttpHeaders& headers, int minor_version) {
    bool close = minor_version == 0;
    for (const auto& [name, value] : headers) {
        if (!equal_without_case(name, "connection")) continue;
        if (has_token(value, "close")) return false;
        if (has_token(value, "keep-alive")) close = false;
    }
    return !close;
}

std::expected<HttpHeaders, HttpFault> parse_fields(std::string_view block) {
    HttpHeaders headers;
    while (const auto line = cut(block, "\r\n")) {
        if (line->empty()) return headers;
        auto field = parse_field_line(*line);
        if (!field) return std::unexpected(std::move(field).error());
        headers.add(std::move(field->name), std::move(field->value));
    }
    return refuse("the head does not end in an empty line");
}

std::optional<HttpFault> check_host(const HttpRequest& request, std::string_view authority) {
    const std::size_t hosts = request.headers.count("host");
    if (hosts > 1) return HttpFault{400, "Host is given more than once"};
    if (hosts == 0) {
        if (request.minor_version == 0) return std::nullopt;
        return HttpFault{400, "Host is missing"};
    }
    const std::string_view host = *request.headers.find("host");
    if (!is_authority(host)) return HttpFault{400, "Host is not a valid host"};
    if (!authority.empty() && !equal_without_case(authority, host))
        return HttpFault{400, "Host differs from the host in the request target"};
    return std::nullopt;
}

std::optional<HttpFault> check_expectations(RequestHead& head) {
    const HttpHeaders& headers = head.request.headers;
    if (const auto expect = headers.find("expect")) {
        if (!equal_without_case(*expect, "100-continue"))
            return HttpFault{417, "the only expectation understood is \"100-continue\""};
        head.expects_continue = head.request.minor_version == 1;
    }
    const auto coding = headers.find("content-encoding");
    if (coding && !coding->empty() && !equal_without_case(*coding, "identity"))
        return HttpFault{415, "encoded bodies are not accepted: send it without Content-Encoding"};
    return std::nullopt;
}

std::expected<HttpRequest, HttpFault> parse_request_line(std::string_view line) {
    HttpRequest request;
    const auto method = cut(line, " ");
    const auto target = cut(line, " ");
    if (!method || !target || !is_token(*method))
        return refuse("the first line is not METHOD SP TARGET SP VERSION");
    const auto version = parse_version(line);
    if (!version) return std::unexpected(version.error());
    request.method = *method;
    request.target = *target;
    request.minor_version = *version;
    return request;
}

}  // namespace

std::size_t plain_bytes(std::string_view text) {
    std::size_t at = 0;
    while (at + 8 <= text.size() && !may_hold_control(text.data() + at)) at += 8;
    const bool short_rest = text.size() >= 8 && at + 8 > text.size();
    if (short_rest && !may_hold_control(text.data() + text.size() - 8)) return text.size();
    while (at < text.size() && !is_control(text[at])) ++at;
    return at;
}

bool is_token(std::string_view text) {
    return !text.empty() && token_chars.has_all(text);
}

bool has_token(std::string_view list, std::string_view token) {
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        if (equal_without_case(trim(item), token)) return true;
        list.remove_prefix(std::min(list.size(), item.size() + 1));
    }
    return false;
}

HttpFault HeadScan::too_long() const {
    if (lines_ == 0)
        return {414, "the request target is too long: it may have " +
                         std::to_string(limits_.max_target_bytes) +
                         " bytes; shorten the path or the query"};
    return {431, "the header fields are too long"};
}

std::expected<std::size_t, HttpFault> HeadScan::scan(std::string_view bytes) {
    for (; next_ < bytes.size(); ++next_) {
        const bool after_cr = next_ > line_start_ && bytes[next_ - 1] == '\r';
        // 64 bytes are ample for method and version.
        const std::size_t first_line = limits_.max_target_bytes + 64;
        const std::size_t most =
            lines_ == 0 ? std::min(first_line, limits_.max_head_bytes) : limits_.max_head_bytes;
        // Nearly all of a head is text between the ends of its lines.
        const std::size_t end = after_cr ? next_ : std::min(bytes.size() - 1, most);
        if (next_ < end) next_ += plain_bytes(bytes.substr(next_, end - next_));
        const char c = bytes[next_];
        if ((c == '\n') != after_cr) return refuse("a line does not end in CRLF");
        if (c != '\r' && c != '\n' && is_control(c))
            return refuse("the head holds a control character");
        if (next_ >= most) return std::unexpected(too_long());
        if (c != '\n') continue;
        if (next_ - line_start_ == 1 && lines_ > 0) return next_ + 1;
        if (next_ - line_start_ == 1 && line_start_ > 0) return refuse("the first line is empty");
        if (next_ == 1) {  // One empty line before a request is allowed: RFC 9112, 2.2.
            line_start_ = 2;
            continue;
        }
        if (lines_++ > limits_.max_headers) return refuse(431, "there are too many header fields");
        line_start_ = next_ + 1;
    }
    return 0;
}

std::expected<HttpHeaders::Field, HttpFault> parse_field_line(std::string_view line) {
    if (line.starts_with(' ') || line.starts_with('\t'))
        return refuse("a header field is folded over two lines");
    const auto name = cut(line, ":");
    if (!name) return refuse("a header field has no colon");
    if (!is_token(*name)) return refuse("the name of a header field is not valid");
    const std::string_view value = trim(line);
    if (plain_bytes(value) < value.size())
        return refuse("the value of a header field holds a control character");
    return HttpHeaders::Field{.name = std::string(*name), .value = std::string(value)};
}

std::string requested_path(std::string_view head) {
    if (head.starts_with("\r\n")) head.remove_prefix(2);
    auto request = parse_request_line(cut(head, "\r\n").value_or(std::string_view()));
    return request && parse_target(*request) ? std::move(request->path) : std::string();
}

std::expected<RequestHead, HttpFault> parse_request_head(std::string_view head) {
    if (head.starts_with("\r\n")) head.remove_prefix(2);
    const auto line = cut(head, "\r\n");
    auto request = parse_request_line(line.value_or(std::string_view()));
    if (!request) return std::unexpected(std::move(request).error());
    auto headers = parse_fields(head);
    if (!headers) return std::unexpected(std::move(headers).error());
    request->headers = *std::move(headers);
    const auto authority = parse_target(*request);
    if (!authority) return std::unexpected(authority.error());
    if (auto fault = check_host(*request, *authority)) return std::unexpected(*std::move(fault));
    const auto framing = parse_framing(request->headers, request->minor_version);
    if (!framing) return std::unexpected(framing.error());

    RequestHead result;
    result.request = *std::move(request);
    result.framing = framing->kind;
    result.body_bytes = framing->bytes;
    result.keep_alive = keeps_alive(result.request.headers, result.request.minor_version);
    if (auto fault = check_expectations(result)) return std::unexpected(*std::move(fault));
    return result;
}

std::expected<ResponseHead, HttpFault> parse_response_head(std::string_view head, bool to_head) {
    const std::string_view line = cut(head, "\r\n").value_or(std::string_view());
    const auto version = parse_version(line.substr(0, 8));
    if (!version) return std::unexpected(version.error());
    const std::string_view code = line.substr(8, 4);
    const bool valid = code.size() == 4 && code[0] == ' ' && code[1] >= '1' && code[1] <= '5' &&
                       is_digit(code[2]) && is_digit(code[3]) &&
                       (line.size() == 12 || line[12] == ' ');
    if (!valid) return refuse("the status line has no status");
    auto headers = parse_fields(head);
    if (!headers) return std::unexpected(std::move(headers).error());
    const auto framing = parse_framing(*headers, *version);
    if (!framing) return std::unexpected(framing.error());

    ResponseHead result;
    std::from_chars(code.data() + 1, code.data() + 4, result.status);
    result.headers = *std::move(headers);
    result.keep_alive = keeps_alive(result.headers, *version);
    if (to_head || result.status < 200 || result.status == 204 || result.status == 304)
        return result;
    result.framing = framing->kind;
    result.body_bytes = framing->bytes;
    if (framing->kind == BodyFraming::none) {
        result.framing = BodyFraming::until_close;
        result.keep_alive = false;
    }
    return result;
}

}  // namespace palimpsest
