#include "net/body.h"

#include <algorithm>
#include <charconv>

namespace palimpsest {
namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t max_extension_bytes = 16 * 1024;
constexpr std::size_t max_trailer_bytes = 16 * 1024;

std::unexpected<HttpFault> refuse(int status, std::string message) {
    return std::unexpected(HttpFault{status, std::move(message)});
}

std::unexpected<HttpFault> too_large(std::uint64_t most) {
    return refuse(
        413, "the body is larger than accepted here: at most " + std::to_string(most) + " bytes");
}

}  // namespace

// Moves bytes up to LF into line_. True: line_ is complete, without its CRLF.
std::expected<bool, HttpFault> ChunkedBody::take_line(std::string_view& bytes) {
    const std::size_t lf = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, lf == std::string_view::npos ? lf : lf + 1);
    if (line_.size() + piece.size() > max_line_bytes)
        return refuse(400, "a line of the chunked body is too long");
    line_ += piece;
    bytes.remove_prefix(piece.size());
    // A CR may only be followed by LF; checked before the line is complete, so that it cannot
    // stall.
    const std::size_t cr = line_.find('\r');
    if (cr != std::string::npos && cr + 2 < line_.size())
        return refuse(400, "a line of the chunked body holds a bare CR");
    if (cr != std::string::npos && cr + 2 == line_.size() && line_.back() != '\n')
        return refuse(400, "a line of the chunked body holds a bare CR");
    if (lf == std::string_view::npos) return false;
    if (cr == std::string::npos) return refuse(400, "a line of the chunked body ends in a bare LF");
    line_.resize(cr);
    return true;
}

std::expected<void, HttpFault> ChunkedBody::use_size_line() {
    const std::string_view line = line_;
    const std::string_view digits = line.substr(0, line.find(';'));
    const std::string_view extension = line.substr(digits.size());
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, left_, 16);
    if (digits.empty() || digits.size() > 15 || digits[0] == '-' || stop != end ||
        error != std::errc())
        return refuse(400, "the size of a chunk is not a hex number");
    extension_bytes_ += extension.size();
    if (extension_bytes_ > max_extension_bytes) return refuse(400, "chunk extensions are too long");
    const bool control = std::any_of(extension.begin(), extension.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    });
    if (control) return refuse(400, "a chunk extension holds a control character");
    total_ += left_;
    if (total_ > max_body_bytes_) return too_large(max_body_bytes_);
    state_ = left_ == 0 ? State::trailers : State::content;
    return {};
}

std::expected<void, HttpFault> ChunkedBody::use_line() {
    if (state_ == State::size_line) return use_size_line();
    if (state_ == State::content_end) {
        if (!line_.empty()) return refuse(400, "a chunk is longer than its size says");
        state_ = State::size_line;
        return {};
    }
    if (line_.empty()) {
        state_ = State::done;
        return {};
    }
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > max_trailer_bytes) return refuse(431, "the trailers are too long");
    if (auto field = parse_field_line(line_); !field)
        return std::unexpected(std::move(field).error());
    return {};
}

std::expected<std::size_t, HttpFault> ChunkedBody::take(std::string_view bytes, std::string& body) {
    const std::size_t given = bytes.size();
    while (!bytes.empty() && state_ != State::done) {
        if (state_ == State::content) {
            const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
            body.append(bytes.substr(0, n));
            bytes.remove_prefix(n);
            left_ -= n;
            if (left_ == 0) state_ = State::content_end;
            continue;
        }
        auto complete = take_line(bytes);
        if (!complete) return std::unexpected(std::move(complete).error());
        if (!*complete) break;
        if (auto used = use_line(); !used) return std::unexpected(std::move(used).error());
        line_.clear();
    }
    return given - bytes.size();
}

BodyReader::BodyReader(BodyFraming framing, std::uint64_t body_bytes, std::uint64_t max_body_bytes)
    : framing_(framing),
      left_(framing == BodyFraming::length ? body_bytes : max_body_bytes),
      max_body_bytes_(max_body_bytes),
      chunked_(max_body_bytes),
      too_large_(framing == BodyFraming::length && body_bytes > max_body_bytes) {}

std::expected<void, HttpFault> BodyReader::take(std::string& in, std::string& body) {
    if (too_large_) return too_large(max_body_bytes_);
    if (framing_ == BodyFraming::none) return {};
    if (framing_ == BodyFraming::chunked) {
        auto taken = chunked_.take(in, body);
        if (!taken) return std::unexpected(std::move(taken).error());
        in.erase(0, *taken);
        return {};
    }
    if (framing_ == BodyFraming::until_close && in.size() > left_)
        return too_large(max_body_bytes_);
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
    body.append(in, 0, taken);
    in.erase(0, taken);
    left_ -= taken;
    return {};
}

bool BodyReader::done() const {
    if (framing_ == BodyFraming::chunked) return chunked_.done();
    return framing_ == BodyFraming::none || (framing_ == BodyFraming::length && left_ == 0);
}

}  // namespace palimpsest
