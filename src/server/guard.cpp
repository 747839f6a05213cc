#include "server/guard.h"

#include <algorithm>

namespace palimpsest {
namespace {

bool all_digits(std::string_view text) {
    return !text.empty() && text.size() <= 5 &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A page of another local server is foreign too: what it may do here is not for it to say.
bool is_own_origin(std::string_view origin, std::string_view host) {
    for (const std::string_view scheme : {"http://", "https://"})
        if (origin.starts_with(scheme))
            return equal_without_case(origin.substr(scheme.size()), host);
    return false;
}

bool is_own_host(std::string_view authority, bool loopback, const std::vector<std::string>& hosts) {
    if (hosts.empty()) return !loopback || is_local_authority(authority);
    const std::size_t colon = authority.rfind(':');
    const bool port = colon != authority.npos && all_digits(authority.substr(colon + 1));
    const std::string_view name = port ? authority.substr(0, colon) : authority;
    return std::ranges::any_of(
        hosts, [&](const std::string& host) { return equal_without_case(name, host); });
}

}  // namespace

bool is_loopback(std::string_view host) {
    if (host == "localhost" || host == "::1" || host == "[::1]") return true;
    return host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
}

bool is_local_authority(std::string_view authority) {
    for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
        if (!equal_without_case(authority.substr(0, name.size()), name)) continue;
        const std::string_view rest = authority.substr(name.size());
        return rest.empty() || (rest.front() == ':' && all_digits(rest.substr(1)));
    }
    return false;
}

Result<void> check_origin(const HttpRequest& request, bool loopback,
                          const std::vector<std::string>& hosts) {
    if (request.headers.count("Host") != 1 || !is_own_host(request.header("Host"), loopback, hosts))
        return fail(ErrorCode::forbidden,
                    loopback && hosts.empty()
                        ? "this server answers to localhost, 127.0.0.1 and [::1] only"
                        : "this server does not answer to that name; the setting `hosts` lists "
                          "those it has",
                    "Host");
    if (request.method == "GET" || request.method == "HEAD") return {};
    const std::optional<std::string_view> origin = request.headers.find("Origin");
    if (origin && !is_own_origin(*origin, request.header("Host")))
        return fail(ErrorCode::forbidden, "requests from other web sites are refused", "Origin");
    const std::string_view site = request.header("Sec-Fetch-Site");
    if (site == "cross-site" || site == "same-site")
        return fail(ErrorCode::forbidden, "requests from other web sites are refused",
                    "Sec-Fetch-Site");
    return {};
}

}  // namespace palimpsest
