#include "cli/line_buffer.h"

#include <algorithm>

#include "base/utf8.h"

namespace palimpsest {
namespace {

bool is_inside(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

char32_t decode(std::string_view sequence) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence.size() == 1) return byte(0);
    char32_t value = byte(0) & (0xffU >> (sequence.size() + 1));
    for (std::size_t i = 1; i < sequence.size(); ++i) value = (value << 6) | (byte(i) & 0x3fU);
    return value;
}

// East Asian letters and pictures; marks that stand on the letter before take nothing.
std::size_t columns_of(char32_t c) {
    if ((c >= 0x300 && c <= 0x36f) || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f)) return 0;
    const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                      (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                      (c >= 0xfe30 && c <= 0xfe4f) || (c >= 0xff00 && c <= 0xff60) ||
                      (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
    return wide ? 2 : 1;
}

}  // namespace

std::size_t columns_of_text(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        columns += length == 0 ? 1 : columns_of(decode(text.substr(0, length)));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return columns;
}

TextPlace place_text(std::string_view text, std::size_t cursor, std::size_t prompt_columns,
                     std::size_t width) {
    TextPlace place{.rows = 0};
    width = std::max<std::size_t>(width, 1);
    for (std::size_t from = 0;;) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        if (cursor >= from && cursor <= to) {
            const std::size_t at =
                prompt_columns + columns_of_text(text.substr(from, cursor - from));
            place.row = place.rows + at / width;
            place.column = at % width;
        }
        // A full line ends with the cursor on the next row.
        place.rows += (prompt_columns + columns_of_text(text.substr(from, to - from))) / width + 1;
        if (to == text.size()) return place;
        from = to + 1;
    }
}

void LineBuffer::set(std::string text) {
    text_ = std::move(text);
    cursor_ = text_.size();
}

void LineBuffer::insert(std::string_view text) {
    text_.insert(cursor_, text);
    cursor_ += text.size();
}

void LineBuffer::left() {
    if (cursor_ == 0) return;
    do --cursor_;
    while (cursor_ > 0 && is_inside(text_[cursor_]));
}

void LineBuffer::right() {
    if (cursor_ == text_.size()) return;
    do ++cursor_;
    while (cursor_ < text_.size() && is_inside(text_[cursor_]));
}

void LineBuffer::erase_before() {
    const std::size_t end = cursor_;
    left();
    text_.erase(cursor_, end - cursor_);
}

void LineBuffer::erase_at() {
    const std::size_t start = cursor_;
    right();
    text_.erase(start, cursor_ - start);
    cursor_ = start;
}

void LineBuffer::erase_word() {
    const std::size_t end = cursor_;
    const auto blank = [&] { return text_[cursor_ - 1] == ' ' || text_[cursor_ - 1] == '\n'; };
    while (cursor_ > 0 && blank()) left();
    while (cursor_ > 0 && !blank()) left();
    text_.erase(cursor_, end - cursor_);
}

std::size_t LineBuffer::line_start(std::size_t at) const {
    const std::size_t before = at == 0 ? text_.npos : text_.rfind('\n', at - 1);
    return before == text_.npos ? 0 : before + 1;
}

std::size_t LineBuffer::line_end(std::size_t at) const {
    return std::min(text_.find('\n', at), text_.size());
}

void LineBuffer::erase_to_start() {
    const std::size_t start = line_start(cursor_);
    text_.erase(start, cursor_ - start);
    cursor_ = start;
}

void LineBuffer::erase_to_end() {
    text_.erase(cursor_, line_end(cursor_) - cursor_);
}

void LineBuffer::home() {
    cursor_ = line_start(cursor_);
}

void LineBuffer::end() {
    cursor_ = line_end(cursor_);
}

std::size_t LineBuffer::column() const {
    const std::size_t start = line_start(cursor_);
    return columns_of_text(std::string_view(text_).substr(start, cursor_ - start));
}

void LineBuffer::go_to_column(std::size_t line, std::size_t column) {
    const std::size_t end = line_end(line);
    cursor_ = line;
    while (cursor_ < end &&
           columns_of_text(std::string_view(text_).substr(line, cursor_ - line)) < column)
        right();
}

bool LineBuffer::up() {
    const std::size_t start = line_start(cursor_);
    if (start == 0) return false;
    go_to_column(line_start(start - 1), column());
    return true;
}

bool LineBuffer::down() {
    const std::size_t end = line_end(cursor_);
    if (end == text_.size()) return false;
    go_to_column(end + 1, column());
    return true;
}

}  // namespace palimpsest
