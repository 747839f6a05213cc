// Faults of the disk, planted into the program that includes this: the n-th call of a kind fails
// once. It defines write, pwrite, fsync, fdatasync and ftruncate, which the libraries that the
// program uses (SQLite among them) then call too.
//
// PAL_FAULT=OP:HOW:N with OP write, sync or truncate, HOW EIO, ENOSPC, SHORT (writes half) or
// KILL (SIGKILL before the call). PAL_FAULT_STICKY=1: all later calls fail too. Descriptors 0, 1
// and 2 are left alone.
#pragma once
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace failing_io {

enum Op { op_write, op_sync, op_truncate, op_count };
inline std::atomic<long> calls[op_count];
inline std::atomic<bool> armed = false;  // nothing is counted before

struct Plan {
    int op = -1;
    std::string how = {};
    long nth = 0;
    bool sticky = false;
};

inline const Plan& plan() {
    static const Plan planned = [] {
        Plan read;
        const char* text = std::getenv("PAL_FAULT");
        char op[16] = "", how[16] = "";
        if (!text || std::sscanf(text, "%15[^:]:%15[^:]:%ld", op, how, &read.nth) != 3) return read;
        constexpr const char* names[op_count] = {"write", "sync", "truncate"};
        for (int i = 0; i < op_count; ++i)
            if (std::strcmp(op, names[i]) == 0) read.op = i;
        read.how = how;
        read.sticky = std::getenv("PAL_FAULT_STICKY") != nullptr;
        return read;
    }();
    return planned;
}

// The errno to fail with, 0 to go on, -1 to write half.
inline int due(Op op, int fd) {
    if (fd <= 2 || !armed) return 0;
    const long now = ++calls[op];
    const Plan& planned = plan();
    if (planned.op != op || now < planned.nth || (now > planned.nth && !planned.sticky)) return 0;
    if (planned.how == "KILL") ::kill(::getpid(), SIGKILL);
    if (planned.how == "SHORT") return -1;
    return planned.how == "ENOSPC" ? ENOSPC : EIO;
}

inline ssize_t fail_with(int error) {
    errno = error;
    return -1;
}

inline int sync(int fd, long number) {
    const int error = due(op_sync, fd);
    if (error > 0) return static_cast<int>(fail_with(error));
    return static_cast<int>(::syscall(number, fd));
}

inline ssize_t positioned_write(int fd, const void* from, size_t size, off_t at) {
    const int error = due(op_write, fd);
    if (error > 0) return fail_with(error);
    return ::syscall(SYS_pwrite64, fd, from, error < 0 && size > 1 ? size / 2 : size, at);
}

inline int truncate_to(int fd, off_t size) {
    const int error = due(op_truncate, fd);
    if (error > 0) return static_cast<int>(fail_with(error));
    return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

}  // namespace failing_io

extern "C" {
ssize_t write(int fd, const void* from, size_t size) {
    const int error = failing_io::due(failing_io::op_write, fd);
    if (error > 0) return failing_io::fail_with(error);
    return ::syscall(SYS_write, fd, from, error < 0 && size > 1 ? size / 2 : size);
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
    return failing_io::positioned_write(fd, from, size, at);
}
ssize_t pwrite64(int fd, const void* from, size_t size, off_t at) {
    return failing_io::positioned_write(fd, from, size, at);
}
int fsync(int fd) {
    return failing_io::sync(fd, SYS_fsync);
}
int fdatasync(int fd) {
    return failing_io::sync(fd, SYS_fdatasync);
}
int ftruncate(int fd, off_t size) noexcept {
    return failing_io::truncate_to(fd, size);
}
int ftruncate64(int fd, off_t size) noexcept {
    return failing_io::truncate_to(fd, size);
}
}
