// A pool of connections to one server, for stores that have one.
//
// Invariants: a connection is used by one borrower at a time. One that broke, or on which anything
// has come that nobody asked for, is closed and never lent again. After a connection could not be
// made, nobody tries again before a pause that doubles from 20 ms to 1 s.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "palimpsest/error.h"

namespace palimpsest {

// Connection has is_broken() and is_quiet().
template <class Connection>
class ConnectionPool {
public:
    // Gives up after the time it is given.
    using Open = std::function<Result<std::unique_ptr<Connection>>(std::chrono::milliseconds)>;
    struct Limits {
        std::size_t connections = 16;
        std::chrono::milliseconds wait{10'000};  // for a connection that others hold
    };
    ConnectionPool(Open open, Limits limits) : open_(std::move(open)), limits_(limits) {}

    // Gives the connection back when it goes.
    class Lease {
    public:
        Lease(ConnectionPool& pool, std::unique_ptr<Connection> connection)
            : pool_(&pool), connection_(std::move(connection)) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (connection_) pool_->give_back(std::move(connection_));
        }
        Connection* operator->() const { return connection_.get(); }
        Connection& operator*() const { return *connection_; }

    private:
        ConnectionPool* pool_;
        std::unique_ptr<Connection> connection_;
    };

    Result<Lease> borrow() { return borrow(limits_.wait); }
    // Waiting for another and connecting take no longer than this together.
    Result<Lease> borrow(std::chrono::milliseconds within) {
        const Clock::time_point until = Clock::now() + within;
        std::unique_lock hold(mutex_);
        const auto free = [&] { return !idle_.empty() || open_count_ < limits_.connections; };
        if (!returned_.wait_until(hold, until, free))
            return fail(ErrorCode::unavailable,
                        "all " + std::to_string(limits_.connections) +
                            " connections to the store are in use; try again");
        while (!idle_.empty()) {
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            if (connection->is_quiet()) return Lease(*this, std::move(connection));
            --open_count_;
        }
        if (last_error_ && Clock::now() < retry_at_) return std::unexpected(*last_error_);
        ++open_count_;
        hold.unlock();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        return connect(std::max(left, std::chrono::milliseconds(1)));
    }

    // Closes those that nobody uses, as after a server was found to be gone.
    void close_idle() {
        const std::lock_guard hold(mutex_);
        open_count_ -= idle_.size();
        idle_.clear();
    }

private:
    using Clock = std::chrono::steady_clock;

    Result<Lease> connect(std::chrono::milliseconds within) {
        auto made = open_(within);
        const std::lock_guard hold(mutex_);
        if (made) {
            last_error_.reset();
            pause_ = shortest_pause;
            return Lease(*this, std::move(*made));
        }
        --open_count_;
        returned_.notify_one();
        last_error_ = made.error();
        // A random part, so that many servers do not come back at the same moment.
        const auto luck = static_cast<std::int64_t>(random_u64() % 1000);
        retry_at_ = Clock::now() + pause_ / 2 + pause_ * luck / 2000;
        pause_ = std::min(pause_ * 2, longest_pause);
        return std::unexpected(made.error());
    }

    void give_back(std::unique_ptr<Connection> connection) {
        const std::lock_guard hold(mutex_);
        if (connection->is_broken())
            --open_count_;
        else
            idle_.push_back(std::move(connection));
        returned_.notify_one();
    }

    static constexpr std::chrono::microseconds shortest_pause{20'000}, longest_pause{1'000'000};

    Open open_;
    Limits limits_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Connection>> idle_;
    std::size_t open_count_ = 0;
    std::optional<Error> last_error_;
    Clock::time_point retry_at_ = {};
    std::chrono::microseconds pause_ = shortest_pause;
};

}  // namespace palimpsest
