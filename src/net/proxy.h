// proxy: which proxy, if any, stands between a client and a server.
//
// As other programs do it: HTTPS_PROXY or HTTP_PROXY by the scheme of the target, else ALL_PROXY;
// NO_PROXY lists hosts that are reached directly. Small letters win. Loopback is always direct.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/url.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct Proxy {
    Url url;                    // http only
    std::string authorization;  // of the header Proxy-Authorization; a secret; empty: none
};

// http://[USER:PASSWORD@]HOST[:PORT]. Errors never repeat the password.
Result<Proxy> parse_proxy(std::string_view text);

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;
Result<std::optional<Proxy>> proxy_for(const Url& target, const EnvironmentLookup& environment);

}  // namespace palimpsest
