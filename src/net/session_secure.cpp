// The beginning of a connection to a server with a certificate: TLS, or a word that it is needed.
#include <utility>

#include "net/session.h"
#include "net/session_list.h"
#include "net/tls.h"

namespace palimpsest {

// False: the connection is over. Who does not finish in time is closed without a word, and until
// then makes room for others as an idle connection does.
Task<bool> Session::secure() {
    if (!list_.shared.options.tls) co_return true;
    list_.mark_idle(*this);
    begin_wait(Wait::handshake, list_.limits.head_timeout_ms);
    const bool spoken = co_await ready(Readiness::read);
    if (!spoken) co_return false;
    if (!begins_tls(*transport_)) {
        end_wait();
        list_.mark_busy(*this);
        const HttpFault fault = {400, "this port speaks HTTPS: begin the address with https://"};
        co_await turn_away(fault);
        co_return false;
    }
    const int descriptor = transport_->descriptor();
    watch_.reset();  // It must not outlive the descriptor, which goes if this fails.
    auto secured = list_.shared.options.tls->accept(std::move(transport_));
    if (!secured) co_return false;
    transport_ = *std::move(secured);
    watch_ = std::make_unique<Watch>(list_.loop, descriptor);
    const bool shaken = co_await shake_hands();
    end_wait();
    co_return shaken;
}

Task<bool> Session::shake_hands() {
    while (true) {
        const IoResult result = transport_->shake_hands();
        if (result.state == IoState::done) co_return true;
        if (result.state == IoState::closed || result.state == IoState::failed) co_return false;
        const bool wants_read = result.state == IoState::want_read;
        const bool more = co_await ready(wants_read ? Readiness::read : Readiness::write);
        if (!more) co_return false;
    }
}

// Within the wait that has begun. False: it is over, or the connection is.
Task<bool> Session::ready(Readiness readiness) {
    if (broken_ || timed_out_) co_return false;
    watch_->wait(readiness, [self = shared_from_this()] { self->writable_.fire(); });
    co_await writable_;
    if (timed_out_) broken_ = true;
    co_return !broken_;
}

}  // namespace palimpsest
