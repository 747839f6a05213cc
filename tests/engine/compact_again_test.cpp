// A list that comes again with every call, longer each time, and is compacted anew: what is sent of
// its past must stay the same, or no provider's cache is ever hit.
#include <gtest/gtest.h>

#include "core/policy.h"
#include "engine/compact_document.h"

namespace palimpsest {
namespace {

// A question and so many rounds of a call and its result.
std::string run_of(int rounds) {
    std::string list = R"([{"role":"user","content":"look at all of it"})";
    std::string words;
    for (int i = 0; i < 120; ++i) words += "word" + std::to_string(i) + " ";
    for (int i = 0; i < rounds; ++i) {
        const std::string id = "c" + std::to_string(i);
        list += R"(,{"role":"assistant","content":null,"tool_calls":[{"id":")" + id +
                R"(","type":"function","function":{"name":"read","arguments":"{\"n\":)" +
                std::to_string(i) + R"(}"}}]},{"role":"tool","tool_call_id":")" + id +
                R"(","content":")" + words + R"("})";
    }
    return list + "]";
}

struct Sent {
    std::string json = {};
    bool folded = false;
};

Sent sent(int rounds, bool comes_again) {
    const auto done = compact_document(
        run_of(rounds),
        {.policy =
             R"({"triggers":{"tokens":6000},"passes":[{"pass":"summarize","max_tokens":300}]})",
         .comes_again = comes_again});
    if (!done) return {done.error().message, false};
    return {done->json.substr(0, done->json.size() - 1), done->plan.outcome == PlanOutcome::done};
}

// How often what was sent last is no prefix of what is sent now.
int breaks(bool comes_again) {
    int count = 0;
    Sent last = sent(1, comes_again);
    for (int rounds = 2; rounds <= 40; ++rounds) {
        Sent now = sent(rounds, comes_again);
        EXPECT_TRUE(now.folded || rounds < 25) << rounds << now.json.substr(0, 200);
        count += now.json.starts_with(last.json) ? 0 : 1;
        last = std::move(now);
    }
    return count;
}

TEST(compact_again, changes_what_was_sent_only_where_a_conversation_would_be_compacted_again) {
    const int steps = breaks(true), each = breaks(false);
    EXPECT_GE(steps, 2);
    EXPECT_LE(steps, 12);
    EXPECT_GT(each, 2 * steps);
}

}  // namespace
}  // namespace palimpsest
