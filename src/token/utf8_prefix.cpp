#include "token/utf8_prefix.h"

#include "token/utf8_wide.h"

#include <cstdint>
#include <cstring>

namespace palimpsest {
namespace {

constexpr std::uint64_t high_bits = 0x8080808080808080;

std::uint64_t load8(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// long_char() for the leads without special cases, when four bytes can be read; 0 for all others.
inline std::size_t easy_char(const char* at) {
    const auto lead = static_cast<std::uint8_t>(at[0]);
    const bool second = (at[1] & 0xC0) == 0x80, third = (at[2] & 0xC0) == 0x80;
    if (lead >= 0xC2 && lead < 0xE0) return second ? 2 : 0;
    if (lead > 0xE0 && lead < 0xF0 && lead != 0xED) return second && third ? 3 : 0;
    return 0;
}

// The size of the well-formed character that starts with a byte of 0x80 or more; 0 if there is
// none.
std::size_t long_char(const char* at, std::size_t left) {
    const auto byte = [&](std::size_t i) {
        return i < left ? static_cast<std::uint8_t>(at[i]) : std::uint8_t{0};
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const std::uint8_t lead = byte(0);
    if (lead < 0xC2 || lead > 0xF4) return 0;
    if (lead < 0xE0) return follows(1) ? 2 : 0;
    const std::uint8_t second = byte(1);
    if (lead < 0xF0) {
        const std::uint8_t least = lead == 0xE0 ? 0xA0 : 0x80, most = lead == 0xED ? 0x9F : 0xBF;
        return second >= least && second <= most && follows(2) ? 3 : 0;
    }
    const std::uint8_t least = lead == 0xF0 ? 0x90 : 0x80, most = lead == 0xF4 ? 0x8F : 0xBF;
    return second >= least && second <= most && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
    if (text.size() >= 64 && has_utf8_wide() && is_utf8_wide(text)) return text.size();
    const char* const data = text.data();
    const std::size_t size = text.size();
    std::size_t at = 0;
    while (at < size) {
        while (at + 32 <= size && ((load8(data + at) | load8(data + at + 8) |
                                    load8(data + at + 16) | load8(data + at + 24)) &
                                   high_bits) == 0)
            at += 32;
        while (at + 8 <= size && (load8(data + at) & high_bits) == 0) at += 8;
        while (at < size && static_cast<std::uint8_t>(data[at]) < 0x80) ++at;
        while (at < size && static_cast<std::uint8_t>(data[at]) >= 0x80) {
            std::size_t step = size - at >= 4 ? easy_char(data + at) : 0;
            if (step == 0) step = long_char(data + at, size - at);
            if (step == 0) return at;
            at += step;
        }
    }
    return size;
}

}  // namespace palimpsest
