#include "net/lookout.h"

#include <poll.h>

namespace palimpsest {

// Shared with callbacks, which come also when nobody looks any more.
struct Lookout::Sight {
    explicit Sight(Errand::Bell ours) : bell(std::move(ours)) {}
    Errand::Bell bell;
    short asked = 0;
    short seen = 0;
};

void Lookout::look(Errand& errand, int descriptor, short events) {
    if (watch_ && !watch_->is_on(errand.loop())) close();
    if (!watch_) {
        sight_ = std::make_shared<Sight>(errand.bell());
        watch_ = std::make_unique<Watch>(errand.loop(), descriptor);
    }
    if (sight_->bell != errand.bell()) sight_->bell = errand.bell();
    if ((events & POLLIN) != 0) look(Readiness::read, POLLIN);
    if ((events & POLLOUT) != 0) look(Readiness::write, POLLOUT);
}

// A direction that was asked for in vain is still looked at.
void Lookout::look(Readiness readiness, short event) {
    if ((sight_->asked & event) != 0) return;
    sight_->asked = static_cast<short>(sight_->asked | event);
    sight_->seen = static_cast<short>(sight_->seen & ~event);
    watch_->wait(readiness, [sight = sight_, event] {
        sight->asked = static_cast<short>(sight->asked & ~event);
        sight->seen = static_cast<short>(sight->seen | event);
        if (*sight->bell) (*sight->bell)->wake();
    });
}

short Lookout::seen() const {
    return sight_ ? sight_->seen : short{0};
}

// What is still waited for would come when another thread has the descriptor.
void Lookout::rest() {
    if (!sight_) return;
    if (sight_->asked != 0) return close();
    sight_->seen = 0;
    sight_->bell.reset();
}

void Lookout::close() {
    watch_.reset();
    sight_.reset();
}

}  // namespace palimpsest
