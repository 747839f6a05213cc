// What was typed at the prompt of a chat, kept over sittings.
//
// A file that only its owner may read: one JSON string a line, oldest first. Several programs may
// add to it at once. That it cannot be read or written disturbs nobody.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// What the setting `chat_history` means: a path, or "" for none. Without the setting the file is
// palimpsest/chat_history below XDG_STATE_HOME, or below ~/.local/state.
std::string history_file(
    std::string_view setting,
    const std::function<std::optional<std::string>(const std::string&)>& environment);

class InputHistory {
public:
    explicit InputHistory(std::string file) : file_(std::move(file)) {}  // "": nothing is kept
    // The newest ones, at most lines_max. A file that has grown far beyond that is shortened.
    std::vector<std::string> load() const;
    void add(std::string_view line) const;

    static constexpr std::size_t lines_max = 1000;

private:
    void shorten(const std::vector<std::string>& lines) const;
    std::string file_;
};

}  // namespace palimpsest
