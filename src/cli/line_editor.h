// A line of input at a terminal: keys, history, several lines in one message.
//
// Enter ends the message; Alt-Enter or Ctrl-J begins a new line in it, and what is pasted keeps its
// lines. Arrows, Home, End, Ctrl-A, E, B, F, U, K and W do what they do elsewhere; up and down go
// through what was typed before, also in earlier sittings. What is typed while an answer comes
// waits, unseen, for the next prompt. The terminal is put back as it was in the end.
#pragma once
#include <termios.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/input_history.h"
#include "cli/line_buffer.h"
#include "cli/terminal.h"

namespace palimpsest {

class LineEditor {
public:
    // Reads the standard input; `out` is a terminal. Changes nothing if the input is none.
    LineEditor(Output& out, InputHistory kept);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    // None: end of input, or Ctrl-C with nothing typed. Ctrl-C takes back what is typed.
    std::optional<std::string> read(std::string_view prompt);
    bool was_interrupted() const { return interrupted_; }  // by Ctrl-C

private:
    enum class Step : unsigned char { more, done, ended };
    Step take(unsigned char byte);
    Step take_escape();
    void take_paste();
    void take_arrow(char kind);
    void browse(int step);
    bool next(unsigned char& byte);     // false: end of input
    bool is_waiting(int milliseconds);  // a byte is there, or comes so soon
    void set_mode(bool signals) const;  // whether Ctrl-C is a signal or a key
    void show(std::string_view prompt);
    void leave();  // the cursor goes below the text

    Output& out_;
    std::optional<termios> before_ = {};
    LineBuffer line_;
    const InputHistory kept_;
    std::vector<std::string> history_;
    std::size_t at_ = 0;      // place in the history; its size: what is being typed
    std::string typed_ = {};  // while the history is looked at
    std::string bytes_ = {};  // read ahead
    TextPlace shown_ = {};
    bool interrupted_ = false;
};

}  // namespace palimpsest
