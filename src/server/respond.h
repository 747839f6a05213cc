// respond: from the outcome of a call to the HTTP answer, and to the line that is logged of it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "server/route.h"

namespace palimpsest {

// What of a request decides whether its repeat is harmless.
struct Repeat {
    bool changes = false;  // POST, PATCH, DELETE
    bool keyed = false;    // it had an idempotency key
};
// Whether a client that repeats the very same request by itself may hope, and does no harm.
bool may_retry(const Error& error, Repeat repeat);

// As the value of a header, which is short and ASCII.
std::string joined_warnings(const std::vector<std::string>& warnings);
HttpResponse write_reply(const Route& route, RouteReply reply);
HttpResponse write_error(const Error& error, Repeat repeat, ErrorShape shape = ErrorShape::openai);
// What clients of a path expect, also where there is no route.
ErrorShape shape_of(std::string_view path);
// An answer that no route gave: to what is not HTTP, too large, too slow or too much. One that a
// client may repeat by itself says when.
HttpResponse write_edge_error(int status, const Error& error, std::string_view path);
// The body of an error in Anthropic's shape; `details` (a JSON object) tell programs which it is.
std::string anthropic_error(int status, std::string_view message, std::string_view details = {});

// Under the names by which clients of the path look for it.
void set_request_id(HttpResponse& response, std::string_view id, std::string_view path);

struct LogLine {
    std::string_view request_id = {}, method = {}, path = {}, peer = {};
    std::string_view key = {}, trace_id = {};  // the key's id, the trace; empty: none
    int status = 0;
    std::string_view fault = {};  // what ended its stream before the answer did; empty: nothing
    std::int64_t micros = 0;
    std::size_t bytes_in = 0, bytes_out = 0;
};
// One line of JSON. Bytes that are not printable ASCII become %XX, so a log is safe to look at.
std::string write_log_line(const LogLine& line);

}  // namespace palimpsest
