// guard: what web pages may not do, judged by the head of a request alone.
//
// A web page can send requests to localhost. It cannot choose Host (so a name that was rebound to
// 127.0.0.1 shows here) and cannot hide Origin on a request that changes something. No answer ever
// carries a CORS header, so a page cannot read one either.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/message.h"
#include "palimpsest/error.h"

namespace palimpsest {

// 127.0.0.0/8, ::1 and the name localhost.
bool is_loopback(std::string_view host);

// Host is one of localhost, 127.0.0.1 and [::1], with or without a port.
bool is_local_authority(std::string_view authority);

// `forbidden` for a foreign Host, and for a foreign Origin on any method but GET and HEAD. Host is
// one of `hosts` (without its port); where there are none, a local one for a server on loopback,
// any one for others, which have keys that a page does not know.
Result<void> check_origin(const HttpRequest& request, bool loopback = true,
                          const std::vector<std::string>& hosts = {});

}  // namespace palimpsest
