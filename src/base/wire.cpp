#include "base/wire.h"

namespace palimpsest {

void WireWriter::fixed64(std::uint64_t value) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    out_.append(bytes, sizeof bytes);
}

void WireWriter::varint(std::uint64_t value) {
    while (value >= 0x80) {
        byte(static_cast<std::uint8_t>(value | 0x80));
        value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
}

void WireWriter::text(std::string_view value) {
    varint(value.size());
    bytes(value);
}

std::uint8_t WireReader::byte() {
    if (!ok_ || in_.empty()) {
        ok_ = false;
        return 0;
    }
    const auto value = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return value;
}

std::uint64_t WireReader::fixed64() {
    const std::string_view eight = bytes(8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < eight.size(); ++i)
        value |= std::uint64_t{static_cast<std::uint8_t>(eight[i])} << (8 * i);
    return value;
}

std::uint64_t WireReader::varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const std::uint8_t part = byte();
        if (shift == 63 && part > 1) ok_ = false;
        value |= std::uint64_t{part & 0x7fU} << shift;
        if (part < 0x80) return ok_ ? value : 0;
    }
    ok_ = false;
    return 0;
}

std::string_view WireReader::text() {
    return bytes(varint());
}

std::string_view WireReader::bytes(std::size_t count) {
    if (!ok_ || count > in_.size()) {
        ok_ = false;
        return {};
    }
    const std::string_view value = in_.substr(0, count);
    in_.remove_prefix(count);
    return value;
}

std::size_t WireReader::count(std::size_t least_bytes_each) {
    const std::uint64_t value = varint();
    if (value > in_.size() / least_bytes_each) ok_ = false;
    return ok_ ? value : 0;
}

}  // namespace palimpsest
