// Reading and writing the small binary records that stores keep: bytes, varints, counted strings.
// A reader never runs past its end: after the first fault every read gives zero and ok() is false.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

class WireWriter {
public:
    void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
    void fixed64(std::uint64_t value);  // little endian
    void varint(std::uint64_t value);   // 7 bits a byte, low first
    void text(std::string_view value);  // varint length, then the bytes
    void bytes(std::string_view value) { out_.append(value); }
    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

class WireReader {
public:
    explicit WireReader(std::string_view in) : in_(in) {}
    std::uint8_t byte();
    std::uint64_t fixed64();
    std::uint64_t varint();
    std::string_view text();
    std::string_view bytes(std::size_t count);
    // How many items to expect, refused when they could not fit into what is left.
    std::size_t count(std::size_t least_bytes_each);
    bool ok() const { return ok_; }
    bool done() const { return ok_ && in_.empty(); }
    std::size_t left() const { return in_.size(); }

private:
    std::string_view in_;
    bool ok_ = true;
};

}  // namespace palimpsest
