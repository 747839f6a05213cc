// request_meters: what a server counts of its requests, in the text format of Prometheus. From any
// thread. Labels are rows of the route table and statuses: their number is bounded.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace palimpsest {

struct Route;

class RequestMeters {
public:
    // `route` is null for a request that fits none.
    void count(const Route* route, int status, double seconds);

    // One stream that is open as long as this lives.
    class OpenStream {
    public:
        explicit OpenStream(RequestMeters& meters) : meters_(meters) { ++meters_.open_; }
        ~OpenStream() { --meters_.open_; }
        OpenStream(const OpenStream&) = delete;
        OpenStream& operator=(const OpenStream&) = delete;

    private:
        RequestMeters& meters_;
    };
    std::int64_t open_streams() const { return open_; }

    std::string text() const;

private:
    static constexpr std::array<double, 8> limits = {1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1, 10, 100};
    struct Times {
        std::array<std::uint64_t, limits.size()> buckets = {};
        std::uint64_t count = 0;
        double sum = 0;
    };

    std::atomic<std::int64_t> open_ = 0;
    mutable std::mutex mutex_;  // Guards all below. By labels, as they are written.
    std::map<std::string, std::uint64_t> requests_;
    std::map<std::string, Times> times_;
};

}  // namespace palimpsest
