// Repeats over HTTP of what does not fit the window: no route sends it the second time.
#include "server/responses.h"

namespace palimpsest {
namespace {

// A window of 4,000 tokens, and a conversation whose first message must stay and is larger.
class Small : public Behind {
public:
    Small()
        : Behind(FormatId::openai_chat, "memory:",
                 {.models = {{.name = "m", .window_tokens = 4000, .output_tokens = 100}},
                  .policy = "balanced"}) {
        std::string words = "many";
        for (int i = 0; i < 20000; ++i) words += " words";
        ask("POST", conversation + "/messages",
            R"({"messages":[{"role":"user","content":")" + words + "\"}]}");
        ask("POST", conversation + "/pins", R"({"seq":1})");
    }
    void unpin() { ask("DELETE", conversation + "/pins?seq=1"); }

    const std::string conversation = "/api/v1/conversations/alice";
};

TEST(refused_turn, is_refused_again_on_every_route_and_sent_when_it_fits) {
    const std::string said = R"("messages":[{"role":"user","content":"hello"}])";
    const struct {
        std::string route, body;
    } asks[] = {{"/api/v1/chat", R"({"conversation_id":"alice","model":"m","message":"hello"})"},
                {"/v1/chat/completions", R"({"model":"m",)" + said + "}"},
                {"/v1/messages", R"({"model":"m","max_tokens":50,)" + said + "}"},
                {root, R"({"model":"m","input":"hello"})"}};
    for (const auto& [route, body] : asks) {
        const bool keyed = route != root;  // The other way to tell a repeat.
        Small site;
        for (int repeat = 0; repeat < 2; ++repeat) {
            const HeaderFields headers{{"X-Conversation-Id", "alice"},
                                       {keyed ? "Idempotency-Key" : "x-stainless-retry-count",
                                        keyed ? "k" : std::to_string(repeat)}};
            EXPECT_EQ(site.ask("POST", route, body, headers).status(), 422) << route;
        }
        EXPECT_TRUE(site.upstream.requests().empty()) << route;
        site.unpin();
        site.upstream.add(chat_reply("yes"));
        const HeaderFields headers{
            {"X-Conversation-Id", "alice"},
            {keyed ? "Idempotency-Key" : "x-stainless-retry-count", keyed ? "k" : "2"}};
        EXPECT_EQ(site.ask("POST", route, body, headers).status(), 200) << route;
        ASSERT_EQ(site.upstream.requests().size(), 1u) << route;
        EXPECT_LT(site.upstream.requests().back().body.size(), 16000u) << route;
        EXPECT_EQ(site.ask("GET", site.conversation).json().find("messages")->integer(), 3)
            << "it was said once: " << route;
    }
}

TEST(refused_turn, that_was_sent_later_is_the_response_of_its_id) {
    Small site;
    const auto ask = [&](const std::string& repeat) {
        return site.ask("POST", root, R"({"model":"m","input":"hello"})",
                        {{"X-Conversation-Id", "alice"}, {"x-stainless-retry-count", repeat}});
    };
    EXPECT_EQ(ask("0").status(), 422);
    site.unpin();
    site.upstream.add(chat_reply("yes"));
    const std::string id(ask("1").text("id"));
    EXPECT_EQ(output_text(site.ask("GET", root + "/" + id)), "yes");
    site.upstream.add(chat_reply("more"));
    EXPECT_EQ(output_text(site.say(R"("input":"go on","previous_response_id":")" + id + '"')),
              "more");
}

TEST(refused_turn, by_truncation_that_is_disabled_is_no_less_so_the_second_time) {
    Small site;
    for (int repeat = 0; repeat < 2; ++repeat)
        EXPECT_EQ(site.ask("POST", root, R"({"model":"m","input":"hello","truncation":"disabled"})",
                           {{"X-Conversation-Id", "alice"}, {"Idempotency-Key", "k"}})
                      .error("code"),
                  "budget_unreachable");
    EXPECT_TRUE(site.upstream.requests().empty());
}

}  // namespace
}  // namespace palimpsest
