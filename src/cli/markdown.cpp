#include "cli/markdown.h"

#include <utility>

namespace palimpsest {
namespace {

constexpr std::string_view plain = "\x1b[0m", bold = "\x1b[1m", dim = "\x1b[2m";
constexpr std::string_view fence = "```";

// Whether more could still make it a mark that begins a line.
bool may_begin(std::string_view held) {
    return fence.starts_with(held) || held == "-" || held == "*" ||
           (held.size() <= 6 && held.find_first_not_of('#') == held.npos);
}

}  // namespace

void MarkdownStream::write(std::string_view text) {
    if (out_.styled(Style::bold, "x") == "x") {
        out_.write(text);
        return;
    }
    for (const char c : text) take(c);
    out_.write(ready_);
    ready_.clear();
}

void MarkdownStream::end() {
    ready_ += held_;
    held_.clear();
    fenced_ = fence_line_ = heading_ = strong_ = code_ = false;
    if (!ready_.empty() || out_.styled(Style::bold, "x") != "x")
        out_.write(ready_ + std::string(plain));
    ready_.clear();
    at_start_ = true;
}

void MarkdownStream::set_style() {
    ready_ += plain;
    if (fenced_ || code_)
        ready_ += dim;
    else if (heading_ || strong_)
        ready_ += bold;
}

void MarkdownStream::take(char c) {
    if (c == '\n') {
        if (!fence_line_) ready_ += held_;
        held_.clear();
        // Marks are closed at the end of a line: a lone one must not colour the rest.
        const bool styled = heading_ || strong_ || code_ || fence_line_;
        heading_ = strong_ = code_ = false;
        if (styled) set_style();
        if (!fence_line_) ready_ += c;
        fence_line_ = false;
        at_start_ = true;
        return;
    }
    if (fence_line_) return;  // ```python
    if (!at_start_) return take_in_line(c);
    held_ += c;
    if (fenced_ ? fence.starts_with(held_) : may_begin(held_)) {
        if (held_ != fence) return;
        fenced_ = !fenced_;
        fence_line_ = true;
        held_.clear();
        set_style();
        return;
    }
    begin_line();
}

// `held_` is the beginning of a line that is no fence.
void MarkdownStream::begin_line() {
    at_start_ = false;
    const std::string line = std::exchange(held_, {});
    if (!fenced_ && line.starts_with('#') && line.ends_with(' ')) {
        heading_ = true;
        return set_style();
    }
    if (!fenced_ && (line == "- " || line == "* ")) {
        ready_ += "• ";
        return;
    }
    for (const char c : line) take_in_line(c);
}

void MarkdownStream::take_in_line(char c) {
    if (fenced_) {
        ready_ += c;
        return;
    }
    if (held_ == "*") {
        held_.clear();
        if (c == '*' && !code_) {
            strong_ = !strong_;
            return set_style();
        }
        ready_ += '*';
    }
    if (c == '`') {
        code_ = !code_;
        return set_style();
    }
    if (c == '*' && !code_)
        held_ = "*";
    else
        ready_ += c;
}

}  // namespace palimpsest
