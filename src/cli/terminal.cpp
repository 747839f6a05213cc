#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/utf8.h"

namespace palimpsest {
namespace {

constexpr std::size_t buffer_bytes = 1u << 16;

char32_t decode(std::string_view sequence) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence.size() == 1) return byte(0);
    char32_t value = byte(0) & (0xffU >> (sequence.size() + 1));
    for (std::size_t i = 1; i < sequence.size(); ++i) value = (value << 6) | (byte(i) & 0x3fU);
    return value;
}

bool is_unsafe(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

std::string escape(char32_t c, bool as_json) {
    char text[16];
    const char* pattern = as_json || c > 0xff ? "\\u%04x" : "\\x%02x";
    std::snprintf(text, sizeof text, pattern, static_cast<unsigned>(c));
    return text;
}

enum class Breaks : unsigned char { to_spaces, kept };

std::string cleaned(std::string_view text, Breaks breaks, bool as_json) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
        text.remove_prefix(sequence.size());
        if (length == 0) {
            out += utf8_replacement;
            continue;
        }
        const char32_t c = decode(sequence);
        if (c == '\n' || c == '\t' || (c == '\r' && as_json))
            out += breaks == Breaks::kept ? static_cast<char>(c) : ' ';
        else if (is_unsafe(c))
            out += escape(c, as_json);
        else
            out += sequence;
    }
    return out;
}

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string printable(std::string_view text) {
    return cleaned(text, Breaks::to_spaces, false);
}

std::string printable_lines(std::string_view text) {
    return cleaned(text, Breaks::kept, false);
}

std::string printable_json(std::string_view json) {
    return cleaned(json, Breaks::to_spaces, true);
}

std::string clipped(std::string_view text, std::size_t columns) {
    // Four bytes a code point at most: what is further away need not be looked at.
    const std::size_t enough = columns > text.size() ? text.size() : columns * 4 + 4;
    std::string clean = printable(text.substr(0, enough));
    if (enough >= text.size() && columns_of(clean) <= columns) return clean;
    std::size_t end = 0;
    for (std::size_t shown = 0; shown + 1 < columns && end < clean.size(); ++shown)
        end += std::max<std::size_t>(1, utf8_length(std::string_view(clean).substr(end)));
    return clean.substr(0, end) + "…";
}

Output::Output(int descriptor) : descriptor_(descriptor), terminal_(isatty(descriptor) == 1) {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* kind = std::getenv("TERM");
    colour_ = terminal_ && !(no_colour && *no_colour) && kind && std::strcmp(kind, "dumb") != 0;
}

Output::~Output() {
    drain();
}

void Output::write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= buffer_bytes) drain();
}

void Output::line(std::string_view text) {
    write(text);
    write("\n");
}

void Output::json_line(std::string json) {
    if (terminal_) json = printable_json(json);
    // Outside strings these can only be white space; inside strings JSON has no raw ones.
    std::ranges::replace(json, '\n', ' ');
    std::ranges::replace(json, '\r', ' ');
    line(json);
}

void Output::drain() {
    std::string_view rest = buffer_;
    while (!rest.empty() && !closed_ && failure_ == 0) {
        const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
        if (count >= 0)
            rest.remove_prefix(static_cast<std::size_t>(count));
        else if (errno == EPIPE)
            closed_ = true;
        else if (errno != EINTR)
            failure_ = errno;
    }
    buffer_.clear();
}

Result<void> Output::flush() {
    drain();
    if (failure_ == 0) return {};
    const bool full = failure_ == ENOSPC || failure_ == EDQUOT;
    return fail(full ? ErrorCode::no_space : ErrorCode::unavailable,
                std::string("cannot write to the output: ") + std::strerror(failure_) +
                    "; what was asked for is done, its report is not complete");
}

std::size_t Output::width() const {
    winsize size{};
    if (!terminal_) return SIZE_MAX;
    if (ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

std::string Output::styled(Style style, std::string_view text) const {
    if (!colour_ || style == Style::plain) return std::string(text);
    return (style == Style::bold ? "\x1b[1m" : "\x1b[2m") + std::string(text) + "\x1b[0m";
}

void Table::print(Output& out) const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    std::vector<std::vector<std::string>> clean = rows_;
    for (auto& row : clean)
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = printable(row[i]);
            widths[i] = std::max(widths[i], columns_of(row[i]));
        }
    for (std::size_t r = 0; r < clean.size(); ++r) {
        std::string text;
        std::size_t used = 0;
        for (std::size_t i = 0; i < clean[r].size(); ++i) {
            const bool last = i + 1 == clean[r].size();
            const std::size_t room = out.width() > used ? out.width() - used : 1;
            const std::string cell = last ? clipped(clean[r][i], room) : clean[r][i];
            const std::size_t padding = last ? 0 : widths[i] - columns_of(cell);
            const bool right = r > 0 && !last && is_number(cell);
            text += right ? std::string(padding, ' ') + cell : cell + std::string(padding, ' ');
            if (!last) text += "  ";
            used += widths[i] + 2;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out.line(r == 0 ? out.styled(Style::bold, text) : text);
    }
}

}  // namespace palimpsest
