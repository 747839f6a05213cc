// A recording is replayed as the engine would have gone through it.
#include "core/simulate.h"

#include <gtest/gtest.h>

#include "scenarios/random_plan.h"

namespace palimpsest {
namespace {

Trace trace_of(const std::vector<std::string>& messages, FormatId format = FormatId::openai_chat) {
    Trace trace;
    for (const std::string& raw : messages) {
        const auto message = read_message(format, make_bytes(raw));
        auto counted = approx_tools().rewrite(message.value(), {});
        Item item;
        item.range = {Seq{trace.items.size() + 1}, Seq{trace.items.size() + 1}};
        item.tokens = counted->count.tokens;
        item.message = *std::move(counted);
        trace.items.push_back(std::move(item));
    }
    return trace;
}

std::string said(const std::string& role, const std::string& text) {
    return R"({"role":")" + role + R"(","content":")" + text + "\"}";
}

std::string long_text(const std::string& word) {
    std::string text;
    for (int n = 0; n < 60; ++n) text += word + " ";
    return text;
}

SimulateOptions options_of_claude() {
    SimulateOptions options;
    options.prices = *find_prices("anthropic");
    options.model = {.name = "claude",
                     .input_price = 3,
                     .cached_price = 0.3,
                     .cache_write_price = 3.75,
                     .output_price = 15,
                     .cache_least_tokens = 1024};
    options.budget.window = 4000;
    return options;
}

std::uint64_t compactions(const std::string& rule, const SimulateOptions& options) {
    const Trace trace =
        trace_of({said("user", long_text("rain")), said("assistant", long_text("wind")),
                  said("user", long_text("snow")), said("assistant", "yes")});
    const auto policy = parse_policy(
        R"({"triggers":{"tokens":150},"target":100,"passes":[{"pass":"drop_oldest"}])" + rule +
        "}");
    return simulate(trace, policy.value(), options, approx_tools()).compactions;
}

TEST(simulate, asks_what_an_edit_saves_in_money_by_the_models_prices) {
    SimulateOptions options = options_of_claude();
    options.model.cache_least_tokens = 1;  // or nothing so short would be in the cache
    EXPECT_EQ(compactions("", options), 1u);
    EXPECT_EQ(compactions(R"(,"min_gain":{"dollars":5})", options), 0u);
    EXPECT_EQ(compactions(R"(,"min_gain":{"dollars":0.000001},"pays_within_calls":1000)", options),
              1u);
    EXPECT_EQ(compactions(R"(,"pays_within_calls":1)", options), 0u);
    EXPECT_EQ(compactions(R"(,"min_gain":{"dollars":5})", SimulateOptions{}), 1u)
        << "no prices, no rule";
}

TEST(simulate, what_is_too_large_is_counted_whether_or_not_the_policy_does_something) {
    const Trace trace =
        trace_of({said("user", long_text("rain")), said("assistant", long_text("wind")),
                  said("user", long_text("snow")), said("assistant", "yes")});
    SimulateOptions options = options_of_claude();
    options.budget.window = 150;
    const auto too_large = [&](const char* policy) {
        return simulate(trace, parse_policy(policy).value(), options, approx_tools()).unreachable;
    };
    EXPECT_EQ(too_large("none"), 1u);
    EXPECT_EQ(too_large("strict"), 1u);
    EXPECT_EQ(too_large("window_half"), 0u);
}

TEST(simulate, quotes_what_a_compaction_takes_out_before_the_very_same_call) {
    const Trace trace = trace_of(
        {said("user", "The parcel number is QX-99187, keep it"), said("assistant", "Noted"),
         said("user", long_text("rain")), said("assistant", long_text("wind")),
         said("user", "Where is the parcel with that number?"),
         R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
         R"("function":{"name":"track","arguments":"{\"number\":\"QX-99187\"}"}}]})"});
    const auto policy =
        parse_policy(R"({"triggers":{"tokens":150},"target":60,"passes":[{"pass":"drop_oldest"}],)"
                     R"("recall":{"tokens":100}})");
    const Simulation sum = simulate(trace, policy.value(), options_of_claude(), approx_tools());
    EXPECT_EQ(sum.compactions, 1u);
    EXPECT_EQ(sum.arguments, 1u);
    EXPECT_EQ(sum.arguments_kept, 1u);
    EXPECT_EQ(sum.invalid, 0u);
}

TEST(simulate, finds_the_arguments_of_all_calls_of_an_answer_in_every_format) {
    const std::string question = said("user", "Look up ann_lee_4711 and W12345");
    const Trace chat = trace_of(
        {question,
         R"({"role":"assistant","content":null,"tool_calls":[)"
         R"({"id":"a","type":"function","function":{"name":"f","arguments":"{\"who\":\"ann_lee_4711\"}"}},)"
         R"({"id":"b","type":"function","function":{"name":"f","arguments":"{\"order\":\"W12345\"}"}}]})"});
    const Trace responses = trace_of(
        {question, R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"QUJD"})",
         R"({"type":"function_call","call_id":"a","name":"f","arguments":"{\"who\":\"ann_lee_4711\"}"})",
         R"({"type":"function_call","call_id":"b","name":"f","arguments":"{\"order\":\"W12345\"}"})",
         R"({"type":"function_call_output","call_id":"a","output":"yes"})"},
        FormatId::openai_responses);
    for (const Trace* trace : {&chat, &responses}) {
        const Simulation sum =
            simulate(*trace, parse_policy("none").value(), options_of_claude(), approx_tools());
        EXPECT_EQ(sum.calls, 1u);
        EXPECT_EQ(sum.arguments, 2u);
    }
}

TEST(simulate, quotes_into_the_room_that_is_left) {
    const Trace trace = trace_of(
        {said("user", "The parcel number is QX-99187"), said("assistant", "Noted"),
         said("user", long_text("parcel")), said("assistant", "Many parcels"),
         said("user", "Where is the parcel with that number?"), said("assistant", "Home")});
    const auto last_call = [&](const std::string& more) {
        const auto policy = parse_policy(R"({"passes":[{"pass":"drop_oldest"}])" + more + "}");
        SimulateOptions options = options_of_claude();
        options.budget.window = 120;
        return simulate(trace, policy.value(), options, approx_tools()).tokens_per_call.back();
    };
    const std::uint32_t bare = last_call(""), quoted = last_call(R"(,"recall":{"tokens":1000})");
    EXPECT_GT(quoted, bare);
    EXPECT_LE(quoted, 120u) << "although it may take 1000 tokens";
}

}  // namespace
}  // namespace palimpsest
