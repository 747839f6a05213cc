// The audit log: what administers is written down, with who, what and how it ended, and nothing of
// what was said.
#include "server/audit.h"

#include "server/access.h"
#include "server/running.h"

namespace palimpsest {
namespace {

HeaderFields bearer(const std::string& key) {
    return {{"Authorization", "Bearer " + key}};
}

// "act target who outcome", newest first.
std::vector<std::string> audited(Memory& memory, const std::string& tenant = "default") {
    std::vector<std::string> rows;
    const auto entries = list_audit(memory.store(), tenant, "", 100).value();
    for (const AuditEntry& one : entries)
        rows.push_back(one.act + " " + one.target + " " + one.who + " " + one.outcome);
    return rows;
}

TEST(audit, keeps_what_administers_and_how_it_ended) {
    Running server;
    const std::string alice = conversations + "/alice";
    server.ask("POST", alice + "/messages",
               R"({"messages":[{"role":"user","content":"CANARY words"}]})");
    server.ask("PATCH", alice, R"({"title":"no act"})");
    server.ask("PATCH", alice, R"({"ttl":"24h"})");
    server.ask("PATCH", alice + "/memory", R"({"mode":"trim"})");
    server.ask("PUT", "/api/v1/agents/helper", R"({"system_prompt":"CANARY prompt"})");
    server.ask("DELETE", "/api/v1/agents/helper");
    server.ask("POST", alice + "/scrub", R"({"seqs":[1]})");
    server.ask("DELETE", alice);
    server.ask("DELETE", alice);
    EXPECT_EQ(audited(server.memory()),
              (std::vector<std::string>{
                  "conversation.erase alice anyone not_found",
                  "conversation.erase alice anyone done", "messages.scrub alice anyone done",
                  "agent.delete helper anyone done", "agent.put helper anyone done",
                  "policy.change alice anyone done", "conversation.change alice anyone done"}));
    const auto records =
        server.memory().store().list_records({.tenant = "default", .space = "audit"}).value();
    for (const Record& record : records)
        EXPECT_EQ(record.value.find("CANARY"), std::string::npos) << record.value;
}

TEST(audit, is_read_by_admins_of_its_tenant_alone) {
    Running server;
    const auto key = [&](const char* tenant, const char* scopes) {
        return create_key(server.memory().store(),
                          {.tenant = tenant, .scopes = parse_scopes(scopes).value()})
            .value();
    };
    const NewKey admin = key("a", "admin"), writer = key("a", "read,write"),
                 other = key("b", "admin");
    const Told put = server.ask("PUT", "/api/v1/agents/x", "{}", bearer(admin.text));
    ASSERT_EQ(put.status(), 200);
    server.ask("PUT", "/api/v1/agents/y", "{}", bearer(writer.text));
    EXPECT_EQ(server.ask("GET", "/api/v1/audit", {}, bearer(writer.text)).status(), 403);
    EXPECT_EQ(
        server.ask("GET", "/api/v1/audit", {}, bearer(other.text)).json().find("data")->size(), 0u);
    const Told page = server.ask("GET", "/api/v1/audit?limit=1", {}, bearer(admin.text));
    const JsonValue newest = *page.json().find("data")->elements().begin();
    EXPECT_EQ(newest.find("who")->string(), "key " + writer.key.id);
    EXPECT_EQ(page.json().find("has_more")->boolean(), true);
    const Told rest =
        server.ask("GET", "/api/v1/audit?after=" + page.text("last_id"), {}, bearer(admin.text));
    const JsonValue oldest = *rest.json().find("data")->elements().begin();
    EXPECT_EQ(oldest.find("target")->string(), "x");
    EXPECT_EQ(oldest.find("request_id")->string(), put.header("x-request-id"));
    EXPECT_EQ(rest.json().find("data")->size(), 1u);
}

TEST(audit, pages_both_ways_from_either_end) {
    Running server;
    for (const char* agent : {"a", "b", "c", "d"})
        ASSERT_EQ(server.ask("PUT", std::string("/api/v1/agents/") + agent, "{}").status(), 200);
    const auto page = [&](const std::string& query) {
        const Told told = server.ask("GET", "/api/v1/audit?" + query);
        EXPECT_EQ(told.status(), 200) << told.response.body;
        std::string targets;
        for (const JsonValue row : told.json().find("data")->elements())
            targets += row.find("target")->string();
        return std::pair(targets, told);
    };
    const auto [newest, first] = page("limit=3");
    EXPECT_EQ(newest, "dcb");
    EXPECT_EQ(page("limit=3&after=" + first.text("last_id")).first, "a");
    EXPECT_EQ(page("before=" + first.text("last_id")).first, "dc");
    EXPECT_EQ(page("limit=1&before=" + first.text("last_id")).first, "c");
    EXPECT_EQ(page("order=asc&limit=2").first, "ab");
    EXPECT_EQ(page("order=asc&after=" + first.text("last_id")).first, "cd");
    EXPECT_EQ(page("offset=1&limit=2").first, "cb");
    EXPECT_EQ(server.ask("GET", "/api/v1/audit?before=nobody").status(), 404);
}

}  // namespace
}  // namespace palimpsest
