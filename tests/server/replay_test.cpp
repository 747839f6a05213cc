// What a repeat with the same Idempotency-Key gets once the first answer cannot be had again: after
// an erase, and where nothing was stored.
#include "server/gateway.h"

namespace palimpsest {
namespace {

const HeaderFields key = {{"Idempotency-Key", "k1"}};
const std::string secret = R"({"messages":[{"role":"user","content":"secret"}]})";
const std::string ask_secret = R"({"conversation_id":"a","message":"secret"})";

void erase_a(const Running& running) {
    ASSERT_EQ(running.ask("DELETE", conversations + "/a").status(), 200);
}

void expect_erased_since(const Told& late) {
    EXPECT_EQ(late.status(), 404) << late.response.body;
    EXPECT_EQ(late.error("param"), "Idempotency-Key") << late.response.body;
    EXPECT_EQ(late.header("Idempotent-Replayed"), "");
}

struct Way {
    std::string path, body;
};
const Way ways[] = {
    {conversations + "/a/messages", secret},
    {conversations + "/a/begin", R"({"message":"secret"})"},
    {"/api/v1/chat", ask_secret},
    {"/api/v1/chat", R"({"conversation_id":"a","message":"secret","stream":true})"},
    {"/api/v1/chat", R"({"conversation_id":"a","message":"secret","recall_tools":true})"},
};

}  // namespace

TEST(late_repeats, do_not_bring_an_erased_conversation_back) {
    for (const Way& way : ways) {
        const Running running;
        ASSERT_LT(running.ask("POST", way.path, way.body, key).status(), 300) << way.path;
        erase_a(running);
        expect_erased_since(running.ask("POST", way.path, way.body, key));
        EXPECT_EQ(running.ask("GET", conversations + "/a").status(), 404) << way.path << way.body;
    }
}

TEST(late_repeats, add_nothing_to_another_conversation_of_that_name) {
    for (const Way& way : ways) {
        const Running running;
        ASSERT_LT(running.ask("POST", way.path, way.body, key).status(), 300) << way.path;
        erase_a(running);
        ASSERT_EQ(running.ask("POST", conversations, R"({"id":"a"})").status(), 201);
        expect_erased_since(running.ask("POST", way.path, way.body, key));
        EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 0);
    }
}

TEST(late_repeats, do_not_bring_back_what_a_fork_shares) {
    const Running running;
    ASSERT_EQ(running.ask("POST", ways[0].path, ways[0].body, key).status(), 201);
    ASSERT_EQ(running.ask("POST", conversations + "/a/fork", R"({"id":"b"})").status(), 201);
    erase_a(running);
    expect_erased_since(running.ask("POST", ways[0].path, ways[0].body, key));
    EXPECT_EQ(running.ask("GET", conversations + "/b").number("messages"), 1);
}

TEST(late_repeats, of_a_gateway_turn_neither_ask_the_model_nor_store_it) {
    for (const FormatId format : {FormatId::openai_chat, FormatId::anthropic}) {
        Gateway gateway(format, {says(format, "one"), says(format, "two")});
        const HeaderFields turn = {{"X-Conversation-Id", "a"}, {"Idempotency-Key", "k1"}};
        const std::string said = R"({"role":"user","content":"secret"})";
        const auto ask = [&] {
            return format == FormatId::anthropic ? gateway.message(said, turn)
                                                 : gateway.chat(said, turn);
        };
        ASSERT_EQ(ask().status(), 200);
        EXPECT_EQ(ask().header("Idempotent-Replayed"), "true");
        ASSERT_TRUE(gateway.memory.erase({"default", "a"}));
        EXPECT_EQ(ask().status(), 404) << format_name(format);
        EXPECT_FALSE(gateway.memory.head({"default", "a"}));
        EXPECT_EQ(gateway.upstream.requests().size(), 1u);
    }
}

TEST(late_repeats, of_a_key_that_two_conversations_used_are_told_apart) {
    Gateway gateway(FormatId::openai_chat,
                    {says(FormatId::openai_chat, "one"), says(FormatId::openai_chat, "two"),
                     says(FormatId::openai_chat, "three")});
    const std::string said = R"({"role":"user","content":"hi"})";
    const auto ask = [&](const std::string& name) {
        return gateway.chat(said, {{"X-Conversation-Id", name}, {"Idempotency-Key", "k1"}});
    };
    ASSERT_EQ(chat_text(ask("a")), "one");
    ASSERT_EQ(chat_text(ask("b")), "two");
    ASSERT_TRUE(gateway.memory.erase({"default", "a"}));
    EXPECT_EQ(chat_text(ask("b")), "two");
    EXPECT_EQ(ask("a").status(), 404);
    EXPECT_EQ(chat_text(ask("c")), "three");
    ASSERT_TRUE(gateway.memory.erase({"default", "b"}));
    EXPECT_EQ(ask("b").status(), 404);
    EXPECT_EQ(gateway.upstream.requests().size(), 3u);
}

TEST(repeats, that_are_carried_out_again_do_not_say_that_they_were_replayed) {
    Gateway gateway(FormatId::openai_chat,
                    {says(FormatId::openai_chat, "one"), says(FormatId::openai_chat, "two")});
    const std::string chat = "/api/v1/state/chat";
    gateway.post(chat, R"({"message":"hi"})", key);
    const Told again = gateway.post(chat, R"({"message":"hi"})", key);
    EXPECT_EQ(again.status(), 200);
    EXPECT_EQ(gateway.upstream.requests().size(), 2u);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "");
    EXPECT_EQ(gateway.post(chat, R"({"message":"other"})", key).status(), 422);
    const std::string items =
        R"({"model":"m","input":[{"type":"message","role":"user","content":"Hello there."}]})";
    const Told folded = gateway.post("/v1/responses/compact", items, key);
    ASSERT_EQ(folded.status(), 200) << folded.response.body;
    const Told twice = gateway.post("/v1/responses/compact", items, key);
    EXPECT_EQ(twice.status(), 200);
    EXPECT_EQ(twice.header("Idempotent-Replayed"), "");
}

TEST(repeats, of_a_change_of_a_stored_completion_are_recognised) {
    Gateway gateway(FormatId::openai_chat, {says(FormatId::openai_chat, "one")});
    const std::string id =
        gateway.chat(R"({"role":"user","content":"Hello"})", {}, R"("store":true)").text("id");
    const std::string at = "/v1/chat/completions/" + id;
    const Told first = gateway.post(at, R"({"metadata":{"v":"0"}})", key);
    ASSERT_EQ(first.status(), 200) << first.response.body;
    const Told again = gateway.post(at, R"({"metadata":{"v":"0"}})", key);
    EXPECT_EQ(again.response.body, first.response.body);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    EXPECT_EQ(gateway.post(at, R"({"metadata":{"v":"1"}})", key).status(), 422);
}

}  // namespace palimpsest
