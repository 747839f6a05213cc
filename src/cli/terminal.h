// What people see: text made safe for a terminal, tables, and the standard output itself.
//
// Invariant: no control byte of stored text reaches a terminal. Escape sequences, other controls
// (also the 8-bit ones) and marks that turn the direction of writing are shown as \x1b, \u202e;
// broken UTF-8 as U+FFFD. Colour and width exist only on a terminal, colour not with NO_COLOR.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

// On one line: newlines and tabs become spaces.
std::string printable(std::string_view text);
// Newlines and tabs stay.
std::string printable_lines(std::string_view text);
// At most `columns` code points, the last one an ellipsis when something was cut off.
std::string clipped(std::string_view text, std::size_t columns);
// JSON that holds no raw control character, the same value: for a terminal.
std::string printable_json(std::string_view json);

enum class Style : unsigned char { plain, bold, dim };

// The standard output, buffered. When the reader has gone (EPIPE) the rest is dropped silently and
// closed() says so; any other failure is kept for flush().
class Output {
public:
    explicit Output(int descriptor);
    ~Output();
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    void write(std::string_view text);
    void line(std::string_view text);
    void json_line(std::string json);  // newlines between tokens become spaces: one line each
    Result<void> flush();
    bool closed() const { return closed_; }

    bool is_terminal() const { return terminal_; }
    std::size_t width() const;  // columns; SIZE_MAX when it is no terminal
    std::string styled(Style style, std::string_view text) const;

private:
    void drain();
    int descriptor_;
    bool terminal_ = false, colour_ = false, closed_ = false;
    int failure_ = 0;
    std::string buffer_;
};

// Columns as wide as their widest cell; the last one is cut at the terminal's edge. Cells are made
// printable here. Numbers are set to the right.
class Table {
public:
    explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    void print(Output& out) const;

private:
    std::vector<std::vector<std::string>> rows_;  // the first one holds the titles
};

}  // namespace palimpsest
