// The tool loop: rounds, results, limits, events.
#include "palimpsest/chat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>

#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;
using Outcome = ChatDone::Outcome;

namespace {

struct Counter {
    int ran = 0;
    Tool tool(std::string name = "look") {
        return make_tool(std::move(name), [this](std::string_view arguments) {
            ++ran;
            return Result<std::string>("saw " + std::string(arguments));
        });
    }
};

const std::string hello = user("hello");

std::string last_result(Memory& memory) {
    const auto view = memory.view(alice);
    std::string text;
    for (const Item& item : view->items)
        if (!item.message.shape.results.empty()) text = text_of(item.message);
    return text;
}

}  // namespace

TEST(chat, a_tool_round_runs_the_tool_and_asks_the_model_again) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", R"({"at":1})"}}).says("done");
    const auto done = chat(memory, alice, {.messages = hello}, model, {.tools = {counter.tool()}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, Outcome::done);
    EXPECT_EQ(done->text, "done");
    EXPECT_EQ(done->rounds, 2u);
    EXPECT_EQ(counter.ran, 1);
    EXPECT_EQ(done->usage.input, 200u);
    EXPECT_EQ(done->usage.output, 20u);
    EXPECT_EQ(model.sent.at(1), R"(hello call:c1 saw {"at":1})");
    EXPECT_EQ(texts(*memory.view(alice)), R"(hello call:c1 saw {"at":1} done)");
    EXPECT_NE(model.tools.find(R"("name":"look")"), std::string::npos);
}

TEST(chat, compacts_between_tool_rounds_and_keeps_the_running_pair) {
    Memory memory = memory_with(
        {user("old one"), assistant("old two"), user("old three"), assistant("old four")});
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", R"({"at":1})"}}).says("done");
    std::string order;
    const auto listen = [&](const ChatEvent& event) {
        using Kind = ChatEvent::Kind;
        if (event.kind == Kind::compaction) order += "compaction ";
        if (event.kind == Kind::tool_finished) order += "tool ";
        if (event.kind == Kind::usage) order += "round ";
        return true;
    };
    const auto done = chat(memory, alice,
                           {.messages = hello,
                            .policy = R"({"triggers":{"messages":6},)"
                                      R"("passes":[{"pass":"keep_last","turns":1}]})"},
                           model, {.tools = {counter.tool()}, .on_event = listen});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(model.sent.at(0), "old one old two old three old four hello");
    EXPECT_EQ(model.sent.at(1), R"(hello call:c1 saw {"at":1})");
    EXPECT_EQ(order, "round tool compaction round ");
}

TEST(chat, nothing_is_compacted_without_a_policy) {
    Memory memory = open_memory();
    ScriptedModel model;
    for (int i = 0; i < 30; ++i) {
        model.says("yes");
        ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model));
    }
    EXPECT_EQ(memory.view(alice)->items.size(), 60u);
    EXPECT_TRUE(memory.log(alice, {.kinds = only(EntryKind::compaction)})->empty());
}

TEST(chat, an_answer_that_ran_into_its_limit_is_kept_and_said_to_be) {
    Memory memory = open_memory();
    ScriptedModel model;
    model.says("and so on and").says("on");
    Reply cut = model.take();
    cut.stop = StopReason::length;
    ScriptedModel cutting;
    cutting.plays(std::move(cut)).says("on");
    const auto done = chat(memory, alice, {.messages = hello}, cutting);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->stop, StopReason::length);
    EXPECT_EQ(done->text, "and so on and");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, cutting));
    EXPECT_EQ(cutting.sent.at(1), "hello and so on and hello");
}

TEST(chat, the_preamble_is_sent_in_every_round_and_never_stored) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}}).says("done").says("later");
    const std::string said = "[" + message("system", "be brief") + "," + hello + "]";
    ASSERT_TRUE(chat(memory, alice, {.messages = said}, model, {.tools = {counter.tool()}}));
    EXPECT_EQ(model.sent.at(0), "be brief hello");
    EXPECT_EQ(model.sent.at(1), "be brief hello call:c1 saw {}");
    const std::string next = "[" + message("system", "be kind") + "," + user("again") + "]";
    ASSERT_TRUE(chat(memory, alice, {.messages = next}, model));
    EXPECT_EQ(model.sent.at(2), "be kind hello call:c1 saw {} done again");
}

TEST(chat, an_unknown_failing_or_throwing_tool_becomes_an_error_result) {
    Memory memory = open_memory();
    ScriptedModel model;
    model.asks_for({{"nobody", "{}"}, {"fails", "{}"}, {"throws", "{}"}}).says("done");
    const Tool fails = make_tool("fails", [](std::string_view) -> Result<std::string> {
        return fail(ErrorCode::unavailable, "no network");
    });
    const Tool throws = make_tool("throws", [](std::string_view) -> Result<std::string> {
        throw std::runtime_error("out of paper");
    });
    const auto done = chat(memory, alice, {.messages = hello}, model, {.tools = {fails, throws}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(model.sent.at(1),
              "hello call:c1call:c2call:c3 Error: tool not found Error: no network "
              "Error: out of paper");
}

TEST(chat, malformed_arguments_never_run_and_the_model_is_told) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    Tool tool = counter.tool();
    tool.schema = R"({"type":"object","required":["at"],"properties":{"at":{"type":"integer"}}})";
    const std::string broken = R"({"at": )" + std::string(5000, 'x');
    model.asks_for({{"look", broken}, {"look", "[1]"}, {"look", R"({"at":"one"})"}}).says("sorry");
    const auto done = chat(memory, alice, {.messages = hello}, model, {.tools = {tool}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(counter.ran, 0);
    EXPECT_NE(model.sent.at(1).find("the tool was not run"), std::string::npos);
    EXPECT_NE(model.sent.at(1).find("'at' must be of type integer"), std::string::npos);
    EXPECT_EQ(model.sent.at(1).find(std::string(1025, 'x')), std::string::npos);
    EXPECT_TRUE(all_answered(memory));
}

TEST(chat, no_arguments_at_all_are_an_empty_object) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", ""}}).says("done");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = {counter.tool()}}));
    EXPECT_EQ(last_result(memory), "saw {}");
}

TEST(chat, the_cap_on_rounds_answers_the_open_calls_and_ends_the_turn) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    for (int i = 0; i < 3; ++i) model.asks_for({{"look", "{\"n\":" + std::to_string(i) + "}"}});
    const BeginRequest request{.messages = hello, .write = {.key = "k"}};
    const ChatOptions options{.tools = {counter.tool()}, .rounds_max = 3};
    const auto done = chat(memory, alice, request, model, options);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, Outcome::rounds_exceeded);
    EXPECT_EQ(done->rounds, 3u);
    EXPECT_EQ(counter.ran, 2);
    EXPECT_EQ(last_result(memory), "Error: the tool was not run: the limit of rounds was reached");
    EXPECT_TRUE(all_answered(memory));
    // A repeat gives the same end; a higher limit goes on.
    const auto again = chat(memory, alice, request, model, options);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->outcome, Outcome::rounds_exceeded);
    EXPECT_EQ(model.calls, 3);
    model.says("at last");
    ChatOptions more = options;
    more.rounds_max = 5;
    const auto further = chat(memory, alice, request, model, more);
    ASSERT_TRUE(further) << further.error().message;
    EXPECT_EQ(further->text, "at last");
    EXPECT_EQ(further->rounds, 4u);
    EXPECT_EQ(counter.ran, 2);
}

TEST(chat, the_cap_on_costs_counts_all_rounds) {
    MemoryOptions own;
    own.models.push_back({.name = "scripted", .input_price = 1e4, .output_price = 1e4});
    Memory memory(memory_store(), own);  // 1.1 dollars for each round
    ScriptedModel model;
    Counter counter;
    for (int i = 0; i < 4; ++i) model.asks_for({{"look", "{\"n\":" + std::to_string(i) + "}"}});
    const auto done = chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model,
                           {.tools = {counter.tool()}, .cost_max = 2.0});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, Outcome::cost_exceeded);
    EXPECT_EQ(done->rounds, 2u);
    EXPECT_NEAR(done->cost.value_or(0), 2.2, 1e-9);
    EXPECT_TRUE(all_answered(memory));
    const auto again = chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model,
                            {.tools = {counter.tool()}, .cost_max = 2.0});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->outcome, Outcome::cost_exceeded);
    EXPECT_NEAR(again->cost.value_or(0), 2.2, 1e-9);
    EXPECT_EQ(model.calls, 2);
}

TEST(chat, the_same_call_again_and_again_is_nudged_once_and_then_ends_the_turn) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    for (const char* spelling : {R"({"a":1,"b":2})", R"({"b":2,"a":1})", R"({"a":1, "b":2})"})
        model.asks_for({{"look", spelling}});
    model.asks_for({{"look", R"({"a":1,"b":2})"}});
    const auto done = chat(memory, alice, {.messages = hello}, model,
                           {.tools = {counter.tool()}, .identical_calls_max = 2});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, Outcome::identical_calls);
    EXPECT_EQ(counter.ran, 2);
    EXPECT_NE(model.sent.at(3).find("2 times in a row with the same arguments"), std::string::npos);
    EXPECT_TRUE(all_answered(memory));
}

TEST(chat, marked_tools_run_at_the_same_time_and_their_results_keep_the_order) {
    Memory memory = open_memory();
    ScriptedModel model;
    std::latch both(2);  // Passed only when both run at once.
    const auto meet = [&](std::string_view arguments) {
        both.arrive_and_wait();
        return Result<std::string>(std::string(arguments));
    };
    Tool tool = make_tool("meet", meet);
    tool.parallel = true;
    model.asks_for({{"meet", R"({"n":1})"}, {"meet", R"({"n":2})"}}).says("done");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = {tool}}));
    EXPECT_EQ(model.sent.at(1), R"(hello call:c1call:c2 {"n":1} {"n":2})");
}

TEST(chat, a_tool_that_takes_too_long_is_asked_to_stop_and_answered_for) {
    Memory memory = open_memory();
    ScriptedModel model;
    auto told = std::make_shared<std::atomic<bool>>(false);
    Tool slow{.name = "slow",
              .run =
                  [told](std::string_view, std::stop_token stop) {
                      while (!stop.stop_requested()) std::this_thread::yield();
                      *told = true;
                      return Result<std::string>("too late");
                  },
              .timeout = std::chrono::milliseconds(5)};
    model.asks_for({{"slow", "{}"}}).says("done");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = {slow}}));
    EXPECT_EQ(last_result(memory), "Error: no result within 5 ms; the tool was asked to stop");
    while (!*told) std::this_thread::yield();
}

TEST(chat, a_result_that_is_too_long_is_an_error) {
    Memory memory = open_memory();
    ScriptedModel model;
    const Tool big = make_tool(
        "big", [](std::string_view) { return Result<std::string>(std::string(2000, 'x')); });
    model.asks_for({{"big", "{}"}}).says("done");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model,
                     {.tools = {big}, .result_bytes_max = 1000}));
    EXPECT_EQ(last_result(memory),
              "Error: the result has 2000 bytes, at most 1000 are taken; ask for less");
}

TEST(chat, events_come_in_order_with_the_usage_of_each_round) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}}).says("done");
    std::string heard;
    const auto listen = [&](const ChatEvent& event) {
        using Kind = ChatEvent::Kind;
        const std::string round = std::to_string(event.round);
        if (event.kind == Kind::text) heard += round + "text:" + std::string(event.text) + " ";
        if (event.kind == Kind::tool_started)
            heard += round + "start:" + std::string(event.name) + " ";
        if (event.kind == Kind::tool_finished)
            heard += round + "end:" + std::string(event.text) + " ";
        if (event.kind == Kind::usage)
            heard += round + "usage:" + std::to_string(event.usage.input) + " ";
        return true;
    };
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model,
                     {.tools = {counter.tool()}, .on_event = listen}));
    EXPECT_EQ(heard, "1usage:100 1start:look 1end:saw {} 2text:done 2usage:100 ");
}

TEST(chat, a_listener_that_has_enough_keeps_the_answer_marked_interrupted) {
    Memory memory = open_memory();
    ScriptedModel model;
    model.says("half of it");
    const auto done = chat(memory, alice, {.messages = hello}, model,
                           {.on_event = [](const ChatEvent&) { return false; }});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->outcome, Outcome::interrupted);
    EXPECT_EQ(done->text, "half of it");
    EXPECT_TRUE(memory.view(alice)->items.back().interrupted);
}

TEST(chat, calls_of_a_cut_answer_are_answered_and_not_run) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}});
    model.last().interrupted = true;
    const auto done = chat(memory, alice, {.messages = hello}, model, {.tools = {counter.tool()}});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->outcome, Outcome::interrupted);
    EXPECT_EQ(counter.ran, 0);
    EXPECT_TRUE(all_answered(memory));
}

TEST(chat, a_stop_during_a_tool_answers_every_call_and_keeps_what_ran) {
    Memory memory = open_memory();
    ScriptedModel model;
    std::stop_source stop;
    const Tool first = make_tool("first", [&](std::string_view) {
        stop.request_stop();
        return Result<std::string>("ran");
    });
    Counter counter;
    model.asks_for({{"first", "{}"}, {"look", "{}"}}).says("next turn");
    const auto done = chat(memory, alice, {.messages = hello}, model,
                           {.tools = {first, counter.tool()}, .stop = stop.get_token()});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->outcome, Outcome::interrupted);
    EXPECT_EQ(counter.ran, 0);
    EXPECT_EQ(texts(*memory.view(alice)),
              "hello call:c1call:c2 ran Error: the tool was not run: the turn was stopped");
    const std::string more = user("more");
    ASSERT_TRUE(chat(memory, alice, {.messages = more}, model));
}

TEST(chat, a_model_error_is_passed_on_and_leaves_what_was_said) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}}).fails(ErrorCode::rate_limited, "slow down").says("done");
    const BeginRequest request{.messages = hello, .write = {.key = "k"}};
    const ChatOptions options{.tools = {counter.tool()}};
    const auto failed = chat(memory, alice, request, model, options);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::rate_limited);
    EXPECT_EQ(texts(*memory.view(alice)), "hello call:c1 saw {}");
    const auto again = chat(memory, alice, request, model, options);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->text, "done");
    EXPECT_EQ(counter.ran, 1);
    EXPECT_EQ(model.calls, 3);
    EXPECT_EQ(texts(*memory.view(alice)), "hello call:c1 saw {} done");
}

TEST(chat, a_repeat_of_a_finished_turn_asks_nobody_and_runs_nothing) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}}).says("done");
    const BeginRequest request{.messages = hello, .write = {.key = "k"}};
    const ChatOptions options{.tools = {counter.tool()}};
    const auto first = chat(memory, alice, request, model, options);
    const auto again = chat(memory, alice, request, model, options);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(again->text, "done");
    EXPECT_EQ(again->rounds, first->rounds);
    EXPECT_EQ(again->usage.input, first->usage.input);
    EXPECT_EQ(again->finished.seq, first->finished.seq);
    EXPECT_EQ(model.calls, 2);
    EXPECT_EQ(counter.ran, 1);
}

TEST(chat, two_tools_of_one_name_or_a_broken_schema_are_refused_before_anything_is_said) {
    Memory memory = open_memory();
    ScriptedModel model;
    Counter counter;
    EXPECT_EQ(
        chat(memory, alice, {.messages = hello}, model, {.tools = {counter.tool(), counter.tool()}})
            .error()
            .code,
        ErrorCode::invalid_request);
    Tool broken = counter.tool();
    broken.schema = "{";
    EXPECT_FALSE(chat(memory, alice, {.messages = hello}, model, {.tools = {broken}}));
    EXPECT_EQ(memory.head(alice).error().code, ErrorCode::not_found);
}

TEST(chat, works_in_every_format_with_tools_one_after_the_other) {
    struct Case {
        FormatId format;
        std::string asks, says;
    };
    const Case cases[] = {
        {FormatId::openai_chat,
         R"({"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}]})",
         assistant("done")},
        {FormatId::anthropic,
         R"({"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}},{"type":"tool_use","id":"b","name":"look","input":{}}]})",
         R"({"role":"assistant","content":[{"type":"text","text":"done"}]})"},
    };
    for (const Case& one : cases) {
        for (const FormatId said : {FormatId::openai_chat, FormatId::anthropic}) {
            Memory memory = open_memory();
            ScriptedModel model(one.format);
            Counter counter;
            model.answers(one.asks).answers(one.says);
            const auto done = chat(memory, alice, {.messages = hello, .format = said}, model,
                                   {.tools = {counter.tool()}});
            ASSERT_TRUE(done) << done.error().message;
            EXPECT_EQ(done->text, "done");
            EXPECT_EQ(counter.ran, 2);
        }
    }
}

TEST(chat, items_of_one_answer_are_stored_together_and_in_order) {
    Memory memory = open_memory();
    ScriptedModel model(FormatId::openai_responses);
    Counter counter;
    Reply reply;
    for (const char* item :
         {R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"})",
          R"({"type":"function_call","id":"fc_1","call_id":"a","name":"look","arguments":"{}"})",
          R"({"type":"function_call","id":"fc_2","call_id":"b","name":"look","arguments":"{}"})"})
        reply.messages.push_back(*read_message(FormatId::openai_responses, make_bytes(item)));
    model.plays(std::move(reply));
    model.answers(
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]})");
    const BeginRequest request{
        .messages = hello, .format = FormatId::openai_responses, .write = {.key = "k"}};
    for (int repeat = 0; repeat < 2; ++repeat) {
        const auto done = chat(memory, alice, request, model, {.tools = {counter.tool()}});
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->text, "done");
        EXPECT_EQ(counter.ran, 2);
        EXPECT_EQ(model.calls, 2);
    }
    const auto log = memory.log(alice, {.kinds = only(EntryKind::message)});
    ASSERT_EQ(log->size(), 7u);
    for (std::size_t i = 1; i <= 3; ++i)
        EXPECT_EQ(std::get<MessageEntry>((*log)[i].body).answers, (*log)[0].seq);
}

TEST(chat, what_all_calls_took_is_summed_by_day) {
    MemoryOptions own;
    own.models.push_back({.name = "scripted", .input_price = 1e4, .output_price = 1e4});
    Time now = Time(std::chrono::hours(24));
    own.store.clock = [&] { return now; };
    auto store = open_store("memory:?ttl=0&max=0", own.store);
    Memory memory(std::move(*store), own);
    ScriptedModel model;
    Counter counter;
    model.asks_for({{"look", "{}"}}).says("done").says("next day");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = {counter.tool()}}));
    now += std::chrono::hours(24);
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model));
    const auto days = usage_by_day(memory, alice);
    ASSERT_TRUE(days && days->size() == 2u);
    EXPECT_EQ((*days)[0].day, "1970-01-02");
    EXPECT_EQ((*days)[0].calls, 2u);
    EXPECT_EQ((*days)[0].usage.input, 200u);
    EXPECT_NEAR((*days)[0].cost, 2.2, 1e-9);
    EXPECT_EQ((*days)[1].calls, 1u);
}
