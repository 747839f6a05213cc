// A text that is being typed: the text, the cursor, and what keys do to them. Pure.
//
// Invariant: the cursor stands between whole code points.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace palimpsest {

class LineBuffer {
public:
    const std::string& text() const { return text_; }
    std::size_t cursor() const { return cursor_; }  // in bytes
    bool empty() const { return text_.empty(); }

    void set(std::string text);  // the cursor stands at its end
    void insert(std::string_view text);
    void erase_before();
    void erase_at();
    void erase_word();
    void erase_to_start();  // of the line
    void erase_to_end();
    void left();
    void right();
    void home();
    void end();
    // Within a text of several lines. False: there is no line there.
    bool up();
    bool down();

private:
    std::size_t line_start(std::size_t at) const;
    std::size_t line_end(std::size_t at) const;
    void go_to_column(std::size_t line, std::size_t column);
    std::size_t column() const;

    std::string text_;
    std::size_t cursor_ = 0;
};

// How many columns of a terminal a text without line breaks takes: wide letters take two.
std::size_t columns_of_text(std::string_view text);

// Where a text of several lines stands on a terminal of that width, each line behind a prompt of
// so many columns.
struct TextPlace {
    std::size_t rows = 1;
    std::size_t row = 0, column = 0;  // of the cursor
};
TextPlace place_text(std::string_view text, std::size_t cursor, std::size_t prompt_columns,
                     std::size_t width);

}  // namespace palimpsest
