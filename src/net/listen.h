// listen: makes a listening socket, and takes connections from it.
#pragma once
#include <cstdint>
#include <string>

#include "palimpsest/error.h"

namespace palimpsest {

struct Listener {
    int descriptor = -1;  // non-blocking; the caller closes it
    std::uint16_t port = 0;
};
// `unavailable` with the address and the reason, `invalid_request` if `host` is no address.
Result<Listener> listen_on(const std::string& host, std::uint16_t port);

enum class AcceptState : std::uint8_t {
    accepted,
    none_waiting,
    lost,          // the client left before it was accepted: go on
    out_of_files,  // no descriptor or memory left: accept again later
};
struct Accepted {
    AcceptState state = AcceptState::none_waiting;
    int descriptor = -1;  // non-blocking, without Nagle's delay
    std::string peer = {};
};
Accepted accept_from(int listener);

}  // namespace palimpsest
