// Which proxy a client takes, by the environment.
#include <gtest/gtest.h>

#include <map>

#include "net/proxy.h"

namespace palimpsest {
namespace {

std::string chosen(std::string_view target, std::map<std::string, std::string> environment) {
    const auto look_up = [&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
    };
    const auto proxy = proxy_for(parse_url(target).value(), look_up);
    if (!proxy) return "error " + proxy.error().message;
    return *proxy ? (*proxy)->url.authority() : "direct";
}

TEST(proxy, is_chosen_by_scheme_and_small_letters_win) {
    EXPECT_EQ(chosen("https://a.example", {{"HTTPS_PROXY", "http://p:3128"}}), "p:3128");
    EXPECT_EQ(chosen("http://a.example", {{"HTTPS_PROXY", "http://p:3128"}}), "direct");
    EXPECT_EQ(chosen("https://a.example", {{"HTTPS_PROXY", "http://p:1"}, {"https_proxy", "q:2"}}),
              "q:2");
    EXPECT_EQ(chosen("http://a.example", {{"all_proxy", "http://p:1"}}), "p:1");
    EXPECT_EQ(chosen("https://a.example", {{"https_proxy", ""}}), "direct");
}

TEST(proxy, is_not_taken_for_loopback_or_for_listed_hosts) {
    const auto with = [](std::string_view target, const std::string& list) {
        return chosen(target, {{"all_proxy", "http://p:1"}, {"no_proxy", list}});
    };
    EXPECT_EQ(with("http://127.0.0.1:8080", ""), "direct");
    EXPECT_EQ(with("http://localhost", ""), "direct");
    EXPECT_EQ(with("https://a.example", "*"), "direct");
    EXPECT_EQ(with("https://a.example", "b.example, a.example"), "direct");
    EXPECT_EQ(with("https://x.a.example", ".a.example"), "direct");
    EXPECT_EQ(with("https://xa.example", "a.example"), "p:1");
    EXPECT_EQ(with("https://a.example", "a.example:443"), "direct");
    EXPECT_EQ(with("https://a.example", "a.example:8443"), "p:1");
}

TEST(proxy, of_a_broken_setting_is_an_error_without_the_password) {
    const auto broken = parse_proxy("ftp://ann:secret@p");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message.find("secret"), std::string::npos);
    EXPECT_FALSE(parse_proxy("https://p:1"));
    EXPECT_EQ(parse_proxy("ann:x@p:1").value().authorization, "Basic YW5uOng=");
}

}  // namespace
}  // namespace palimpsest
