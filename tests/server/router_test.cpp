// From a method and a path to a row of the table.
#include <gtest/gtest.h>

#include "server/router.h"

#include "server/guard.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

TEST(router, takes_ids_out_of_the_path_and_decodes_them) {
    const RouteMatch match =
        match_route(routes(), "GET", "/api/v1/conversations/a%2Fb%20c/view").value();
    ASSERT_TRUE(match.route);
    EXPECT_EQ(match.route->pattern, "/api/v1/conversations/{id}/view");
    ASSERT_EQ(match.ids.size(), 1u);
    EXPECT_EQ(match.ids[0], "a/b c");
}

TEST(router, refuses_broken_escapes) {
    for (const std::string_view path : {"/api/v1/conversations/%", "/api/v1/conversations/%2",
                                        "/api/v1/conversations/%zz", "/healthz%00"}) {
        const Result<RouteMatch> match = match_route(routes(), "GET", path);
        ASSERT_FALSE(match) << path;
        EXPECT_EQ(match.error().code, ErrorCode::invalid_request);
    }
}

TEST(router, knows_what_a_path_allows) {
    const RouteMatch match = match_route(routes(), "PUT", "/api/v1/conversations").value();
    EXPECT_FALSE(match.route);
    EXPECT_EQ(match.allow, "POST, GET");
    const HttpResponse response = no_route(match, "PUT", "/api/v1/conversations");
    EXPECT_EQ(response.status, 405);
    EXPECT_EQ(response.headers.find("Allow"), "POST, GET");
}

TEST(router, has_no_route_for_unknown_paths) {
    for (const std::string_view path : {"/api", "/api/v1/conversations/a/b/c/d", "/HEALTHZ",
                                        "//healthz", "/api/v1/conversations//view"}) {
        const Result<RouteMatch> match = match_route(routes(), "GET", path);
        EXPECT_TRUE(!match || !match->route || !match->ids.empty()) << path;
    }
    const RouteMatch none = match_route(routes(), "GET", "/nowhere").value();
    EXPECT_EQ(no_route(none, "GET", "/nowhere").status, 404);
}

TEST(router, does_not_take_the_name_in_a_pattern_for_a_word) {
    const RouteMatch match = match_route(routes(), "GET", "/api/v1/conversations/{id}/view").value();
    ASSERT_TRUE(match.route);
    EXPECT_EQ(match.ids, std::vector<std::string>{"{id}"});
}

TEST(router, answers_head_as_get) {
    EXPECT_TRUE(match_route(routes(), "HEAD", "/healthz").value().route);
}

TEST(guard, knows_the_names_of_loopback) {
    for (const std::string_view good :
         {"localhost", "LOCALHOST:7420", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:7420"})
        EXPECT_TRUE(is_local_authority(good)) << good;
    for (const std::string_view bad :
         {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
          "localhost:", "localhost:80x", "127.0.0.2", "::1", "localhost@evil.example", "0.0.0.0"})
        EXPECT_FALSE(is_local_authority(bad)) << bad;
}

TEST(guard, refuses_a_request_for_another_host_or_for_two) {
    HttpRequest request;
    request.method = "GET";
    EXPECT_FALSE(check_origin(request));
    request.headers.add("Host", "localhost:7420");
    EXPECT_TRUE(check_origin(request));
    request.headers.add("Host", "localhost:7420");
    EXPECT_FALSE(check_origin(request));
    request.headers.set("Host", "evil.example");
    const Result<void> refused = check_origin(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
    EXPECT_EQ(refused.error().param, "Host");
}

TEST(guard, listens_on_loopback_only) {
    for (const std::string_view good : {"127.0.0.1", "127.8.8.8", "::1", "localhost"})
        EXPECT_TRUE(is_loopback(good)) << good;
    for (const std::string_view bad : {"0.0.0.0", "::", "192.168.1.4", "127.evil.example", ""})
        EXPECT_FALSE(is_loopback(bad)) << bad;
}

TEST(guard, refuses_other_sites_where_something_changes) {
    const auto check = [](std::string method, std::string_view field, std::string value) {
        HttpRequest request;
        request.method = std::move(method);
        request.headers.add("Host", "localhost:7420");
        request.headers.add(std::string(field), std::move(value));
        return check_origin(request).has_value();
    };
    EXPECT_TRUE(check("POST", "Origin", "http://localhost:7420"));
    EXPECT_TRUE(check("GET", "Origin", "https://evil.example"));
    EXPECT_TRUE(check("POST", "Sec-Fetch-Site", "same-origin"));
    for (const std::string origin : {"https://evil.example", "null", "http://localhost:3000",
                                     "http://localhost:7420.evil.example", "file://"})
        EXPECT_FALSE(check("POST", "Origin", origin)) << origin;
    EXPECT_FALSE(check("DELETE", "Origin", "https://evil.example"));
    EXPECT_FALSE(check("POST", "Sec-Fetch-Site", "cross-site"));
}

TEST(respond, lets_clients_retry_only_what_may_succeed_and_does_no_harm) {
    constexpr Repeat read{.changes = false};
    constexpr Repeat write{.changes = true};
    constexpr Repeat keyed{.changes = true, .keyed = true};
    EXPECT_TRUE(may_retry({ErrorCode::unavailable, "down"}, write));
    EXPECT_TRUE(may_retry({ErrorCode::conflict, "moved"}, write));
    EXPECT_FALSE(may_retry({ErrorCode::conflict, "moved", "If-Match"}, write));
    EXPECT_FALSE(may_retry({ErrorCode::outcome_unknown, "?"}, write));
    EXPECT_TRUE(may_retry({ErrorCode::outcome_unknown, "?"}, keyed));
    EXPECT_TRUE(may_retry({ErrorCode::outcome_unknown, "?"}, read));
    EXPECT_FALSE(may_retry({ErrorCode::upstream_failed, "?"}, write));
    EXPECT_FALSE(may_retry({ErrorCode::internal, "bug"}, keyed));
    EXPECT_FALSE(may_retry({ErrorCode::invalid_request, "bad"}, read));
}

TEST(respond, says_of_what_came_too_slowly_only_that_it_may_come_again) {
    for (const int status : {408, 503}) {
        const HttpResponse told =
            write_edge_error(status, {ErrorCode::invalid_request, "too slow"}, "/v1/messages");
        EXPECT_EQ(told.status, status);
        EXPECT_EQ(told.headers.find("Retry-After"), "1");
        EXPECT_EQ(told.headers.count("x-should-retry"), 0u);
    }
    const HttpResponse bad = write_edge_error(400, {ErrorCode::invalid_request, "bad"}, "/");
    EXPECT_EQ(bad.headers.find("x-should-retry"), "false");
    EXPECT_EQ(bad.headers.count("Retry-After"), 0u);
}

TEST(respond, writes_log_lines_without_control_bytes) {
    const std::string line = write_log_line({.request_id = "req_1",
                                             .method = "GET\x1b",
                                             .path = "/a\r\n\x1b]0;x\x07\xc2\x9b",
                                             .status = 404});
    EXPECT_EQ(line, R"({"event":"request","id":"req_1","method":"GET%1B",)"
                    R"("path":"/a%0D%0A%1B]0;x%07%C2%9B","peer":"","status":404,"us":0,)"
                    R"("bytes_in":0,"bytes_out":0})");
}

}  // namespace
}  // namespace palimpsest
