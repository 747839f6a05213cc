// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

// The length (1 to 4) of the sequence that `text` begins with; 0 when it is broken or empty.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// The longest prefix of at most `bytes` bytes that does not cut a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);
// The longest suffix of at most `bytes` bytes that does not cut a code point.
std::string_view utf8_suffix(std::string_view text, std::size_t bytes);

// Appends one code point; a surrogate or a value above U+10FFFF becomes U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

// The same text with every broken byte replaced by U+FFFD.
std::string to_utf8(std::string_view bytes);

constexpr std::string_view utf8_replacement = "\xef\xbf\xbd";

}  // namespace palimpsest
