#include "cli/input_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr mode_t owner_only = 0600;

// One write a line, so that lines of several programs do not mix.
bool write_private(const std::string& path, std::string_view text, int flags) {
    const int file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, owner_only);
    if (file < 0) return false;
    (void)::fchmod(file, owner_only);
    const ssize_t count = ::write(file, text.data(), text.size());
    ::close(file);
    return count == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string history_file(
    std::string_view setting,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
    if (setting == "none") return {};
    if (!setting.empty()) return std::string(setting);
    const std::string state = environment("XDG_STATE_HOME").value_or("");
    if (state.starts_with('/')) return state + "/palimpsest/chat_history";
    const std::string home = environment("HOME").value_or("");
    return home.starts_with('/') ? home + "/.local/state/palimpsest/chat_history" : "";
}

std::vector<std::string> InputHistory::load() const {
    std::vector<std::string> lines;
    if (file_.empty()) return lines;
    std::ifstream file(file_);
    for (std::string line; std::getline(file, line);)
        if (const auto text = parse_json(line); text && text->root().is_string())
            lines.emplace_back(text->root().string());
    const std::size_t found = lines.size();
    if (found > lines_max)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(lines_max));
    if (found > 2 * lines_max) shorten(lines);
    return lines;
}

void InputHistory::add(std::string_view line) const {
    if (file_.empty()) return;
    std::error_code ignored;
    const auto folder = std::filesystem::path(file_).parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
        std::filesystem::create_directories(folder, ignored);
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
    }
    (void)write_private(file_, json_string(line) + "\n", O_APPEND);
}

void InputHistory::shorten(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += json_string(line) + "\n";
    const std::string next = file_ + "." + std::to_string(::getpid());
    std::error_code ignored;
    if (write_private(next, text, O_TRUNC))
        std::filesystem::rename(next, file_, ignored);
    else
        std::filesystem::remove(next, ignored);
}

}  // namespace palimpsest
