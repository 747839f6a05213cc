// wire: requests, responses and server-sent events to bytes, without I/O.
//
// Invariant: whatever a header value or an event holds (ids and model text reach both), it stays
// inside its line. The framing fields (Content-Length, Transfer-Encoding, Connection) are ours:
// what a service sets there is ignored.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "net/message.h"

namespace palimpsest {

struct ResponseFraming {
    bool stream = false;   // no length is known
    bool chunked = false;  // HTTP/1.1 client: a stream is sent in chunks
    bool keep_alive = true;
    bool old_client = false;        // HTTP/1.0: keep-alive has to be said
    std::size_t content_bytes = 0;  // if not a stream
};

std::string_view status_text(int status);
// True if a response of that status never has a body.
bool is_bodiless(int status);
std::string write_response_head(const HttpResponse& response, const ResponseFraming& framing);
// Content-Length is written when there is a body, or when the method usually has one. The Host
// is `host` whatever the request's headers say; `prefix` goes in front of its target.
std::string write_request_head(const HttpRequest& request, std::string_view host,
                               std::string_view prefix);
// Appends one chunk; nothing for no bytes, because an empty chunk would end the body.
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace palimpsest
