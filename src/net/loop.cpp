// Asio's fences are not needed: one thread runs a loop and what others post is ordered by its lock.
// The thread sanitizer cannot follow fences, and g++ refuses to compile them for it.
#ifndef BOOST_ASIO_DISABLE_FENCED_BLOCK
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif
#include "net/loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <utility>
#include <vector>

namespace palimpsest {

namespace asio = boost::asio;

struct Loop::Engine {
    // One thread runs it, so Asio may leave out its own locks between runners, but post stays safe.
    asio::io_context context{1};

    // What other threads post is collected, so that many of them wake the loop once.
    std::mutex mutex;
    std::vector<Callback> posted;

    void run_posted();
};

void Loop::Engine::run_posted() {
    std::vector<Callback> batch;
    {
        const std::scoped_lock lock(mutex);
        batch.swap(posted);
    }
    for (Callback& callback : batch) {
        try {
            callback();
        } catch (...) {
            // As in run(): this one is lost, the others are not.
        }
    }
}

Loop::Loop() : engine_(std::make_unique<Engine>()) {}
Loop::~Loop() = default;

void Loop::run() {
    const auto work = asio::make_work_guard(engine_->context);
    while (!engine_->context.stopped()) {
        try {
            engine_->context.run();
        } catch (...) {
            // Only a lack of memory gets here. The one callback is lost (time-outs end its
            // connection), the loop goes on.
        }
    }
}

void Loop::stop() {
    engine_->context.stop();
}

void Loop::post(Callback callback) {
    {
        const std::scoped_lock lock(engine_->mutex);
        engine_->posted.push_back(std::move(callback));
        if (engine_->posted.size() > 1) return;
    }
    asio::post(engine_->context, [engine = engine_.get()] { engine->run_posted(); });
}

void Loop::after_ms(int delay, Callback callback) {
    auto timer = std::make_unique<asio::steady_timer>(engine_->context);
    timer->expires_after(std::chrono::milliseconds(delay));
    auto& armed = *timer;
    armed.async_wait([owned = std::move(timer),
                      call = std::move(callback)](const boost::system::error_code& error) mutable {
        if (!error) call();
    });
}

struct Watch::Descriptor {
    Descriptor(asio::io_context& context, int fd) : stream(context, fd) {}
    asio::posix::stream_descriptor stream;
};

Watch::Watch(Loop& loop, int descriptor)
    : descriptor_(std::make_unique<Descriptor>(loop.engine_->context, descriptor)) {}

Watch::~Watch() {
    descriptor_->stream.release();
}

void Watch::wait(Readiness readiness, Loop::Callback callback) {
    const auto type = readiness == Readiness::read ? asio::posix::descriptor_base::wait_read
                                                   : asio::posix::descriptor_base::wait_write;
    descriptor_->stream.async_wait(
        type, [call = std::move(callback)](const boost::system::error_code&) mutable { call(); });
}

void Watch::cancel() {
    boost::system::error_code ignored;
    descriptor_->stream.cancel(ignored);
}

}  // namespace palimpsest
