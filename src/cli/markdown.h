// Markdown made readable on a terminal while it comes, piece by piece.
//
// Headings and **strong** words become bold, `code` and fenced code dim, and the marks go; bullets
// become dots. Everything else stays as it is. Where there is no colour nothing changes at all.
#pragma once
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace palimpsest {

class MarkdownStream {
public:
    explicit MarkdownStream(Output& out) : out_(out) {}
    void write(std::string_view text);  // printable text, whole code points
    void end();

private:
    void take(char c);
    void take_in_line(char c);
    void begin_line();
    void set_style();

    Output& out_;
    std::string held_ = {};   // a mark that is not complete
    std::string ready_ = {};  // styled, not written yet
    bool at_start_ = true;    // of a line
    bool fenced_ = false, fence_line_ = false, heading_ = false, strong_ = false, code_ = false;
};

}  // namespace palimpsest
