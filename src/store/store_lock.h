// One process at a time on one store: a lock file held with flock, PATH.lock beside a file,
// PATH/lock inside of a folder, which can be reached by several names (mounts) and whose parent may
// be others'.
//
// The file says who holds it, so that others can go through the holder or name it. The lock, not
// the file, is what counts: it ends with its process, however that ends, and a file that a dead
// process left is taken over. Only the owner of the file may read it: it has the holder's token.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

struct LockInfo {
    std::int64_t pid = 0;
    std::string program = {};  // "pal serve"
    std::string address = {};  // "127.0.0.1:7420"; empty: it cannot be reached
    std::string token = {};    // to be shown to that address
    Time since = {};
};

// What a failed call on a file means: `forbidden`, `not_found`, `invalid_request` (there is
// something else), `no_space`, or `unavailable`, when trying again may help.
ErrorCode code_of_errno(int number);

// The one name of a file, however it is reached: symbolic links and relative paths are resolved.
// The file itself need not exist, its folder must.
Result<std::string> canonical_path(const std::string& path);

// Who holds the file now; nothing: nobody does. `path` is the store's, not the lock's.
Result<std::optional<LockInfo>> read_lock_info(const std::string& path);

class StoreLock {
public:
    // `unavailable`, naming the holder, when it is held; also by this process.
    static Result<StoreLock> take(const std::string& path, const LockInfo& info);
    // Holds the file itself too: a hard link is another name of it, with another lock beside it.
    // The descriptor must outlive every other one of the file, or their locks end with it.
    Result<void> hold_file(const std::string& path);
    // `unavailable` when the store was moved, removed or replaced since: whatever is written now
    // would be lost.
    Result<void> check_in_place() const;
    StoreLock(StoreLock&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)),
          file_fd_(std::exchange(other.file_fd_, -1)),
          path_(std::move(other.path_)),
          file_path_(std::move(other.file_path_)),
          device_(other.device_),
          inode_(other.inode_) {}
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;
    ~StoreLock();

private:
    void remember(int fd);
    StoreLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    int fd_;
    int file_fd_ = -1;
    std::string path_;       // of the lock file
    std::string file_path_;  // of the file that is held, if one is
    // Which file must be in place: the one that is held, or the lock.
    std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace palimpsest
