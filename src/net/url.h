// url: where a client connects to, parsed strictly.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest {

// The scheme, host and port of a server, and the path in front of all its targets ("" or "/v1").
struct Url {
    bool tls = false;
    std::string host;  // without the brackets of an IPv6 address
    std::uint16_t port = 80;
    std::string path;

    // As in a Host header: the port only if it is not the scheme's own.
    std::string authority() const;
};

// http:// or https://, host, optional port and path. Refused: user names and passwords (they would
// end up in logs), queries, fragments, anything else.
Result<Url> parse_url(std::string_view text);

// The URL of a store or server as it may be shown: passwords, before the host or in the query, are
// three stars.
std::string without_password(std::string_view url);

}  // namespace palimpsest
