// request_meters: what a server counts of its requests, in the text format of Prometheus. From any
// thread. Labels are rows of the route table and statuses: their number is bounded.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest {

struct Route;

class RequestMeters {
public:
    // `route` is null for a request that fits none.
    void count(const Route* route, int status, double seconds);

    // The place of one streamed answer, taken as long as this lives.
    class StreamPlace {
    public:
        StreamPlace() = default;
        explicit StreamPlace(RequestMeters& meters) : meters_(&meters) {}
        ~StreamPlace() {
            if (meters_) --meters_->open_;
        }
        StreamPlace(StreamPlace&& other) noexcept
            : meters_(std::exchange(other.meters_, nullptr)) {}
        StreamPlace& operator=(StreamPlace&& other) noexcept {
            std::swap(meters_, other.meters_);
            return *this;
        }

    private:
        RequestMeters* meters_ = nullptr;
    };
    // None: `most` are taken. Taken before anything is asked, so that no more are ever open.
    std::optional<StreamPlace> take_stream(std::size_t most);

    // What was turned away because there was too much of it.
    enum class Refusal : std::uint8_t { connections, queue, streams };
    void refuse(Refusal reason) { ++refused_[static_cast<std::size_t>(reason)]; }

    // An answer that did not come to its end, and why; none: whoever asked wanted no more of it, or
    // its time was over.
    void count_cut(std::optional<ErrorCode> reason);

    // Asked for connections and queues whenever the text is; empty: they are left out.
    void ask_load(std::function<std::string()> load);

    std::string text() const;

private:
    std::string refusals() const;
    std::string cuts() const;

    static constexpr std::array<double, 8> limits = {1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1, 10, 100};
    struct Times {
        std::array<std::uint64_t, limits.size()> buckets = {};
        std::uint64_t count = 0;
        double sum = 0;
    };

    std::atomic<std::int64_t> open_ = 0;
    std::array<std::atomic<std::uint64_t>, 3> refused_ = {};
    mutable std::mutex mutex_;  // Guards all below. Rows of the route table stand for their labels.
    std::map<std::pair<const Route*, int>, std::uint64_t> requests_;
    std::map<const Route*, Times> times_;
    std::map<std::string_view, std::uint64_t> cuts_;
    std::function<std::string()> load_;
};

}  // namespace palimpsest
