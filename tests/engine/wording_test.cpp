// Summaries that a model words: how it is asked, and what becomes of an answer.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine.h"
#include "support/fake_summarizer.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string words(int count) {
    std::string out = "number";
    for (int i = 1; i < count; ++i) out += i % 2 == 0 ? " lorem" : " ipsum";
    return out;
}

Memory talk(std::shared_ptr<Summarizer> summarizer, int turns, int length) {
    Memory memory(memory_store(), {.summarizer = std::move(summarizer)});
    for (int i = 0; i < turns; ++i) {
        EXPECT_TRUE(memory.append(alice, {.messages = user(words(length))}));
        EXPECT_TRUE(memory.append(alice, {.messages = assistant(words(length))}));
    }
    return memory;
}

// What it is asked fits into its window with the answer, or it fails.
struct SmallSummarizer : FakeSummarizer {
    static constexpr std::uint64_t window = 1000;
    int merges = 0;
    std::uint64_t window_tokens() const override { return window; }
    Result<SummaryText> summarize(const SummaryCall& call) override {
        const auto count = [](std::string_view said) { return exact_tokenizer()->count(said); };
        EXPECT_LE(count(call.system) + count(call.user) + call.max_tokens, window);
        merges += call.user.find("list of summaries") != std::string_view::npos ? 1 : 0;
        return FakeSummarizer::summarize(call);
    }
};

const std::string fold_old =
    R"({"triggers":{"turns":3},"passes":[{"pass":"summarize","keep_turns":1,"max_tokens":200}]})";

}  // namespace

TEST(wording, summaries_of_many_parts_are_merged_in_levels_that_the_window_holds) {
    const auto summarizer = std::make_shared<SmallSummarizer>();
    summarizer->text = words(150);
    Memory memory = talk(summarizer, 12, 300);
    const auto done = memory.compact(alice, {.policy = fold_old});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.summarizer, "gpt-4o-mini") << done->report.explanation;
    EXPECT_GT(summarizer->merges, 2);
}

TEST(wording, parts_that_no_request_can_merge_are_left_to_the_text_made_offline) {
    const auto summarizer = std::make_shared<SmallSummarizer>();
    summarizer->text = words(600);  // It was asked for 200.
    Memory memory = talk(summarizer, 12, 300);
    const auto done = memory.compact(alice, {.policy = fold_old});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.summarizer, "extractive");
    EXPECT_TRUE(done->report.explanation.contains("too long to make one of them"))
        << done->report.explanation;
}

TEST(wording, a_summary_above_its_cap_is_not_sent) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    summarizer->text = words(900);
    Memory memory = talk(summarizer, 4, 200);
    const std::string question = user("number of it?");
    const auto begun = memory.begin(
        alice,
        {.messages = question, .policy = R"({"mode":"summarize","context_window_tokens":1100})"});
    ASSERT_TRUE(begun) << begun.error().message;
    ASSERT_TRUE(begun->compaction);
    const CompactionReport& report = begun->compaction->report;
    EXPECT_EQ(summarizer->calls, 1);
    EXPECT_EQ(report.summarizer, "extractive");
    EXPECT_LE(report.used_after, report.limit);
    EXPECT_TRUE(report.explanation.contains("tokens, it may have")) << report.explanation;
}
