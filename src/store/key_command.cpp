#include "store/key_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

namespace palimpsest {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

std::unexpected<Error> no_key(std::string what) {
    return fail(ErrorCode::invalid_request, "the command for the encryption key " + what,
                "encryption_key");
}

// A child that is waited for, whatever happens; killed unless it has ended by itself.
class Child {
public:
    explicit Child(const std::string& command) {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
        out_ = ends[0];
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        std::string shell = "sh", flag = "-c", text = command;
        const std::array<char*, 4> words{shell.data(), flag.data(), text.data(), nullptr};
        if (::posix_spawn(&pid_, "/bin/sh", &actions, nullptr, words.data(), environ) != 0)
            pid_ = -1;
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
    }
    ~Child() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        close_out();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    bool started() const { return pid_ > 0; }
    int out() const { return out_; }
    void close_out() {
        if (out_ >= 0) ::close(out_);
        out_ = -1;
    }
    // Nothing: not yet.
    std::optional<int> status() {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_ = -1;
    int out_ = -1;
};

int left_until(SteadyTime end) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// What it prints until it has closed its output; nothing: not in time.
std::optional<std::string> read_until(int file, std::size_t bytes_max, SteadyTime end) {
    std::string text;
    while (text.size() < bytes_max) {
        pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&waiting, 1, left_until(end));
        if (ready == 0) return std::nullopt;
        std::array<char, 4096> part{};
        const ssize_t got =
            ::read(file, part.data(), std::min(part.size(), bytes_max - text.size()));
        if (got == 0) break;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
        if (got < 0 && errno != EINTR) break;
    }
    return text;
}

}  // namespace

Result<std::string> output_of_command(const std::string& command, std::size_t bytes_max,
                                      Duration patience) {
    const SteadyTime end = std::chrono::steady_clock::now() + patience;
    Child child(command);
    if (!child.started()) return no_key("cannot be started");
    const auto text = read_until(child.out(), bytes_max, end);
    child.close_out();  // One that goes on printing ends by that.
    std::optional<int> status;
    while (text && !(status = child.status()) && left_until(end) > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!status)
        return fail(ErrorCode::unavailable,
                    "the command for the encryption key has not ended within " +
                        std::to_string(patience.count() / 1000) + " s, and was stopped",
                    "encryption_key");
    if (*status != 0) return no_key("failed with status " + std::to_string(*status));
    return *text;
}

}  // namespace palimpsest
