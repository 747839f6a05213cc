#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "net/message.h"

namespace palimpsest {
namespace {

std::unexpected<Error> bad_url(std::string_view text, std::string_view why) {
    return fail(ErrorCode::invalid_request,
                "the URL \"" + std::string(text) + "\" " + std::string(why), "url");
}

bool take_scheme(std::string_view& rest, std::string_view scheme) {
    if (rest.size() < scheme.size()) return false;
    if (!equal_without_case(rest.substr(0, scheme.size()), scheme)) return false;
    rest.remove_prefix(scheme.size());
    return true;
}

bool is_visible(std::string_view text) {
    for (const char c : text)
        if (c <= 0x20 || c >= 0x7f) return false;
    return true;
}

}  // namespace

std::string Url::authority() const {
    const std::string name = host.contains(':') ? "[" + host + "]" : host;
    const bool usual = port == (tls ? 443 : 80);
    return usual ? name : name + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
    Url url;
    std::string_view rest = text;
    if (take_scheme(rest, "https://"))
        url.tls = true;
    else if (!take_scheme(rest, "http://"))
        return bad_url(text, "must begin with http:// or https://");
    if (!is_visible(rest))
        return bad_url(text, "holds a space, a control or a non-ASCII character");
    if (rest.find_first_of("?#") != std::string_view::npos)
        return bad_url(text, "must not have a query or a fragment");
    std::string_view authority = rest.substr(0, rest.find('/'));
    url.path = rest.substr(authority.size());
    while (url.path.ends_with('/')) url.path.pop_back();
    // Not repeated in the message: it may be a password.
    if (authority.contains('@'))
        return fail(ErrorCode::invalid_request, "a URL must not hold a user name or password",
                    "url");

    const std::size_t bracket = authority.find(']');
    const bool v6 = authority.starts_with('[') && bracket != std::string_view::npos;
    url.host = v6 ? authority.substr(1, bracket - 1) : authority.substr(0, authority.find(':'));
    if (url.host.empty()) return bad_url(text, "names no host");
    const std::string_view after = authority.substr(v6 ? bracket + 1 : url.host.size());
    url.port = url.tls ? 443 : 80;
    if (after.empty()) return url;
    const std::string_view digits = after.substr(1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (after[0] != ':' || !whole || url.port == 0) return bad_url(text, "has no valid port");
    return url;
}

std::string without_password(std::string_view url) {
    std::string out(url);
    const auto hide = [&](std::size_t from, std::size_t to) {
        out.replace(from, to - from, "***");
    };
    constexpr std::string_view field = "password=";
    if (const std::size_t at = out.find(field); at != std::string::npos)
        hide(at + field.size(), std::min(out.find('&', at), out.size()));
    const std::size_t scheme = out.find("://");
    if (scheme == std::string::npos) return out;
    const std::size_t first = scheme + 3;
    // A password may hold a slash that nobody escaped.
    const std::size_t host = out.rfind('@', std::min(out.find('?', first), out.size()));
    if (host == std::string::npos || host < first) return out;
    const std::size_t colon = out.find(':', first);
    // What stands alone before the host of a Redis is its password.
    if (colon < host)
        hide(colon + 1, host);
    else if (out.starts_with("redis"))
        hide(first, host);
    return out;
}

}  // namespace palimpsest
