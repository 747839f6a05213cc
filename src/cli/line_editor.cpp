#include "cli/line_editor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/utf8.h"

namespace palimpsest {
namespace {

constexpr std::string_view paste_begin = "200~", paste_end = "\x1b[201~";
constexpr std::string_view continued = ". ";
constexpr int escape_wait_ms = 50;

constexpr unsigned char control(char letter) {
    return static_cast<unsigned char>(letter) & 0x1fU;
}

}  // namespace

LineEditor::LineEditor(Output& out, InputHistory kept) : out_(out), kept_(std::move(kept)) {
    termios now{};
    if (!out.is_terminal() || tcgetattr(STDIN_FILENO, &now) != 0) return;
    before_ = now;
    history_ = kept_.load();
    set_mode(true);
}

LineEditor::~LineEditor() {
    if (before_) tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
}

// Keys come one by one and are not echoed.
void LineEditor::set_mode(bool signals) const {
    if (!before_) return;
    termios raw = *before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    if (!signals) raw.c_lflag &= ~static_cast<tcflag_t>(ISIG);
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

bool LineEditor::is_waiting(int milliseconds) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return !bytes_.empty() || ::poll(&input, 1, milliseconds) > 0;
}

bool LineEditor::next(unsigned char& byte) {
    while (bytes_.empty()) {
        char read[1024];
        const ssize_t count = ::read(STDIN_FILENO, read, sizeof read);
        if (count == 0 || (count < 0 && errno != EINTR)) return false;
        if (count > 0) bytes_.assign(read, static_cast<std::size_t>(count));
    }
    byte = static_cast<unsigned char>(bytes_.front());
    bytes_.erase(0, 1);
    return true;
}

std::optional<std::string> LineEditor::read(std::string_view prompt) {
    set_mode(false);
    line_.set({});
    shown_ = {};
    at_ = history_.size();
    out_.write("\x1b[?2004h");
    Step step = Step::more;
    while (step == Step::more) {
        if (bytes_.empty()) show(prompt);
        unsigned char byte = 0;
        step = next(byte) ? take(byte) : Step::ended;
    }
    show(prompt);
    leave();
    out_.write("\x1b[?2004l");
    (void)out_.flush();
    set_mode(true);
    if (step == Step::ended) return std::nullopt;
    if (!line_.empty() && (history_.empty() || history_.back() != line_.text())) {
        history_.push_back(line_.text());
        kept_.add(line_.text());
    }
    return line_.text();
}

LineEditor::Step LineEditor::take(unsigned char byte) {
    if (byte == '\r') return Step::done;
    if (byte == 0x1b) return take_escape();
    if (byte == control('C')) {
        interrupted_ = line_.empty();
        if (interrupted_) return Step::ended;
        line_.set({});
    } else if (byte == control('D')) {
        if (line_.empty()) return Step::ended;
        line_.erase_at();
    } else if (byte == control('J')) {
        line_.insert("\n");
    } else if (byte == 0x7f || byte == control('H')) {
        line_.erase_before();
    } else if (byte == control('A')) {
        line_.home();
    } else if (byte == control('E')) {
        line_.end();
    } else if (byte == control('B')) {
        line_.left();
    } else if (byte == control('F')) {
        line_.right();
    } else if (byte == control('U')) {
        line_.erase_to_start();
    } else if (byte == control('K')) {
        line_.erase_to_end();
    } else if (byte == control('W')) {
        line_.erase_word();
    } else if (byte == control('P') || byte == control('N')) {
        take_arrow(byte == control('P') ? 'A' : 'B');
    } else if (byte >= 0x20 || byte == '\t') {
        std::string letter(1, static_cast<char>(byte));
        // The rest of a code point.
        const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        while (letter.size() < length && next(byte)) letter += static_cast<char>(byte);
        line_.insert(to_utf8(letter));
    }
    return Step::more;
}

LineEditor::Step LineEditor::take_escape() {
    unsigned char byte = 0;
    if (!is_waiting(escape_wait_ms)) return Step::more;
    if (!next(byte)) return Step::ended;
    if (byte == '\r' || byte == '\n') {
        line_.insert("\n");
        return Step::more;
    }
    if (byte != '[' && byte != 'O') return Step::more;
    std::string rest;
    while (rest.size() < 8 && is_waiting(escape_wait_ms) && next(byte)) {
        rest += static_cast<char>(byte);
        if (byte >= 0x40 && byte <= 0x7e) break;
    }
    if (rest == paste_begin)
        take_paste();
    else if (rest == "3~")
        line_.erase_at();
    else if (rest == "H" || rest == "1~" || rest == "7~")
        line_.home();
    else if (rest == "F" || rest == "4~" || rest == "8~")
        line_.end();
    else if (rest.size() == 1)
        take_arrow(rest[0]);
    return Step::more;
}

// Everything up to the end mark is text, also what would be a key.
void LineEditor::take_paste() {
    std::string text;
    unsigned char byte = 0;
    while (!text.ends_with(paste_end) && next(byte)) text += static_cast<char>(byte);
    if (text.ends_with(paste_end)) text.resize(text.size() - paste_end.size());
    std::ranges::replace(text, '\r', '\n');
    std::erase_if(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    });
    line_.insert(to_utf8(text));
}

void LineEditor::take_arrow(char kind) {
    if (kind == 'C') line_.right();
    if (kind == 'D') line_.left();
    if (kind == 'A' && !line_.up()) browse(-1);
    if (kind == 'B' && !line_.down()) browse(1);
}

void LineEditor::browse(int step) {
    if (step < 0 ? at_ == 0 : at_ == history_.size()) return;
    if (at_ == history_.size()) typed_ = line_.text();
    at_ = step < 0 ? at_ - 1 : at_ + 1;
    line_.set(at_ == history_.size() ? typed_ : history_[at_]);
}

void LineEditor::show(std::string_view prompt) {
    std::string text = "\r";
    if (shown_.row > 0) text += "\x1b[" + std::to_string(shown_.row) + "A";
    text += "\x1b[J" + out_.styled(Style::bold, prompt);
    for (const char c : printable_lines(line_.text())) {
        text += c == '\n' ? "\r\n" : std::string(1, c == '\t' ? ' ' : c);
        if (c == '\n') text += out_.styled(Style::bold, continued);
    }
    shown_ = place_text(line_.text(), line_.cursor(), columns_of_text(prompt), out_.width());
    const TextPlace end =
        place_text(line_.text(), line_.text().size(), columns_of_text(prompt), out_.width());
    // The terminal keeps the cursor in the last column until more comes.
    if (end.column == 0 && end.row > 0 && !line_.text().ends_with('\n')) text += "\r\n";
    text += "\r";
    if (end.row > shown_.row) text += "\x1b[" + std::to_string(end.row - shown_.row) + "A";
    if (shown_.column > 0) text += "\x1b[" + std::to_string(shown_.column) + "C";
    out_.write(text);
    (void)out_.flush();
}

void LineEditor::leave() {
    const std::size_t below = shown_.rows - 1 - shown_.row;
    if (below > 0) out_.write("\x1b[" + std::to_string(below) + "B");
    out_.write("\r\n");
}

}  // namespace palimpsest
