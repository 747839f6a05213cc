// The calls to the file system that the files store makes, each whole or an error that names the
// file. Interrupted and short calls are carried on; a failed sync is never repeated on the same
// bytes (the kernel may have dropped them): who gets one writes them anew.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest {

class DiskFile {
public:
    enum class Mode : std::uint8_t { read, write, create };  // create: made when absent, mode 0600
    // Without `syncs`, sync() does nothing.
    static Result<DiskFile> open(const std::string& path, Mode mode, bool syncs = true);

    DiskFile() = default;
    DiskFile(DiskFile&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), syncs_(other.syncs_) {}
    DiskFile& operator=(DiskFile&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(path_, other.path_);
        std::swap(syncs_, other.syncs_);
        return *this;
    }
    ~DiskFile();

    bool is_open() const { return fd_ >= 0; }
    const std::string& path() const { return path_; }
    Result<std::uint64_t> size() const;
    Result<void> write(std::uint64_t at, std::string_view bytes);
    // At most `size` bytes from `at`: fewer only where the file ends.
    Result<std::string> read(std::uint64_t at, std::size_t size) const;
    Result<void> sync();
    Result<void> cut(std::uint64_t size);

private:
    DiskFile(int fd, std::string path, bool syncs)
        : fd_(fd), path_(std::move(path)), syncs_(syncs) {}
    int fd_ = -1;
    std::string path_;
    bool syncs_ = true;
};

Result<void> sync_folder(const std::string& path);
// With its entry in the folder above synced.
Result<void> make_folder(const std::string& path, bool syncs = true);
Result<void> rename_file(const std::string& from, const std::string& to);
// A new file, synced, that only its owner may read.
Result<void> copy_file(const std::string& from, const std::string& to);
// Fine when it is not there.
Result<void> remove_file(const std::string& path);

}  // namespace palimpsest
