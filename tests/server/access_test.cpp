// Keys, what they may do, and tenants that cannot see each other.
#include "server/access.h"

#include "server/guard.h"
#include "server/route.h"
#include "server/running.h"

namespace palimpsest {
namespace {

std::string new_key(Memory& memory, ApiKey key) {
    return create_key(memory.store(), std::move(key)).value().text;
}
std::string key_of(Memory& memory, const std::string& tenant,
                   std::string_view scopes = "read,write") {
    return new_key(memory, {.tenant = tenant, .scopes = parse_scopes(scopes).value()});
}
HeaderFields bearer(const std::string& key) {
    return {{"Authorization", "Bearer " + key}};
}

TEST(api_keys, are_kept_as_a_digest_and_can_be_listed_and_revoked) {
    const auto memory = Memory::open("memory:").value();
    Store& store = const_cast<Memory&>(memory).store();
    const auto made = create_key(store, {.name = "app", .tenant = "t", .scopes = 3}).value();
    EXPECT_TRUE(made.text.starts_with("pal_" + made.key.id + "_"));
    const auto records = store.list_records({.tenant = "_palimpsest", .space = "api_keys"}).value();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].value.find(made.text.substr(17)), std::string::npos);
    const auto listed = list_keys(store).value();
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].name, "app");
    EXPECT_EQ(listed[0].tenant, "t");
    EXPECT_EQ(scopes_text(listed[0].scopes), "read,write");
    EXPECT_TRUE(revoke_key(store, made.key.id).has_value());
    EXPECT_EQ(revoke_key(store, made.key.id).error().code, ErrorCode::not_found);
    EXPECT_TRUE(list_keys(store)->empty());
}

TEST(api_keys, of_no_scope_or_of_a_reserved_tenant_are_refused) {
    Memory memory = Memory::open("memory:").value();
    EXPECT_EQ(create_key(memory.store(), {.tenant = "t"}).error().param, "scopes");
    EXPECT_EQ(create_key(memory.store(), {.tenant = "_palimpsest", .scopes = 1}).error().param,
              "tenant");
    EXPECT_EQ(parse_scopes("read,root").error().code, ErrorCode::invalid_request);
}

TEST(access, without_keys_takes_any_token_on_loopback) {
    const Running server;
    EXPECT_EQ(server.ask("GET", conversations).status(), 200);
    EXPECT_EQ(server.ask("GET", conversations, {}, bearer("anything")).status(), 200);
}

TEST(access, from_the_first_key_on_every_request_but_the_probes_needs_one) {
    Running server;
    const std::string key = key_of(server.memory(), "default");
    for (const std::string& wrong :
         {std::string("wrong"), key + "0", key.substr(0, key.size() - 1) + "x",
          std::string("pal_000000000000_") + std::string(64, '0')})
        EXPECT_EQ(server.ask("GET", conversations, {}, bearer(wrong)).error("code"),
                  "unauthorized");
    EXPECT_EQ(server.ask("GET", conversations).status(), 401);
    EXPECT_EQ(server.ask("GET", conversations, {}, bearer(key)).status(), 200);
    EXPECT_EQ(server.ask("GET", conversations, {}, {{"x-api-key", key}}).status(), 200);
    for (const char* probe : {"/healthz", "/readyz", "/openapi.json", "/"})
        EXPECT_EQ(server.ask("GET", probe).status(), 200) << probe;
}

TEST(access, without_a_key_that_may_read_readiness_names_no_model) {
    EXPECT_EQ(Running().ask("GET", "/readyz").text("model"), "echo") << "there are no keys";
    Running server;
    const std::string reads = key_of(server.memory(), "default", "read"),
                      writes = key_of(server.memory(), "default", "write"),
                      other = new_key(server.memory(),
                                      {.tenant = "default", .scopes = 1, .models = {"other"}});
    for (const HeaderFields& who : {HeaderFields(), bearer("wrong"), bearer(writes)})
        EXPECT_EQ(server.ask("GET", "/readyz", {}, who).response.body,
                  R"({"status":"ready","store_error":null,"models":1,"models_reachable":1})");
    EXPECT_EQ(server.ask("GET", "/readyz", {}, bearer(reads)).text("model"), "echo");
    EXPECT_FALSE(server.ask("GET", "/readyz", {}, bearer(other)).response.body.contains("echo"));
}

TEST(access, scopes_say_what_a_key_may_do) {
    Running server;
    const std::string reads = key_of(server.memory(), "default", "read"),
                      writes = key_of(server.memory(), "default", "write"),
                      all = key_of(server.memory(), "default", "admin");
    const auto create = [&](const std::string& key) {
        return server.ask("POST", conversations, "{}", bearer(key)).status();
    };
    EXPECT_EQ(create(reads), 403);
    EXPECT_EQ(create(writes), 201);
    EXPECT_EQ(create(all), 201);
    EXPECT_EQ(server.ask("GET", conversations, {}, bearer(writes)).status(), 403);
    EXPECT_EQ(server.ask("GET", "/metrics", {}, bearer(reads)).status(), 403);
    EXPECT_EQ(server.ask("GET", "/metrics", {}, bearer(all)).status(), 200);
}

// Each of them shows what others said.
TEST(access, a_write_that_shows_what_is_stored_needs_a_key_that_may_read) {
    Running server;
    const std::string reads = key_of(server.memory(), "default", "read"),
                      writes = key_of(server.memory(), "default", "write"),
                      both = key_of(server.memory(), "default", "read,write"),
                      one = conversations + "/a";
    server.ask("POST", one + "/messages", R"({"messages":[{"role":"user","content":"secret"}]})",
               bearer(writes));
    const std::string theirs = "/v1/conversations/a";
    const std::tuple<const char*, std::string, std::string> asked[] = {
        {"POST", one + "/begin", R"({"message":"and?"})"},
        {"POST", one + "/compact?preview=1", R"({"policy":"balanced"})"},
        {"PATCH", one, R"({"metadata":{"k":"v"}})"},
        {"PATCH", one + "/memory", R"({"reserve_output":100})"},
        {"POST", one + "/fork", R"({"id":"b"})"},
        {"POST", theirs, R"({"metadata":{"k":"v"}})"},
        {"POST", theirs + "/fork", "{}"},
        {"DELETE", theirs + "/items/msg_1", ""},
        {"POST", "/v1/responses/compact", R"({"model":"m","previous_response_id":"resp_1"})"},
        {"POST", "/v1/chat/completions/chatcmpl-1", R"({"metadata":{}})"},
        {"POST", "/v1/responses/resp_1/cancel", ""}};
    for (const auto& [method, path, body] : asked) {
        const Told told = server.ask(method, path, body, bearer(writes));
        EXPECT_EQ(told.status(), 403) << path;
        EXPECT_EQ(told.error("message"), "this key may write; this needs read,write");
        EXPECT_EQ(server.ask(method, path, body, bearer(reads)).status(), 403) << path;
        EXPECT_NE(server.ask(method, path, body, bearer(both)).status(), 403) << path;
    }
}

TEST(access, a_key_asks_only_the_models_that_it_may) {
    Running server;
    const std::string key =
        new_key(server.memory(), {.tenant = "default", .scopes = 3, .models = {"other"}});
    const Told told =
        server.ask("POST", "/api/v1/chat", R"({"message":"hi","model":"echo"})", bearer(key));
    EXPECT_EQ(told.status(), 403);
    EXPECT_EQ(told.error("param"), "model");
    EXPECT_EQ(server.ask("POST", "/api/v1/chat", R"({"message":"hi"})", bearer(key)).status(), 403);
}

TEST(access, above_its_rate_a_key_is_told_when_to_come_again) {
    Running server;
    const std::string key =
        new_key(server.memory(), {.tenant = "default", .scopes = 3, .per_minute = 3});
    for (int n = 0; n < 3; ++n)
        EXPECT_EQ(server.ask("GET", conversations, {}, bearer(key)).status(), 200);
    const Told told = server.ask("GET", conversations, {}, bearer(key));
    EXPECT_EQ(told.status(), 429);
    EXPECT_EQ(told.header("Retry-After"), "20");
}

// Every route, asked by another tenant for what it does not have, answers as if it were not there.
TEST(access, absent_and_foreign_look_the_same_on_every_route) {
    Running server;
    const std::string mine = key_of(server.memory(), "mine"), theirs = key_of(server.memory(), "b");
    ASSERT_EQ(server.ask("POST", conversations, R"({"id":"secret"})", bearer(mine)).status(), 201);
    ASSERT_EQ(server
                  .ask("POST", conversations + "/secret/messages",
                       R"({"messages":[{"role":"user","content":"canary words"}]})", bearer(mine))
                  .status(),
              201);
    int asked = 0;
    for (const Route& route : routes()) {
        if (route.scope == Scope::open || route.pattern.find('{') == route.pattern.npos) continue;
        const auto path_of = [&](std::string_view id) {
            std::string path(route.pattern);
            for (std::size_t at = 0; (at = path.find('{')) != path.npos;)
                path.replace(at, path.find('}') - at + 1, id);
            return path;
        };
        const auto ask = [&](std::string_view id) {
            const bool body = route.method != "GET" && !route.request.empty();
            return server.ask(std::string(route.method), path_of(id), body ? "{}" : "",
                              bearer(theirs));
        };
        const Told foreign = ask("secret"), absent = ask("absent");
        EXPECT_EQ(foreign.status(), absent.status()) << route.method << " " << route.pattern;
        EXPECT_EQ(foreign.error("code"), absent.error("code")) << route.pattern;
        EXPECT_EQ(foreign.response.body.find("canary"), std::string::npos) << route.pattern;
        ++asked;
    }
    EXPECT_GT(asked, 20);
    EXPECT_EQ(server.ask("GET", conversations, {}, bearer(theirs)).response.body.find("secret"),
              std::string::npos);
    const Told still = server.ask("GET", conversations + "/secret/messages", {}, bearer(mine));
    EXPECT_NE(still.response.body.find("canary words"), std::string::npos);
}

TEST(access, beyond_loopback_a_server_needs_keys_or_to_be_told_in_words) {
    Memory memory = Memory::open("memory:").value();
    const auto model = make_echo_model();
    const auto start = [&](bool open) {
        return Server::start(memory, *model, {.host = "0.0.0.0", .open_to_anyone = open});
    };
    const auto refused = start(false);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
    EXPECT_TRUE(start(true).has_value());
    (void)key_of(memory, "default");
    EXPECT_TRUE(start(false).has_value());
}

TEST(access, hosts_are_those_of_the_setting) {
    const auto answers_to = [](std::string host) {
        HttpRequest request = make_request("GET", "/healthz");
        request.headers.set("Host", std::move(host));
        return check_origin(request, true, {"pal.example"}).has_value();
    };
    EXPECT_TRUE(answers_to("pal.example"));
    EXPECT_TRUE(answers_to("PAL.example:8443"));
    EXPECT_FALSE(answers_to("localhost"));
    EXPECT_FALSE(answers_to("evil.example"));
}

}  // namespace
}  // namespace palimpsest
