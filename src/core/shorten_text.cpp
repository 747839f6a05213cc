#include "core/shorten_text.h"

#include <algorithm>

namespace palimpsest {
namespace {

// The nearest start of a code point at or before `at`.
std::size_t code_point_before(std::string_view text, std::size_t at) {
    while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
        --at;
    return at;
}

// The end of the head: behind a line end if one is in its last quarter.
std::size_t head_end(std::string_view text, std::size_t most) {
    const std::size_t end = code_point_before(text, std::min(most, text.size()));
    if (end == 0) return 0;
    const std::size_t line = text.rfind('\n', end - 1);
    return line != std::string_view::npos && line + 1 >= end - end / 4 ? line + 1 : end;
}

// The start of the tail: behind a line end if one is in its first quarter.
std::size_t tail_start(std::string_view text, std::size_t most) {
    const std::size_t nominal = text.size() - std::min(most, text.size());
    std::size_t start = nominal;
    while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) ++start;
    const std::size_t line = text.find('\n', start);
    return line != std::string_view::npos && line + 1 <= nominal + most / 4 ? line + 1 : start;
}

std::string note(std::string_view gone, std::size_t of) {
    const auto lines = std::count(gone.begin(), gone.end(), '\n');
    std::string text = std::string(left_out_mark) + std::to_string(gone.size()) + " of " +
                       std::to_string(of) + " bytes";
    if (lines > 0) text += ", " + std::to_string(lines) + " line ends";
    return text + "\u27e7";
}

std::string cut(std::string_view text, std::size_t keep_bytes) {
    const std::size_t head = head_end(text, keep_bytes - keep_bytes / 3);
    const std::size_t tail = std::max(head, tail_start(text, keep_bytes / 3));
    std::string out(text.substr(0, head));
    if (!out.empty() && out.back() != '\n') out += '\n';
    out += note(text.substr(head, tail - head), text.size());
    if (tail < text.size()) out += '\n';
    out += text.substr(tail);
    return out;
}

}  // namespace

std::string shorten_text(std::string_view text, std::size_t most,
                         const std::function<std::size_t(std::string_view)>& count) {
    // A token has a byte or more: what is not longer than the cap in bytes fits for sure.
    if (text.size() <= most || (text.size() <= most * 16 && count(text) <= most))
        return std::string(text);
    std::size_t keep = std::min(text.size() - 1, most * 4);
    for (;;) {
        std::string out = keep < 8 ? note(text, text.size()) : cut(text, keep);
        const std::size_t tokens = count(out);
        if (tokens <= most || keep < 8) return out;
        // By proportion, and a little less, so that it ends.
        keep = std::min(keep - keep / 8 - 1, keep * most / tokens);
    }
}

}  // namespace palimpsest
