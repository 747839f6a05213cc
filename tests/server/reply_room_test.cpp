// A request is compacted alike with a conversation and without one: the answer has its room.
#include "server/gateway.h"
#include "server/responses.h"

namespace palimpsest {
namespace {

// Ten texts of 250 words, in a window of 4,000 tokens.
std::string ten_texts() {
    std::string input;
    for (int i = 0; i < 10; ++i) {
        std::string words = std::to_string(i);
        for (int n = 0; n < 250; ++n) words += " word";
        input += (input.empty() ? "" : ",") + (R"({"role":"user","content":")" + words + "\"}");
    }
    return "[" + input + "]";
}

TEST(reply_room, of_a_response_is_kept_free_whether_or_not_it_is_stored) {
    Behind site(FormatId::openai_responses, "memory:",
                {.models = {{.name = "m", .window_tokens = 4000, .output_tokens = 3500}}});
    const auto items_sent = [&](int asked, bool stored) {
        site.upstream.add(says(FormatId::openai_responses, "yes"));
        const Told told = site.say("\"input\":" + ten_texts() + R"(,"truncation":"auto")" +
                                   R"(,"max_output_tokens":)" + std::to_string(asked) +
                                   R"(,"store":)" + (stored ? "true" : "false"));
        EXPECT_EQ(told.status(), 200) << told.response.body;
        const std::string sent = site.upstream.requests().back().body;
        const auto body = parse_json(sent);
        return body ? body->root().find("input")->size() : 0;
    };
    for (const bool stored : {true, false}) {
        EXPECT_EQ(items_sent(1000, stored), 10u) << stored;
        EXPECT_EQ(items_sent(3000, stored), 3u) << stored;
    }
}

TEST(reply_room, is_refused_in_the_words_of_each_format) {
    Behind site(FormatId::openai_responses, "memory:",
                {.models = {{.name = "m", .window_tokens = 4000}}, .policy = "balanced"});
    const auto check = [&](const Told& told, const std::string& field) {
        EXPECT_EQ(told.error("code"), "budget_unreachable") << told.response.body;
        EXPECT_EQ(told.error("param"), field) << told.response.body;
        const std::string last = field.substr(field.find('.') + 1);
        EXPECT_TRUE(told.error("message").contains("; " + last + " 4000 leaves 0"))
            << told.response.body;
    };
    for (const char* stored : {"true", "false"})
        check(site.say(R"("input":"a","truncation":"auto","max_output_tokens":4000,"store":)" +
                       std::string(stored)),
              "max_output_tokens");
    const auto ask = [&](const std::string& target, const std::string& fields) {
        return site.ask("POST", target, R"({"model":"m",)" + fields + "}",
                        {{"X-Conversation-Id", "alice"}});
    };
    const std::string said = R"("messages":[{"role":"user","content":"a"}],)";
    // Its errors have no field for it.
    const Told told = ask("/v1/messages", said + R"("max_tokens":4000)");
    EXPECT_TRUE(told.error("message").starts_with("max_tokens: ")) << told.response.body;
    EXPECT_TRUE(told.error("message").contains("; max_tokens 4000 leaves 0"));
    for (const std::string field : {"max_tokens", "max_completion_tokens"})
        check(ask("/v1/chat/completions", said + "\"" + field + "\":4000"), field);
    check(ask("/api/v1/chat",
              R"("conversation_id":"bob","message":"a","parameters":{"max_tokens":4000})"),
          "parameters.max_tokens");
}

}  // namespace
}  // namespace palimpsest
