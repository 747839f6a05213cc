// turnstile: so many may be inside at once; more wait outside, in the order in which they came.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace palimpsest {

// From any thread.
class Turnstile {
public:
    using Callback = std::move_only_function<void()>;

    explicit Turnstile(std::size_t places) : places_(places) {}

    // True: inside. False: `later` is called by whoever makes room, and then it is inside.
    bool enter(Callback later);
    void leave();

    std::size_t inside() const;
    std::size_t waiting() const;
    // One more would wait, and so many wait already.
    bool full(std::size_t waiting) const;

private:
    const std::size_t places_;
    mutable std::mutex mutex_;
    std::size_t inside_ = 0;
    std::deque<Callback> outside_;
};

}  // namespace palimpsest
