// parse: bytes of a connection to the head of a request or response, strictly, without I/O.
//
// Where readers of HTTP disagree, attackers get in between (request smuggling). So there is one
// parser, it accepts only what RFC 9112 generates, and it never guesses: lines end in CRLF and
// nothing else, one space separates the parts of the first line, no folding, no space before a
// colon, one Host, one framing (a plain decimal Content-Length or exactly "chunked", never both).
#pragma once
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "net/message.h"

namespace palimpsest {

// Why the bytes are refused: the status to answer and a sentence for people.
struct HttpFault {
    int status = 400;
    std::string message;
};

struct HeadLimits {
    std::size_t max_head_bytes = 64 * 1024;
    std::size_t max_target_bytes = 32 * 1024;
    std::size_t max_headers = 100;
};

enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };

struct RequestHead {
    HttpRequest request;
    BodyFraming framing = BodyFraming::none;
    std::uint64_t body_bytes = 0;  // for BodyFraming::length
    bool keep_alive = true;
    bool expects_continue = false;
};

struct ResponseHead {
    int status = 0;
    HttpHeaders headers;
    BodyFraming framing = BodyFraming::none;
    std::uint64_t body_bytes = 0;
    bool keep_alive = true;
};

// Finds the end of a head in bytes that arrive in pieces, each byte looked at once. A control byte
// or a bare CR or LF is refused when it arrives, not when the head is complete.
class HeadScan {
public:
    explicit HeadScan(const HeadLimits& limits) : limits_(limits) {}
    // `bytes` begins with the head and only grows. Bytes of the head with its empty line; 0: more.
    std::expected<std::size_t, HttpFault> scan(std::string_view bytes);

private:
    HttpFault too_long() const;

    HeadLimits limits_;
    std::size_t next_ = 0;
    std::size_t line_start_ = 0;
    std::size_t lines_ = 0;
};

// `head` ends with the empty line that HeadScan found.
std::expected<RequestHead, HttpFault> parse_request_head(std::string_view head);
// The path that a head asks for; empty where not even that can be read. For the refusal of the
// rest.
std::string requested_path(std::string_view head);
// `to_head`: it answers a HEAD request, so no body follows whatever it says.
std::expected<ResponseHead, HttpFault> parse_response_head(std::string_view head, bool to_head);

// One "Name: value" line without its CRLF. Also used for trailers.
std::expected<HttpHeaders::Field, HttpFault> parse_field_line(std::string_view line);

// True if a comma-separated header value holds `token`, without case.
bool has_token(std::string_view list, std::string_view token);

bool is_token(std::string_view text);

// Neither visible, nor a space, a tab or a byte above ASCII.
constexpr bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}
// How many bytes come before the first control character.
std::size_t plain_bytes(std::string_view text);

}  // namespace palimpsest
