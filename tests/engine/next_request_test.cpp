// What the next request goes by: jobs, previews, compactions by hand and breakdowns count what the
// newest call sent beside the view, and use the policy that a turn would use.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine.h"
#include "support/fake_summarizer.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string words(int count) {
    std::string out = "number ";
    for (int i = 0; i < count; ++i) out += i % 2 == 0 ? "lorem " : "ipsum ";
    return out;
}

// Its messages alone are far below 1000 tokens, its system prompt is above.
const std::string rules = message("system", words(1000));
const std::string soft_fold = R"({"name":"soft","triggers":{"soft":{"tokens":1000},)"
                              R"("hard":{"tokens":9000}},"target":{"tokens":1},)"
                              R"("passes":[{"pass":"summarize","keep_turns":1}]})";

void take_turns(Memory& memory, int count, const BeginRequest& with) {
    for (int i = 0; i < count; ++i) {
        const std::string said = "[" + rules + "," + user(words(30)) + "]";
        BeginRequest request = with;
        request.messages = said;
        const auto begun = memory.begin(alice, request);
        ASSERT_TRUE(begun) << begun.error().message;
        ASSERT_TRUE(memory.finish(
            *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, words(30))}));
    }
}

std::size_t summaries_shown(Memory& memory) {
    const auto view = memory.view(alice);
    return static_cast<std::size_t>(std::ranges::count_if(
        view->items, [](const Item& item) { return item.kind == ItemKind::summary; }));
}

}  // namespace

TEST(next_request, a_soft_level_that_the_system_prompt_reaches_is_done_in_the_background) {
    Memory memory(memory_store(), {.background = true});
    take_turns(memory, 3, {.policy = soft_fold});
    EXPECT_EQ(memory.run_jobs("t").value(), 1u);
    EXPECT_EQ(summaries_shown(memory), 1u);
}

TEST(next_request, another_policy_that_the_conversation_was_given_since_ends_the_job) {
    Memory memory(memory_store(), {.background = true});
    take_turns(memory, 3, {.policy = soft_fold});
    ASSERT_TRUE(memory.patch(alice, {.policy = R"({"mode":"none"})"}));
    EXPECT_EQ(memory.run_jobs("t").value(), 0u);
    EXPECT_EQ(summaries_shown(memory), 0u);
}

TEST(next_request, another_policy_that_the_conversation_was_given_during_the_turn_leaves_no_job) {
    Memory memory(memory_store(), {.background = true});
    const std::string said = "[" + rules + "," + user(words(30)) + "]";
    for (const std::string& before : {soft_fold, std::string()}) {
        ASSERT_TRUE(memory.append(alice, {.messages = said, .header = {.policy = before}}));
        const std::string more = user(words(30));
        const auto begun = memory.begin(alice, {.messages = more});
        ASSERT_TRUE(begun) << begun.error().message;
        (void)memory.run_jobs("t");
        const std::string other = R"({"summarizer_model":"dear",)" + soft_fold.substr(1);
        ASSERT_TRUE(memory.patch(alice, {.policy = other}));
        const auto finished = memory.finish(
            *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, words(30))});
        ASSERT_TRUE(finished) << finished.error().message;
        EXPECT_FALSE(finished->summary_due);
        EXPECT_EQ(memory.run_jobs("t").value(), 0u);
    }
}

// Whoever made it due may have been allowed less than the new one names.
TEST(next_request, also_one_by_which_it_would_be_due_is_left_to_the_next_turn) {
    const auto summarizer = std::make_shared<testing_support::FakeSummarizer>();
    Memory memory(memory_store(), {.summarizer = summarizer, .background = true});
    take_turns(memory, 3, {.policy = soft_fold});
    ASSERT_TRUE(
        memory.patch(alice, {.policy = R"({"summarizer_model":"dear",)" + soft_fold.substr(1)}));
    EXPECT_EQ(memory.run_jobs("t").value(), 0u);
    EXPECT_EQ(summarizer->calls, 0);
    take_turns(memory, 1, {});
    EXPECT_EQ(memory.run_jobs("t").value(), 1u);
}

TEST(next_request, so_is_one_that_the_tools_reach) {
    Memory memory(memory_store(), {.background = true});
    const std::string tools = R"([{"type":"function","function":{"name":"look","description":")" +
                              words(1000) +
                              R"(","parameters":{"type":"object","properties":{}}}}])";
    for (int i = 0; i < 3; ++i) {
        const std::string said = user(words(30));
        const auto begun =
            memory.begin(alice, {.messages = said, .tools = tools, .policy = soft_fold});
        ASSERT_TRUE(begun) << begun.error().message;
    }
    EXPECT_EQ(memory.run_jobs("t").value(), 1u);
    EXPECT_EQ(summaries_shown(memory), 1u);
}

TEST(next_request, compaction_by_hand_counts_what_the_breakdown_counts) {
    Memory memory = open_memory();
    take_turns(memory, 3, {.model = "gpt-4o"});
    const auto breakdown = memory.breakdown(alice);
    const auto preview = memory.compact(alice, {.policy = soft_fold, .preview = true});
    ASSERT_TRUE(preview) << preview.error().message;
    EXPECT_EQ(breakdown->model, "gpt-4o");
    EXPECT_EQ(preview->report.used_before, breakdown->used);
    const auto done = memory.compact(alice, {.policy = soft_fold});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.used_before, breakdown->used);
    EXPECT_EQ(done->report.used_after, memory.breakdown(alice)->used);
}

TEST(next_request, a_view_for_a_window_leaves_room_for_the_system_prompt) {
    Memory memory = open_memory();
    take_turns(memory, 3, {});
    const std::string trim = R"({"triggers":{"hard":{"window_share":1}},)"
                             R"("passes":[{"pass":"keep_last","turns":1}]})";
    const std::uint64_t used = memory.breakdown(alice)->used;
    ASSERT_GT(used, 2 * memory.view(alice)->tokens);
    EXPECT_EQ(memory.view(alice, {.window = used + 1, .policy = trim})->items.size(), 6u);
    EXPECT_EQ(memory.view(alice, {.window = used - 1, .policy = trim})->items.size(), 2u);
}

TEST(next_request, everybody_uses_the_policy_of_the_agent) {
    const std::string trim = R"({"mode":"trim","max_user_turns":2,"keep_last_user_turns":1})";
    Memory memory(memory_store(), {.policy = "balanced"});
    ASSERT_TRUE(memory.put_agent("t", {.key = "support", .policy = trim}));
    take_turns(memory, 2, {.agent = "support"});
    const auto breakdown = memory.breakdown(alice);
    ASSERT_FALSE(breakdown->triggers.empty());
    EXPECT_EQ(breakdown->triggers.front().trigger, "turns");
    EXPECT_EQ(breakdown->triggers.front().at, 2);
    EXPECT_EQ(memory.compact(alice, {.preview = true})->report.policy, "trim");
    ASSERT_TRUE(memory.append(alice, {.messages = user("a third turn")}));
    EXPECT_EQ(memory.view(alice, {.window = 9000})->items.size(), 1u);
    // What is said for the conversation stands above it, and what is asked for above that.
    ASSERT_TRUE(memory.patch(alice, {.policy = R"({"name":"own","triggers":{"turns":9},)"
                                               R"("passes":[{"pass":"drop_oldest"}]})"}));
    EXPECT_EQ(memory.compact(alice, {.preview = true})->report.policy, "own");
    EXPECT_EQ(memory.compact(alice, {.policy = soft_fold, .preview = true})->report.policy, "soft");
}

TEST(next_request, before_the_first_call_the_agent_tells_what_will_be_sent) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.put_agent(
        "t", {.key = "support", .model = "gpt-4o", .system_prompt = "You help customers."}));
    ASSERT_TRUE(memory.create(alice, {.metadata_merge = R"({"agent_type":"support"})"}));
    ASSERT_TRUE(memory.append(alice, {.messages = user("hello")}));
    const auto breakdown = memory.breakdown(alice);
    ASSERT_TRUE(breakdown) << breakdown.error().message;
    EXPECT_EQ(breakdown->model, "gpt-4o");
    EXPECT_GT(breakdown->parts.front().tokens, 0u) << "the system prompt";
}

// ---- what is told of a compaction ---------------------------------------------------------------

namespace {

const std::string hard_fold = R"({"name":"hard","triggers":{"hard":{"turns":2}},)"
                              R"("target":{"tokens":1},)"
                              R"("passes":[{"pass":"summarize","keep_turns":1}]})";

// "... takes N tokens, M after; ..."
std::string in_words(const CompactionReport& report) {
    return "the request takes " + std::to_string(report.used_before) + " tokens, " +
           std::to_string(report.used_after) + " after;";
}

}  // namespace

TEST(compaction_report, the_words_have_the_numbers_of_the_summary_that_stands) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory(memory_store(), {.summarizer = summarizer});
    take_turns(memory, 3, {});
    const auto done = memory.compact(alice, {.policy = hard_fold});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.summarizer, "gpt-4o-mini");
    EXPECT_TRUE(done->report.explanation.starts_with(in_words(done->report)))
        << done->report.explanation << " beside " << done->report.used_after;
}

TEST(compaction_report, of_the_background_is_about_the_view_that_it_was_spliced_into) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory(memory_store(), {.summarizer = summarizer, .background = true});
    take_turns(memory, 3, {.policy = soft_fold});
    std::uint64_t before = 0;
    summarizer->meanwhile = [&] {
        take_turns(memory, 2, {.policy = soft_fold});
        before = memory.view(alice)->tokens;
    };
    EXPECT_EQ(memory.run_jobs("t").value(), 1u);
    const auto summaries = memory.summaries(alice);
    ASSERT_EQ(summaries->size(), 1u);
    const auto told = memory.find_compaction(alice, summaries->front().seq);
    const auto view = memory.view(alice);
    EXPECT_EQ(told->tokens_before, before);
    EXPECT_EQ(told->tokens_after, view->tokens);
    EXPECT_EQ(told->report.messages_before, 10u);
    EXPECT_EQ(told->report.messages_after, view->items.size());
    EXPECT_EQ(told->report.used_after, memory.breakdown(alice)->used);
    EXPECT_TRUE(told->report.explanation.starts_with(in_words(told->report)))
        << told->report.explanation;
}

TEST(compaction_report, of_ones_own_edit_is_about_the_view_that_it_was_spliced_into) {
    Memory memory = memory_with({user("one " + words(9)), assistant("two"), user("three")});
    const View based_on = *memory.view(alice);
    ASSERT_TRUE(memory.append(alice, {.messages = assistant("four " + words(9))}));
    const std::uint64_t before = memory.view(alice)->tokens;
    const auto done = memory.splice(alice, based_on, {fold(1, 2, "s")}, Cause::request);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->tokens_before, before);
    EXPECT_EQ(done->tokens_after, memory.view(alice)->tokens);
    EXPECT_EQ(done->report.messages_before, 4u);
}

TEST(compaction_report, of_a_preview_costs_nothing_and_says_who_wrote_the_summary) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory(memory_store(), {.summarizer = summarizer});
    take_turns(memory, 3, {});
    const auto preview = memory.compact(alice, {.policy = hard_fold, .preview = true});
    ASSERT_TRUE(preview) << preview.error().message;
    EXPECT_EQ(preview->outcome, Compaction::Outcome::done);
    EXPECT_EQ(summarizer->calls, 0);
    EXPECT_EQ(preview->report.summarizer, "extractive");
    EXPECT_TRUE(preview->report.explanation.contains("a preview asks no model"))
        << preview->report.explanation;
    const auto done = memory.compact(alice, {.policy = hard_fold});
    EXPECT_EQ(summarizer->calls, 1);
    ASSERT_EQ(done->edits.size(), preview->edits.size());
    EXPECT_EQ(done->edits.front().range, preview->edits.front().range) << "the same is folded";
}

TEST(compaction_report, an_answer_of_no_use_is_counted_and_paid_for) {
    struct Useless : FakeSummarizer {
        Result<SummaryText> summarize(const SummaryCall& call) override {
            auto answer = FakeSummarizer::summarize(call);
            answer->fault = "the model gpt-4o-mini wrote no summary";
            return answer;
        }
    };
    Memory memory(memory_store(), {.summarizer = std::make_shared<Useless>()});
    take_turns(memory, 3, {});
    const auto done = memory.compact(alice, {.policy = hard_fold});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.summarizer, "extractive");
    EXPECT_EQ(done->report.summary_calls, 1u);
    EXPECT_EQ(done->report.summary_input, 1000u);
    EXPECT_GT(done->report.summary_cost, 0);
    EXPECT_NE(done->report.explanation.find("wrote no summary"), std::string::npos);
}

TEST(compaction_report, other_names_of_a_strategy_are_told_under_the_usual_ones) {
    Memory memory = open_memory();
    take_turns(memory, 4, {});
    const auto done = memory.compact(
        alice, {.policy = R"({"strategy":"trim","max_user_turns":3,"keep_last_turns":2})"});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->report.keep_turns, 2u);
    EXPECT_EQ(done->report.trigger_turns, 3u);
}

// ---- a summary of one's own over another --------------------------------------------------------

TEST(own_summary, takes_an_older_one_in_whole_or_leaves_it_alone) {
    Memory memory = memory_with({user("one " + words(9)), assistant("two " + words(9)),
                                 user("three " + words(9)), assistant("four " + words(9)),
                                 user("five " + words(19)), assistant("six " + words(9))});
    ASSERT_TRUE(memory.summarize(alice, {Seq{1}, Seq{4}}, "first four"));
    const std::string shown = texts(*memory.view(alice));
    struct Case {
        std::uint64_t from, to;
        const char* why;
    };
    for (const auto& [from, to, why] :
         {Case{2, 3, "inside"}, Case{1, 3, "its beginning"}, Case{4, 5, "its end and more"}}) {
        const auto refused = memory.summarize(alice, {Seq{from}, Seq{to}}, "again");
        ASSERT_FALSE(refused) << why;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << why;
        EXPECT_NE(refused.error().message.find("the summary of 1 to 4"), std::string::npos)
            << refused.error().message;
    }
    EXPECT_EQ(texts(*memory.view(alice)), shown);
    const auto wider = memory.summarize(alice, {Seq{1}, Seq{5}}, "first five");
    ASSERT_TRUE(wider) << wider.error().message;
    const std::string now = texts(*memory.view(alice));
    EXPECT_NE(now.find("first five"), std::string::npos);
    EXPECT_EQ(now.find("first four"), std::string::npos) << now;
}

TEST(own_summary, of_what_is_not_shown_is_refused) {
    Memory memory = memory_with({user("one"), assistant("two"), user("three")});
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{2}}));
    const auto refused = memory.summarize(alice, {Seq{1}, Seq{2}}, "the beginning");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
}

TEST(own_summary, of_more_tokens_than_what_it_stands_for_is_refused_with_both_numbers) {
    Memory memory = memory_with({user(words(20)), assistant("four five"), user("six")});
    const std::string shown = texts(*memory.view(alice));
    const auto refused = memory.summarize(alice, {Seq{1}, Seq{2}}, words(40));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(refused.error().param, "text");
    EXPECT_EQ(refused.error().message,
              "the summary has 58 tokens with its heading; what it would stand for has 24");
    EXPECT_EQ(texts(*memory.view(alice)), shown);
    EXPECT_TRUE(memory.summarize(alice, {Seq{1}, Seq{2}}, "one to five"));
}

TEST(own_summary, of_a_range_beyond_the_end_of_the_log_is_refused) {
    Memory memory = memory_with({user("one " + words(9)), assistant("two"), user("three")});
    for (const Range range : {Range{Seq{1}, Seq{4}}, Range{Seq{2}, Seq{UINT64_MAX}}}) {
        const auto refused = memory.summarize(alice, range, "counting");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(refused.error().param, "to");
        EXPECT_TRUE(refused.error().message.contains("the log ends at seq 3"))
            << refused.error().message;
    }
}
