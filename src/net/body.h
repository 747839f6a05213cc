// body: finds the body of a request or response in the bytes that arrive, strictly, without I/O.
//
// Invariants: a chunk line is hex digits, an optional ;extension, CRLF; chunk data is followed by
// CRLF; nothing else is accepted. What is not body (sizes, extensions, trailers) is bounded, so an
// endless stream of tiny chunks with long extensions costs its sender more than us.
#pragma once
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "net/parse.h"

namespace palimpsest {

class ChunkedBody {
public:
    explicit ChunkedBody(std::uint64_t max_body_bytes) : max_body_bytes_(max_body_bytes) {}

    // Takes what it can from the front of `bytes`, appends body bytes to `body`, and returns how
    // many bytes it took. Stops after the body's last byte. 413 when the body passes the limit.
    std::expected<std::size_t, HttpFault> take(std::string_view bytes, std::string& body);
    bool done() const { return state_ == State::done; }

private:
    enum class State : std::uint8_t { size_line, content, content_end, trailers, done };
    std::expected<bool, HttpFault> take_line(std::string_view& bytes);
    std::expected<void, HttpFault> use_line();
    std::expected<void, HttpFault> use_size_line();

    std::uint64_t max_body_bytes_;
    std::uint64_t total_ = 0;
    std::uint64_t left_ = 0;           // of the current chunk
    std::size_t extension_bytes_ = 0;  // of all chunks
    std::size_t trailer_bytes_ = 0;
    std::string line_;
    State state_ = State::size_line;
};

// A body of any framing.
class BodyReader {
public:
    BodyReader(BodyFraming framing, std::uint64_t body_bytes, std::uint64_t max_body_bytes);

    // Moves body bytes from the front of `in` to the end of `body`. 413 when it passes the limit,
    // at once if its length was announced.
    std::expected<void, HttpFault> take(std::string& in, std::string& body);
    bool done() const;

private:
    BodyFraming framing_;
    std::uint64_t left_;  // until the announced end, or until the limit
    std::uint64_t max_body_bytes_;
    ChunkedBody chunked_;
    bool too_large_;
};

}  // namespace palimpsest
