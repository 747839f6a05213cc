// Summaries of which a part is pinned: a later fold leaves them whole, so that each summary tells
// of nothing but what it stands for.
#include <gtest/gtest.h>

#include "palimpsest/compaction.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr const char* fold_old =
    R"({"passes":[{"pass":"summarize","keep_turns":8,"max_tokens":400}]})";
constexpr const char* later_folds[] = {
    R"({"target":500,"passes":[{"pass":"summarize","keep_turns":4,"max_tokens":500}]})",
    R"({"target":300,"passes":[{"pass":"summarize","mode":"rolling","batch":3,"keep_turns":6,)"
    R"("max_tokens":150}]})",
    R"({"target":300,"passes":[{"pass":"summarize","mode":"chunked","chunk_tokens":400,)"
    R"("keep_turns":6,"max_tokens":150}]})"};

std::string secret(int turn) {
    return "SECRET" + std::to_string(10 + turn) + "-XQ";
}

// Says every secret that it is told.
class Gossip final : public Summarizer {
public:
    std::uint64_t window_tokens() const override { return 8000; }
    Result<SummaryText> summarize(const SummaryCall& call) override {
        std::string said = "They decided about";
        for (int turn = 0; turn < 12; ++turn)
            if (call.user.find(secret(turn)) != call.user.npos) said += " " + secret(turn);
        return SummaryText{said, "gossip", {}};
    }
};

// Folds all that there is.
PassResult fold_all(const PassInput& input) {
    PassResult result;
    PlannedEdit& edit = result.edits.emplace_back();
    edit.treatment = Treatment::folded;
    edit.reason = "old";
    edit.tokens_after = 80;
    edit.summary = std::make_shared<SummaryOrder>(SummaryOrder{.max_tokens = 60});
    for (std::size_t g = 0; g < input.groups.size(); ++g) edit.groups.push_back(g);
    return result;
}

// Twelve questions with their answers; 1 to 8 are in a summary.
Memory folded() {
    Memory memory(memory_store(), {.extensions = {.passes = {{"all", fold_all}}},
                                   .summarizer = std::make_shared<Gossip>()});
    for (int i = 0; i < 12; ++i) {
        const std::string about = "the order " + secret(i) + " of the shelf in aisle ";
        EXPECT_TRUE(memory.append(
            alice, {.messages = "[" + user("Question: please decide now about " + about + "nine?") +
                                "," + assistant("We decided to keep " + about + "seven.") + "]"}));
    }
    const auto done = memory.compact(alice, {.policy = fold_old});
    EXPECT_EQ(done->outcome, Compaction::Outcome::done);
    EXPECT_EQ(done->edits.at(0).range, (Range{Seq{1}, Seq{8}}));
    return memory;
}

// All that were ever made, as the log has them.
std::string summaries_of(Memory& memory) {
    std::string words;
    const auto entries = memory.log(alice);
    for (const Entry& entry : *entries)
        if (const auto* compaction = std::get_if<CompactionEntry>(&entry.body))
            for (const Edit& edit : compaction->edits) words += view_of(edit.result);
    return words;
}

}  // namespace

TEST(summary_parts, a_later_fold_says_truly_what_is_left_and_repeats_nothing) {
    for (const char* later : later_folds)
        for (const std::uint64_t pinned : {1u, 5u, 8u}) {
            Memory memory = folded();
            ASSERT_TRUE(memory.pin(alice, Seq{pinned}));
            const auto told = memory.compact(alice, {.policy = later});
            ASSERT_TRUE(told) << told.error().message;
            EXPECT_EQ(memory.view(alice)->totals.tokens, told->tokens_after) << later << pinned;
            const bool less = told->tokens_after < told->tokens_before;
            EXPECT_EQ(less, told->outcome == Compaction::Outcome::done) << later << pinned;
            ASSERT_TRUE(memory.unpin(alice, Seq{pinned}));
            int times = 0;
            const auto view = memory.view(alice);
            for (const Item& item : view->items)
                times += view_of(item.message.raw).contains(secret(0)) ? 1 : 0;
            EXPECT_LE(times, 1) << later << pinned;
        }
}

TEST(summary_parts, leave_nothing_of_what_is_scrubbed) {
    const std::pair<std::uint64_t, std::vector<Seq>> cases[] = {
        {1, {Seq{1}}}, {5, {Seq{7}, Seq{8}}}, {8, {Seq{8}}}};
    for (const char* later : later_folds)
        for (const auto& [pinned, scrubbed] : cases) {
            Memory memory = folded();
            ASSERT_TRUE(memory.pin(alice, Seq{pinned}));
            ASSERT_TRUE(memory.compact(alice, {.policy = later}));
            const std::string gone = secret(static_cast<int>(scrubbed.front().value - 1) / 2);
            ASSERT_TRUE(summaries_of(memory).contains(gone));
            ASSERT_TRUE(memory.scrub(alice, scrubbed));
            EXPECT_FALSE(summaries_of(memory).contains(gone)) << later << pinned;
        }
}

TEST(summary_parts, a_users_own_pass_cannot_fold_them_either) {
    Memory memory = folded();
    ASSERT_TRUE(memory.pin(alice, Seq{5}));
    const auto told =
        memory.compact(alice, {.policy = R"({"target":10,"passes":[{"pass":"all"}]})"});
    ASSERT_TRUE(told) << told.error().message;
    ASSERT_EQ(told->outcome, Compaction::Outcome::done);
    for (const Edit& edit : told->edits) EXPECT_GT(edit.range.from, Seq{8});
    EXPECT_EQ(memory.view(alice)->totals.tokens, told->tokens_after);
}

TEST(summary_parts, a_summary_of_the_callers_own_takes_it_whole_or_is_refused) {
    Memory memory = folded();
    ASSERT_TRUE(memory.pin(alice, Seq{1}));
    EXPECT_FALSE(memory.summarize(alice, {Seq{2}, Seq{10}}, "They decided."));
    EXPECT_TRUE(memory.summarize(alice, {Seq{1}, Seq{10}}, "They decided."));
    ASSERT_TRUE(memory.unpin(alice, Seq{1}));
    EXPECT_EQ(memory.view(alice)->items.front().kind, ItemKind::summary);
    EXPECT_EQ(memory.view(alice)->items[1].range.from, Seq{11});
}
