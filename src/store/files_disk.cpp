#include "store/files_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "store/store_lock.h"

namespace palimpsest {
namespace {

std::unexpected<Error> failed(const std::string& path, std::string_view what) {
    const int number = errno;
    std::string message = path + ": " + std::string(what) + ": " + std::strerror(number);
    if (number == ENOSPC || number == EDQUOT)
        message += "; free some space on the disk of the store";
    return fail(code_of_errno(number), std::move(message));
}

}  // namespace

Result<DiskFile> DiskFile::open(const std::string& path, Mode mode, bool syncs) {
    const int access = mode == Mode::read ? O_RDONLY : O_RDWR;
    const int create = mode == Mode::create ? O_CREAT : 0;
    const int fd = ::open(path.c_str(), access | create | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return failed(path, "cannot be opened");
    return DiskFile(fd, path, syncs);
}

DiskFile::~DiskFile() {
    if (fd_ >= 0) ::close(fd_);
}

Result<std::uint64_t> DiskFile::size() const {
    struct stat found{};
    if (::fstat(fd_, &found) != 0) return failed(path_, "cannot be looked at");
    return static_cast<std::uint64_t>(found.st_size);
}

Result<void> DiskFile::write(std::uint64_t at, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return failed(path_, "cannot be written");
        at += static_cast<std::uint64_t>(done);
        bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
}

Result<std::string> DiskFile::read(std::uint64_t at, std::size_t size) const {
    std::string bytes(size, '\0');
    std::size_t have = 0;
    while (have < size) {
        const ssize_t got =
            ::pread(fd_, bytes.data() + have, size - have, static_cast<off_t>(at + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed(path_, "cannot be read");
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

Result<void> DiskFile::sync() {
    if (!syncs_ || ::fdatasync(fd_) == 0) return {};
    return failed(path_, "cannot be synced");
}

Result<void> DiskFile::cut(std::uint64_t size) {
    if (::ftruncate(fd_, static_cast<off_t>(size)) == 0) return {};
    return failed(path_, "cannot be cut");
}

Result<void> sync_folder(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed(path, "cannot be opened");
    const int outcome = ::fsync(fd);
    const int number = errno;
    ::close(fd);
    errno = number;
    if (outcome == 0) return {};
    return failed(path, "cannot be synced");
}

Result<void> make_folder(const std::string& path, bool syncs) {
    if (::mkdir(path.c_str(), 0700) != 0) {
        if (errno == EEXIST) return {};
        return failed(path, "cannot be made");
    }
    if (!syncs) return {};
    const std::size_t slash = path.rfind('/');
    return sync_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Result<void> rename_file(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return failed(from, "cannot be renamed");
}

Result<void> copy_file(const std::string& from, const std::string& to) {
    constexpr std::size_t piece = 1 << 20;
    PAL_TRY(source, DiskFile::open(from, DiskFile::Mode::read));
    PAL_TRY(target, DiskFile::open(to, DiskFile::Mode::create));
    for (std::uint64_t at = 0;;) {
        PAL_TRY(bytes, source.read(at, piece));
        PAL_CHECK(target.write(at, bytes));
        at += bytes.size();
        if (bytes.size() < piece) return target.sync();
    }
}

Result<void> remove_file(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return failed(path, "cannot be removed");
}

}  // namespace palimpsest
