// A policy that cannot be read is refused by the field of the body that brought it, on every route.
#include <gtest/gtest.h>

#include "server/responses.h"

namespace palimpsest {
namespace {

struct Bad {
    std::string policy;
    std::string below;  // the field that brings it
};
const Bad bad_policies[] = {
    {R"("nopreset")", ""},
    {R"({"mode":"x"})", ".mode"},
    {R"({"mode":"compact","compact_kep":2})", ".compact_kep"},
    {R"({"reply_tokens":"many","passes":[]})", ".reply_tokens"},
    {R"({"triggers":{"any":[{"tokens":3},7]},"passes":[]})", ".triggers.any[1]"},
    {R"({"triggers":{"tokens":3}})", ".passes"},
    {R"({"passes":[{"pass":"summarize","from":"noon"}]})", ".passes[0].from"},
};

TEST(policy_errors, name_the_field_of_the_body_that_brought_the_policy) {
    const Running running;
    running.ask("POST", conversations, R"({"id":"a"})");
    struct Route {
        std::string method, target, before, field;
    };
    const std::string said = R"("message":"x",)", in_a = R"("conversation_id":"a",)";
    const Route routes[] = {
        {"POST", "/api/v1/chat", said, "memory_strategy"},
        {"POST", "/api/v1/chat", said + in_a, "memory_strategy"},
        {"POST", conversations + "/a/begin", said, "memory_strategy"},
        {"PUT", "/api/v1/agents/k", "", "memory_strategy"},
        {"POST", "/api/v1/state/chat", said, "memory_strategy"},
        {"POST", "/api/v1/state/append", said + R"("compact":true,)", "memory_strategy"},
        {"POST", conversations, R"("id":"b",)", "policy"},
        {"PATCH", conversations + "/a", "", "policy"},
        {"POST", conversations + "/a/compact", "", "policy"},
    };
    for (const Route& route : routes)
        for (const Bad& bad : bad_policies) {
            const std::string body =
                "{" + route.before + "\"" + route.field + "\":" + bad.policy + "}";
            const Told told = running.ask(route.method, route.target, body);
            EXPECT_EQ(told.status(), 400) << route.target << body << told.response.body;
            EXPECT_EQ(told.error("param"), route.field + bad.below)
                << route.target << body << told.response.body;
        }
    // The body is the object itself.
    const std::string memory = conversations + "/a/memory";
    EXPECT_EQ(running.ask("PATCH", memory, R"({"mode":"x"})").error("param"), "mode");
}

TEST(policy_errors, name_what_of_a_policy_leaves_no_room) {
    const Running running;
    const std::string policy = R"({"window_tokens":100,"reply_tokens":100,)"
                               R"("triggers":{"window":true},"passes":[{"pass":"drop_oldest"}]})";
    const Told told =
        running.ask("POST", "/api/v1/chat", R"({"message":"x","memory_strategy":)" + policy + "}");
    EXPECT_EQ(told.error("code"), "budget_unreachable") << told.response.body;
    EXPECT_EQ(told.error("param"), "memory_strategy.reply_tokens") << told.response.body;
}

TEST(policy_errors, name_the_place_in_a_providers_own_field) {
    Behind site;
    const auto refused = [&](const std::string& target, const std::string& rest) {
        const Told told = site.ask("POST", target, R"({"model":"m",)" + rest + "}",
                                   {{"X-Conversation-Id", "alice"}});
        EXPECT_EQ(told.status(), 400) << told.response.body;
        return told;
    };
    // Errors of Messages have no field for it.
    const Told message = refused(
        "/v1/messages", R"("max_tokens":9,"messages":[{"role":"user","content":"a"}],)"
                        R"("context_management":{"edits":[{"type":)"
                        R"("clear_tool_uses_20250919","trigger":{"type":"x","value":1}}]})");
    EXPECT_TRUE(message.error("message").starts_with("context_management.edits[0].trigger: "))
        << message.response.body;
    const std::string entries = R"({"type":"compaction"},{"type":"compaction",)"
                                R"("compact_threshold":5})";
    const Told response =
        refused("/v1/responses", R"("input":"a","context_management":[)" + entries + "]");
    EXPECT_EQ(response.error("param"), "context_management[1].compact_threshold")
        << response.response.body;
    EXPECT_TRUE(site.upstream.requests().empty());
}

}  // namespace
}  // namespace palimpsest
