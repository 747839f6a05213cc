// Requests that are wrong, by accident or on purpose: the right refusal, and a server that lives
// on.
#include <gtest/gtest.h>

#include <mutex>

#include "server/route.h"
#include "server/running.h"

namespace palimpsest {
namespace {

struct Case {
    std::string_view method, target, body;
    int status;
    std::string_view code, param;
};

constexpr Case cases[] = {
    {"GET", "/nowhere", "", 404, "not_found", ""},
    {"PUT", "/api/v1/conversations", "{}", 405, "invalid_request", ""},
    {"OPTIONS", "/api/v1/chat", "", 405, "invalid_request", ""},
    {"GET", "/api/v1/conversations/%zz", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations/a%00b", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations/a%0Ab", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations/%2E%2E", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations/%ff%fe", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations?limt=1", "", 400, "invalid_request", "limt"},
    {"GET", "/api/v1/conversations?limit=0", "", 400, "invalid_request", "limit"},
    {"GET", "/api/v1/conversations?limit=1001", "", 400, "invalid_request", "limit"},
    {"GET", "/api/v1/conversations?limit=ten", "", 400, "invalid_request", "limit"},
    {"GET", "/api/v1/conversations?limit=1&limit=2", "", 400, "invalid_request", "limit"},
    {"GET", "/api/v1/conversations?sort=name", "", 400, "invalid_request", "sort"},
    {"GET", "/api/v1/conversations?owner=%zz", "", 400, "invalid_request", ""},
    {"GET", "/api/v1/conversations?owner=%ff", "", 400, "invalid_request", "owner"},
    {"POST", "/api/v1/conversations", "{", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations", "[]", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations", R"({"id":"a","id":"b"})", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations", R"({"tenant":"b"})", 400, "invalid_request", "tenant"},
    {"POST", "/api/v1/conversations", R"({"id":"a\u0000"})", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations", R"({"id":".."})", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations", R"({"ttl":"soon"})", 400, "invalid_request", "ttl"},
    {"POST", "/api/v1/conversations/a/messages", R"({"messages":[{"content":"x"}]})", 400,
     "invalid_request", "*"},
    {"POST", "/api/v1/conversations/a/messages", "{\"messages\":[{\"role\":\"user\xff\"}]}", 400,
     "invalid_request", ""},
    {"POST", "/api/v1/conversations/a/messages", "\xef\xbb\xbf{}", 400, "invalid_request", ""},
    {"POST", "/api/v1/conversations/a/finish", R"({"turn_id":"x","message":{}})", 400,
     "invalid_request", "turn_id"},
    {"GET", "/api/v1/conversations/a", "{}", 400, "invalid_request", ""},
};

TEST(hostile, requests_get_the_right_refusal) {
    const Running running;
    for (const Case& one : cases) {
        const Told told =
            running.ask(std::string(one.method), std::string(one.target), std::string(one.body));
        const std::string what = std::string(one.method) + " " + std::string(one.target) + " " +
                                 std::string(one.body) + ": " + told.response.body;
        EXPECT_EQ(told.status(), one.status) << what;
        EXPECT_EQ(told.error("code"), one.code) << what;
        if (!one.param.empty() && one.param != "*") {
            EXPECT_EQ(told.error("param"), one.param) << what;
        }
        EXPECT_TRUE(told.header("x-request-id").starts_with("req_")) << what;
        EXPECT_EQ(told.response.headers.count("Access-Control-Allow-Origin"), 0u) << what;
    }
    EXPECT_EQ(running.ask("GET", "/healthz").status(), 200);
    EXPECT_EQ(running.ask("GET", conversations).json().find("data")->size(), 0u);
}

// The path of a route with its first {name} replaced by the id, others by "a".
std::string path_with(std::string_view pattern, std::string id) {
    std::string path;
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] != '{') {
            path += pattern[at++];
            continue;
        }
        path += std::exchange(id, "a");
        at = pattern.find('}', at) + 1;
    }
    return path;
}

TEST(hostile, an_id_of_ten_kilobytes_is_a_bad_id_on_every_route) {
    const Running running;
    for (const std::string& id : {std::string(10'000, 'x'), [] {
                                      std::string escaped;
                                      for (int i = 0; i < 5'000; ++i) escaped += "%C3%A4";
                                      return escaped;
                                  }()})
        for (const Route& route : routes()) {
            if (!route.pattern.contains('{') || route.pattern.starts_with("/internal")) continue;
            const Told told = running.ask(std::string(route.method), path_with(route.pattern, id),
                                          route.request.empty() ? "" : "{}");
            const std::string what = std::string(route.method) + " " + std::string(route.pattern);
            EXPECT_EQ(told.status(), 400) << what << told.response.body;
            EXPECT_EQ(told.error("code"), "invalid_request") << what;
            EXPECT_EQ(told.header("x-should-retry"), "false") << what;
        }
}

TEST(hostile, what_the_edge_refuses_must_not_be_repeated) {
    ServerOptions options;
    options.terms.limits.body_bytes_max = 2'000;
    const Running running("memory:", options);
    const std::string large(3'000, ' ');
    struct Refused {
        std::string method, target, body;
        int status;
    };
    const Refused rows[] = {
        {"GET", "/nowhere", "", 404},
        {"PUT", "/api/v1/chat", "{}", 405},
        {"GET", "/" + std::string(40'000, 'x'), "", 414},
        {"GET", "/%zz", "", 400},
        {"POST", "/api/v1/chat", large, 413},
        {"POST", "/v1/messages", large, 413},
        {"DELETE", "/v1/messages", "", 405},
    };
    for (const Refused& row : rows) {
        const Told told = running.ask(row.method, row.target, row.body);
        EXPECT_EQ(told.status(), row.status) << row.target.substr(0, 60);
        EXPECT_EQ(told.header("x-should-retry"), "false") << row.target.substr(0, 60);
        EXPECT_TRUE(told.header("x-request-id").starts_with("req_"));
        const bool anthropic = row.target == "/v1/messages";
        EXPECT_EQ(told.text("type"), anthropic ? "error" : "(none)") << told.response.body;
        EXPECT_EQ(told.error("code") == "(none)", anthropic) << told.response.body;
    }
}

TEST(hostile, nesting_is_refused_before_it_costs_anything) {
    const Running running;
    for (const int depth : {100, 100'000}) {
        const std::string deep(static_cast<std::size_t>(depth), '[');
        const Told told = running.ask("POST", conversations + "/a/messages",
                                      "{\"messages\":[{\"role\":\"user\",\"content\":" + deep);
        EXPECT_EQ(told.status(), 400);
    }
}

TEST(hostile, sizes_are_refused_at_each_level) {
    ServerOptions options;
    options.terms.limits.body_bytes_max = 100'000;
    MemoryOptions memory;
    memory.message_bytes_max = 1000;
    const Running running("memory:", options, memory);
    const auto append = [&](std::size_t bytes) {
        return running.ask(
            "POST", conversations + "/a/messages",
            R"({"messages":[{"role":"user","content":")" + std::string(bytes, 'x') + "\"}]}");
    };
    EXPECT_EQ(append(500).status(), 201);
    const Told message = append(2000);
    EXPECT_EQ(message.status(), 413);
    EXPECT_EQ(message.error("param"), "messages[0]");
    const Told body = append(200'000);
    EXPECT_EQ(body.status(), 413);
    EXPECT_EQ(body.error("code"), "too_large");
    EXPECT_TRUE(body.header("x-request-id").starts_with("req_"));
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 1);
}

TEST(hostile, bodies_that_are_not_declared_json_are_refused) {
    const Running running;
    for (const std::string type : {"text/plain", "application/x-www-form-urlencoded",
                                   "multipart/form-data", "application/jsonp", ""}) {
        const Told told =
            running.ask("POST", conversations, R"({"id":"a"})", {{"Content-Type", type}});
        EXPECT_EQ(told.status(), 400) << type;
        EXPECT_EQ(told.error("param"), "Content-Type");
    }
    const Told good = running.ask("POST", conversations, R"({"id":"a"})",
                                  {{"Content-Type", "Application/JSON; charset=utf-8"}});
    EXPECT_EQ(good.status(), 201);
}

TEST(hostile, sites_that_are_not_ours_are_refused) {
    const Running running;
    const Told foreign =
        running.ask("POST", conversations, "{}", {{"Origin", "https://evil.example"}});
    EXPECT_EQ(foreign.status(), 403);
    EXPECT_EQ(foreign.error("param"), "Origin");
    EXPECT_TRUE(foreign.header("x-request-id").starts_with("req_"));
}

TEST(hostile, addresses_beyond_loopback_are_not_listened_on) {
    Memory memory = Memory::open("memory:").value();
    const auto model = make_echo_model();
    ServerOptions options;
    options.host = "0.0.0.0";
    const auto server = Server::start(memory, *model, options);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, ErrorCode::forbidden);
}

TEST(access_log, has_a_line_for_each_request_and_nothing_that_was_said) {
    std::mutex mutex;
    std::vector<std::string> lines;
    ServerOptions options;
    options.terms.log = [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        lines.emplace_back(line);
    };
    {
        const Running running("memory:", options);
        running.ask("POST", "/api/v1/chat", R"({"message":"s3cret","conversation_id":"a"})");
        running.ask("GET", "/x%1b%0a?q=s3cret");
    }
    ASSERT_EQ(lines.size(), 2u);
    for (const std::string& line : lines) {
        EXPECT_TRUE(parse_json(line)) << line;
        EXPECT_EQ(line.find("s3cret"), std::string::npos) << line;
    }
    EXPECT_NE(lines[0].find(R"("path":"/api/v1/chat")"), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find(R"("status":200)"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace palimpsest
