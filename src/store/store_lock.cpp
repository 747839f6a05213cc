#include "store/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/json.h"
#include "base/json_write.h"
#include "base/time.h"

namespace palimpsest {
namespace {

// Whoever only looks who holds a lock has it for a moment, and a new holder needs a moment to write
// its name: both are waited for.
constexpr int attempts = 10;
constexpr auto pause_between = std::chrono::milliseconds(10);
constexpr std::size_t lock_bytes_max = 4096;

// A descriptor that is closed when it goes, unless it was released.
class OpenFile {
public:
    explicit OpenFile(int fd) : fd_(fd) {}
    ~OpenFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

std::string lock_path(const std::string& path) {
    std::error_code ignored;
    return path + (std::filesystem::is_directory(path, ignored) ? "/lock" : ".lock");
}

std::string write_info(const LockInfo& info) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("pid").number(info.pid).field("program", info.program);
    json.field("address", info.address).field("token", info.token);
    json.field("since", format_time(info.since)).end_object();
    return out + "\n";
}

std::string text_of(const JsonValue& object, std::string_view key) {
    const std::optional<JsonValue> value = object.find(key);
    return value ? std::string(value->string()) : std::string();
}

std::optional<LockInfo> parse_info(std::string_view text) {
    const Result<JsonDocument> document = parse_json(text);
    if (!document) return {};
    const JsonValue root = document->root();
    const std::optional<JsonValue> pid = root.find("pid");
    if (!pid || !pid->integer()) return {};
    LockInfo info{.pid = *pid->integer(),
                  .program = text_of(root, "program"),
                  .address = text_of(root, "address"),
                  .token = text_of(root, "token")};
    info.since = parse_time(text_of(root, "since")).value_or(Time{});
    return info;
}

std::string read_all(int fd) {
    std::string text(lock_bytes_max, '\0');
    const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

std::string name_of(const std::optional<LockInfo>& info) {
    if (!info) return "another process";
    std::string name = info->program.empty() ? "a process" : info->program;
    name += " (pid " + std::to_string(info->pid);
    if (!info->address.empty()) name += ", " + info->address;
    return name + ")";
}

// The file that we locked may have been removed by its last holder meanwhile.
bool still_there(int fd, const std::string& path) {
    struct stat ours{}, found{};
    return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &found) == 0 &&
           ours.st_ino == found.st_ino && ours.st_dev == found.st_dev;
}

Result<void> write_all(int fd, std::string_view text) {
    const bool good = ::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) ==
                                                     static_cast<ssize_t>(text.size());
    if (good) return {};
    const int number = errno;
    return fail(code_of_errno(number),
                std::string("cannot write the lock file: ") + std::strerror(number) +
                    (number == ENOSPC ? "; free some space on the disk of the store" : ""));
}

}  // namespace

ErrorCode code_of_errno(int number) {
    switch (number) {
        case EACCES:
        case EPERM:
        case EROFS:
            return ErrorCode::forbidden;
        case ENOENT:
            return ErrorCode::not_found;
        case ENOTDIR:
        case EISDIR:
        case ELOOP:
        case ENAMETOOLONG:
        case EINVAL:
            return ErrorCode::invalid_request;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return ErrorCode::no_space;
        default:
            return ErrorCode::unavailable;
    }
}

Result<std::string> canonical_path(const std::string& path) {
    std::error_code error;
    std::filesystem::path whole = std::filesystem::absolute(path, error);
    if (!error && std::filesystem::exists(whole, error)) {
        whole = std::filesystem::canonical(whole, error);
    } else if (!error) {
        // A link to a file that is not there yet leads to where it will be.
        for (int links = 0; links < 40 && std::filesystem::is_symlink(whole); ++links)
            whole = whole.parent_path() / std::filesystem::read_symlink(whole, error);
        whole = std::filesystem::canonical(whole.parent_path(), error) / whole.filename();
    }
    if (!error && whole.has_filename()) return whole.string();
    return fail(error ? code_of_errno(error.value()) : ErrorCode::invalid_request,
                path + ": " + (error ? error.message() : "not the name of a file") +
                    "; the folder must exist");
}

Result<std::optional<LockInfo>> read_lock_info(const std::string& path) {
    PAL_TRY(whole, canonical_path(path));
    const std::string name = lock_path(whole);
    const OpenFile file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.get() < 0) {
        if (errno == ENOENT) return std::nullopt;
        return fail(code_of_errno(errno), name + ": " + std::strerror(errno));
    }
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
        if (std::optional<LockInfo> info = parse_info(read_all(file.get()))) return info;
        std::this_thread::sleep_for(pause_between);
    }
    return fail(ErrorCode::unavailable, name + " is held, and does not say by whom");
}

Result<StoreLock> StoreLock::take(const std::string& path, const LockInfo& info) {
    PAL_TRY(whole, canonical_path(path));
    const std::string name = lock_path(whole);
    std::optional<LockInfo> holder;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        OpenFile file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (file.get() < 0)
            return fail(code_of_errno(errno), name + ": " + std::strerror(errno) +
                                                  "; the folder of a store must be writable");
        if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
            if (!still_there(file.get(), name)) continue;
            StoreLock lock(file.release(), name);
            lock.remember(lock.fd_);
            PAL_CHECK(write_all(lock.fd_, write_info(info)));
            return lock;
        }
        holder = parse_info(read_all(file.get()));
        std::this_thread::sleep_for(pause_between);
    }
    return fail(ErrorCode::unavailable,
                whole + " is held by " + name_of(holder) +
                    (holder && !holder->address.empty()
                         ? ": this needs the store for itself; end that first, or use another store"
                         : ", which takes no commands for it: end it first, or use another store"));
}

Result<void> StoreLock::hold_file(const std::string& path) {
    OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return {};  // Whoever opens it in earnest says why it cannot be.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorCode::unavailable,
                    path + " is in use under another name (a hard link); use that one");
    file_fd_ = file.release();
    file_path_ = path;
    remember(file_fd_);
    return {};
}

void StoreLock::remember(int fd) {
    struct stat found{};
    if (::fstat(fd, &found) != 0) return;
    device_ = found.st_dev;
    inode_ = found.st_ino;
}

Result<void> StoreLock::check_in_place() const {
    const std::string& path = file_fd_ < 0 ? path_ : file_path_;
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0 && found.st_ino == inode_ && found.st_dev == device_)
        return {};
    return fail(ErrorCode::unavailable,
                path +
                    " was moved, removed or replaced while this process has the store open; "
                    "nothing is written any more: put it back, then start the program again");
}

StoreLock::~StoreLock() {
    if (fd_ < 0) return;
    if (file_fd_ >= 0) ::close(file_fd_);
    ::unlink(path_.c_str());
    ::close(fd_);
}

}  // namespace palimpsest
