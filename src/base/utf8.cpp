#include "base/utf8.h"

#include <cstring>

namespace palimpsest {
namespace {

constexpr bool is_tail(unsigned char byte) {
    return (byte & 0xc0U) == 0x80U;
}

// Second bytes are narrower after these leads: E0 and F0 (overlong), ED (surrogates), F4 (range).
bool second_fits(unsigned char lead, unsigned char second) {
    switch (lead) {
        case 0xe0:
            return second >= 0xa0 && second <= 0xbf;
        case 0xed:
            return second >= 0x80 && second <= 0x9f;
        case 0xf0:
            return second >= 0x90 && second <= 0xbf;
        case 0xf4:
            return second >= 0x80 && second <= 0x8f;
        default:
            return is_tail(second);
    }
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = at(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    if (!second_fits(lead, at(1))) return 0;
    for (std::size_t i = 2; i < length; ++i)
        if (!is_tail(at(i))) return 0;
    return length;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        std::uint64_t word = 0;
        if (text.size() >= sizeof word) {
            std::memcpy(&word, text.data(), sizeof word);
            if ((word & 0x8080808080808080U) == 0) {
                text.remove_prefix(sizeof word);
                continue;
            }
        }
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
    if (bytes >= text.size()) return text;
    while (bytes > 0 && is_tail(static_cast<unsigned char>(text[bytes]))) --bytes;
    return text.substr(0, bytes);
}

std::string_view utf8_suffix(std::string_view text, std::size_t bytes) {
    if (bytes >= text.size()) return text;
    std::size_t from = text.size() - bytes;
    while (from < text.size() && is_tail(static_cast<unsigned char>(text[from]))) ++from;
    return text.substr(from);
}

void append_utf8(std::string& out, char32_t code_point) {
    const auto tail = [&](unsigned shift) {
        out += static_cast<char>(0x80U | ((code_point >> shift) & 0x3fU));
    };
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) {
        out += utf8_replacement;
    } else if (code_point < 0x80) {
        out += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        out += static_cast<char>(0xc0U | (code_point >> 6));
        tail(0);
    } else if (code_point < 0x10000) {
        out += static_cast<char>(0xe0U | (code_point >> 12));
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xf0U | (code_point >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

std::string to_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t length = utf8_length(bytes);
        out += length ? bytes.substr(0, length) : utf8_replacement;
        bytes.remove_prefix(length ? length : 1);
    }
    return out;
}

}  // namespace palimpsest
