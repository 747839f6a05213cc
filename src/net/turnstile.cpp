#include "net/turnstile.h"

#include <utility>

namespace palimpsest {

bool Turnstile::enter(Callback later) {
    const std::scoped_lock lock(mutex_);
    if (inside_ < places_) {
        ++inside_;
        return true;
    }
    outside_.push_back(std::move(later));
    return false;
}

void Turnstile::leave() {
    Callback next;
    {
        const std::scoped_lock lock(mutex_);
        if (outside_.empty()) {
            --inside_;
            return;
        }
        next = std::move(outside_.front());
        outside_.pop_front();
    }
    next();
}

std::size_t Turnstile::inside() const {
    const std::scoped_lock lock(mutex_);
    return inside_;
}

std::size_t Turnstile::waiting() const {
    const std::scoped_lock lock(mutex_);
    return outside_.size();
}

bool Turnstile::full(std::size_t waiting) const {
    const std::scoped_lock lock(mutex_);
    return inside_ >= places_ && outside_.size() >= waiting;
}

}  // namespace palimpsest
