#include "net/proxy.h"

#include "net/message.h"

namespace palimpsest {
namespace {

std::string to_base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::string_view three = bytes.substr(at, 3);
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i)
            bits = bits << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            out += i <= three.size() ? digits[(bits >> (18U - 6U * i)) & 63U] : '=';
    }
    return out;
}

bool is_loopback_name(std::string_view host) {
    return equal_without_case(host, "localhost") || host == "::1" || host.starts_with("127.");
}

bool ends_with_domain(std::string_view host, std::string_view domain) {
    if (host.size() <= domain.size()) return equal_without_case(host, domain);
    return host[host.size() - domain.size() - 1] == '.' &&
           equal_without_case(host.substr(host.size() - domain.size()), domain);
}

// One entry of NO_PROXY: "*", a host, a domain with or without its dot, each with or without port.
bool is_exempt(const Url& target, std::string_view entry) {
    if (entry == "*") return true;
    const std::size_t colon = entry.rfind(':');
    if (colon != std::string_view::npos && entry.find(':') == colon) {
        if (entry.substr(colon + 1) != std::to_string(target.port)) return false;
        entry = entry.substr(0, colon);
    }
    if (entry.starts_with("*.")) entry.remove_prefix(1);
    if (entry.starts_with('.')) entry.remove_prefix(1);
    return !entry.empty() && ends_with_domain(target.host, entry);
}

bool is_exempt_by_list(const Url& target, std::string_view list) {
    constexpr std::string_view separators = ", \t";
    while (!list.empty()) {
        const std::size_t end = std::min(list.find_first_of(separators), list.size());
        if (is_exempt(target, list.substr(0, end))) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

// The variable in small letters, else in capitals; an empty one is none.
std::string look_up(const EnvironmentLookup& environment, std::string name) {
    if (const auto value = environment(name); value && !value->empty()) return *value;
    for (char& c : name)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return environment(name).value_or("");
}

}  // namespace

Result<Proxy> parse_proxy(std::string_view text) {
    Proxy proxy;
    std::string plain(text);
    if (!plain.contains("://")) plain.insert(0, "http://");
    const std::size_t begin = plain.find("://") + 3;
    const std::size_t end = std::min(plain.find('/', begin), plain.size());
    const std::size_t at = plain.rfind('@', end);
    if (at != std::string::npos && at > begin) {
        auto user = percent_decode(std::string_view(plain).substr(begin, at - begin));
        if (!user)
            return fail(ErrorCode::invalid_request,
                        "the proxy's user name or password has a broken percent escape", "proxy");
        proxy.authorization = "Basic " + to_base64(*user);
        plain.erase(begin, at + 1 - begin);
    }
    PAL_TRY(url, parse_url(plain));
    if (url.tls)
        return fail(ErrorCode::invalid_request,
                    "a proxy is reached by http://; https:// to the proxy itself is not supported",
                    "proxy");
    proxy.url = std::move(url);
    return proxy;
}

Result<std::optional<Proxy>> proxy_for(const Url& target, const EnvironmentLookup& environment) {
    if (is_loopback_name(target.host)) return std::nullopt;
    std::string text = look_up(environment, target.tls ? "https_proxy" : "http_proxy");
    if (text.empty()) text = look_up(environment, "all_proxy");
    if (text.empty() || is_exempt_by_list(target, look_up(environment, "no_proxy")))
        return std::nullopt;
    PAL_TRY(proxy, parse_proxy(text));
    return proxy;
}

}  // namespace palimpsest
