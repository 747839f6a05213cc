#include "core/shorten_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace palimpsest {
namespace {

constexpr std::string_view note_end = "\u27e7";

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

// A note of an earlier cut: where it stands in the text, with the line ends that were written
// around it, and what it says.
struct Note {
    std::size_t begin = 0, end = 0, own_lines = 0;
    std::size_t bytes = 0, of = 0, lines = 0;
};

// Reads numbers and the words between them; false where the text goes on otherwise.
bool take(std::string_view& text, std::string_view words) {
    if (!text.starts_with(words)) return false;
    text.remove_prefix(words.size());
    return true;
}

bool take(std::string_view& text, std::size_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

std::optional<Note> read_note(std::string_view text, std::size_t at) {
    Note note{.begin = at};
    std::string_view rest = text.substr(at);
    if (!take(rest, left_out_mark) || !take(rest, note.bytes) || !take(rest, " of ") ||
        !take(rest, note.of) || !take(rest, " bytes"))
        return std::nullopt;
    if (take(rest, ", ") && (!take(rest, note.lines) || !take(rest, " line ends")))
        return std::nullopt;
    if (!take(rest, note_end)) return std::nullopt;
    note.end = text.size() - rest.size();
    return note;
}

// A line end behind a note is always its own; the one before it is the text's if the head ended
// with it. Of a single note its numbers tell, of several it is taken for their own.
void take_line_ends(std::string_view text, std::vector<Note>& notes) {
    for (Note& note : notes) {
        if (note.end < text.size() && text[note.end] == '\n') ++note.end, ++note.own_lines;
        if (note.begin == 0 || text[note.begin - 1] != '\n') continue;
        const std::size_t said = text.size() - (note.end - note.begin) + note.bytes;
        if (notes.size() == 1 && said == note.of) continue;
        --note.begin, ++note.own_lines;
    }
}

std::vector<Note> read_notes(std::string_view text) {
    std::vector<Note> notes;
    for (std::size_t at = text.find(left_out_mark); at != text.npos;
         at = text.find(left_out_mark, at + 1))
        if (const auto note = read_note(text, at)) notes.push_back(*note);
    take_line_ends(text, notes);
    return notes;
}

// A text that may have been cut before. What notes say is missing is counted as if it were there.
class Text {
public:
    explicit Text(std::string_view text) : text_(text), notes_(read_notes(text)) {}

    std::string note(std::size_t from, std::size_t to) const {
        const Note gone = measure(from, to);
        std::string out = std::string(left_out_mark) + std::to_string(gone.bytes) + " of " +
                          std::to_string(measure(0, text_.size()).bytes) + " bytes";
        if (gone.lines > 0) out += ", " + std::to_string(gone.lines) + " line ends";
        return out + std::string(note_end);
    }

    std::string cut(std::size_t keep_bytes) const {
        std::size_t head = head_end(text_, keep_bytes - keep_bytes / 3);
        std::size_t tail = std::max(head, tail_start(text_, keep_bytes / 3));
        for (const Note& one : notes_) {  // None is cut, and none stands beside the new one.
            if (one.begin <= head && head <= one.end) head = one.begin;
            if (one.begin <= tail && tail <= one.end) tail = one.end;
        }
        std::string out(text_.substr(0, head));
        if (!out.empty() && out.back() != '\n') out += '\n';
        out += note(head, tail);
        if (tail < text_.size()) out += '\n';
        out += text_.substr(tail);
        return out;
    }

private:
    // Bytes and lines of a range that cuts through no note.
    Note measure(std::size_t from, std::size_t to) const {
        Note sum;
        sum.bytes = to - from;
        sum.lines =
            static_cast<std::size_t>(std::ranges::count(text_.substr(from, to - from), '\n'));
        for (const Note& one : notes_) {
            if (one.begin < from || one.end > to) continue;
            sum.bytes += one.bytes - (one.end - one.begin);
            sum.lines += one.lines - one.own_lines;
        }
        return sum;
    }

    std::string_view text_;
    std::vector<Note> notes_;
};

}  // namespace

std::string shorten_text(std::string_view text, std::size_t most,
                         const std::function<std::size_t(std::string_view)>& count) {
    // A token has a byte or more: what is not longer than the cap in bytes fits for sure.
    if (text.size() <= most || (text.size() <= most * 16 && count(text) <= most))
        return std::string(text);
    const Text whole(text);
    std::size_t keep = std::min(text.size() - 1, most * 4);
    for (;;) {
        std::string out = keep < 8 ? whole.note(0, text.size()) : whole.cut(keep);
        const std::size_t tokens = count(out);
        if (tokens <= most || keep < 8) return out;
        // By proportion, and a little less, so that it ends.
        keep = std::min(keep - keep / 8 - 1, keep * most / tokens);
    }
}

}  // namespace palimpsest
