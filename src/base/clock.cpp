#include "base/clock.h"

#include <sys/random.h>

#include <cstdlib>

namespace palimpsest {
namespace {

void fill_random(void* out, std::size_t size) {
    auto* at = static_cast<unsigned char*>(out);
    while (size > 0) {
        const ssize_t got = ::getrandom(at, size, 0);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) continue;
            std::abort();
        }
        at += got;
        size -= static_cast<std::size_t>(got);
    }
}

}  // namespace

Time system_now() {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
}

LogId random_log_id() {
    LogId id;
    fill_random(id.bytes.data(), id.bytes.size());
    return id;
}

std::uint64_t random_u64() {
    std::uint64_t value = 0;
    fill_random(&value, sizeof value);
    return value;
}

}  // namespace palimpsest
