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
        const auto body = parse_json(site.upstream.requests().back().body);
        return body ? body->root().find("input")->size() : 0;
    };
    for (const bool stored : {true, false}) {
        EXPECT_EQ(items_sent(1000, stored), 10u) << stored;
        EXPECT_EQ(items_sent(3000, stored), 3u) << stored;
    }
}

}  // namespace
}  // namespace palimpsest
