// What calls took: of turns, of summaries, with and without a price for cached tokens.
#include "base/time.h"
#include "support/fake_summarizer.h"
#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view fold_all = R"({"triggers":{"messages":4},"target":{"tokens":1},)"
                                      R"("passes":[{"pass":"summarize","keep_turns":1}]})";

Reply reply_of(std::string_view text, ReplyUsage usage) {
    Reply reply;
    reply.messages.push_back(make_message(FormatId::openai_chat, Role::assistant, text).value());
    reply.stop = StopReason::end;
    reply.usage = usage;
    return reply;
}

}  // namespace

TEST(usage, summaries_are_part_of_what_a_conversation_and_a_tenant_took) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory(memory_store(),
                  {.models = {{.name = "gpt-4o-mini", .input_price = 1e3, .output_price = 1e4}},
                   .summarizer = summarizer});
    std::string long_text = "number";
    for (int n = 0; n < 60; ++n) long_text += " word" + std::to_string(n);
    for (int i = 0; i < 3; ++i) {
        const std::string list = "[" + user(long_text) + "," + assistant(long_text) + "]";
        ASSERT_TRUE(memory.append(alice, {.messages = list}));
    }
    ScriptedModel model;
    model.says("going on");
    const std::string said = user("go on");
    const auto done =
        chat(memory, alice, {.messages = said, .policy = std::string(fold_all)}, model);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(summarizer->calls, 1);
    const auto of_one = usage_by_day(memory, alice);
    const auto of_all = tenant_usage_by_day(memory, alice.tenant);
    for (const auto& days : {of_one, of_all}) {
        ASSERT_TRUE(days && days->size() == 1u);
        EXPECT_EQ(days->front().calls, 2u);
        EXPECT_EQ(days->front().usage.input, 100u + 1000u);
        EXPECT_EQ(days->front().usage.output, 10u + 10u);
        EXPECT_NEAR(days->front().cost, 1.0 + 0.1, 1e-9);  // The model itself has no price.
    }
}

TEST(usage, a_day_has_one_row_also_when_the_clock_went_back) {
    const auto now = std::make_shared<Time>();
    Memory memory(open_store("memory:?ttl=0&max=0", {.clock = [now] { return *now; }}).value(), {});
    ScriptedModel model;
    const std::string said = user("go on");
    for (const char* at :
         {"2026-03-02T10:00:00Z", "2026-03-01T10:00:00Z", "2026-03-02T11:00:00Z"}) {
        *now = *parse_time(at);
        model.says("going on");
        ASSERT_TRUE(chat(memory, alice, {.messages = said}, model));
    }
    const auto days = usage_by_day(memory, alice);
    ASSERT_TRUE(days && days->size() == 2u);
    EXPECT_EQ(days->front().day, "2026-03-01");
    EXPECT_EQ(days->back().day, "2026-03-02");
    EXPECT_EQ(days->back().calls, 2u);
}

TEST(usage, cached_tokens_without_a_price_of_their_own_cost_what_others_do) {
    const ReplyUsage used{
        .input_tokens = 1000, .output_tokens = 0, .cached_tokens = 600, .cache_write_tokens = 300};
    const std::string said = user("hello");
    struct Case {
        OwnModel model;
        double cost;
    };
    const Case cases[] = {
        {{.name = "own", .input_price = 1e3}, 1.0},
        {{.name = "own", .input_price = 1e3, .cached_price = 1e2}, 0.06 + 0.3 + 0.1},
        {{.name = "own", .input_price = 1e3, .cached_price = 0, .cache_write_price = 2e3},
         0.6 + 0.1},
    };
    for (const Case& one : cases) {
        Memory memory(memory_store(), {.models = {one.model}});
        ScriptedModel model;
        model.call_it("own");
        model.plays(reply_of("hi", used));
        const auto done = chat(memory, alice, {.messages = said}, model);
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_TRUE(done->cost);
        EXPECT_NEAR(*done->cost, one.cost, 1e-9);
    }
}
