#include "base/json_write.h"

#include <charconv>
#include <cmath>

#include "base/json_scan.h"
#include "base/utf8.h"

namespace palimpsest {
namespace {

// What a character of a string is written as: 0 as it is, 'u' as \u00XX, 1 is a lead byte of
// UTF-8, else the letter after the backslash.
constexpr char escape_of(unsigned char c) {
    switch (c) {
        case '"':
            return '"';
        case '\\':
            return '\\';
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return c < 0x20 ? 'u' : c >= 0x80 ? '\1' : '\0';
    }
}

struct EscapeTable {
    char of[256] = {};
    constexpr EscapeTable() {
        for (unsigned c = 0; c < 256; ++c) of[c] = escape_of(static_cast<unsigned char>(c));
    }
};
constexpr EscapeTable escapes;

template <class Number>
void append_number(std::string& out, Number value) {
    char digits[40];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    static const SkipPlain skip_far = widest_skip_plain();
    const char* const end = text.data() + text.size();
    const char* done = text.data();
    const char* at = skip_plain(done, end, skip_far);
    if (at == end) {
        const std::size_t place = out.size();
        out.append(text.size() + 2, '"');
        text.copy(out.data() + place + 1, text.size());
        return;
    }
    out += '"';
    for (; at < end; at = skip_plain(at, end, skip_far)) {
        const auto c = static_cast<unsigned char>(*at);
        const char escape = escapes.of[c];
        const std::size_t whole =
            escape == '\1' ? utf8_length({at, static_cast<std::size_t>(end - at)}) : 0;
        if (whole > 0) {
            at += whole;
            continue;
        }
        out.append(done, at);
        if (escape == '\1') {
            out += utf8_replacement;
        } else if (escape == 'u') {
            constexpr char hex[] = "0123456789abcdef";
            out.append("\\u00").append(1, hex[c >> 4]).append(1, hex[c & 15]);
        } else {
            out.append(1, '\\').append(1, escape);
        }
        done = ++at;
    }
    out.append(done, end);
    out += '"';
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    out_ += bracket;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_ += ':';
    return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
    separate();
    append_json_string(out_, text);
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
    separate();
    append_number(out_, value);
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
    separate();
    append_number(out_, value);
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::number(double value) {
    if (!std::isfinite(value)) return null();
    separate();
    append_number(out_, value);
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    out_ += json;
    comma_ = true;
    return *this;
}

}  // namespace palimpsest
