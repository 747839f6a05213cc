// Repeats of turns that have no answer yet: what is sent for them is held to the policy like what
// any call sends, and nothing is asked or written for nothing.
#include <gtest/gtest.h>

#include <functional>

#include "engine/call_note.h"
#include "palimpsest/chat.h"
#include "support/engine.h"
#include "support/fake_summarizer.h"
#include "support/scripted_model.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view keep_one =
    R"({"triggers":{"messages":400},"passes":[{"pass":"keep_last","turns":1}]})";
constexpr std::string_view folds =
    R"({"triggers":{"messages":4},"target":{"tokens":1},"passes":[{"pass":"summarize","keep_turns":1}]})";

std::string words(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "number ";
    return out;
}

Memory with_tiny_window(std::shared_ptr<Summarizer> summarizer = {}) {
    MemoryOptions options;
    options.models = {{.name = "tiny", .window_tokens = 200}};
    options.summarizer = std::move(summarizer);
    return Memory(memory_store(), std::move(options));
}

// One message that is larger than the window and must stay.
void say_too_much(Memory& memory) {
    const std::string list = "[" + user(words(400)) + "," + assistant("noted") + "]";
    ASSERT_TRUE(memory.append(alice, {.messages = list}));
    ASSERT_TRUE(memory.pin(alice, Seq{1}));
}

Result<Begun> ask(Memory& memory, std::string_view policy, bool resend = false) {
    const std::string said = user("and now?");
    return memory.begin(alice, {.messages = said,
                                .model = "tiny",
                                .policy = std::string(policy),
                                .write = {.key = "k"},
                                .resend = resend});
}

Seq end_of(Memory& memory) {
    return memory.head(alice)->end;
}

std::size_t calls_sent(Memory& memory) {
    std::size_t sent = 0;
    const auto notes = memory.log(alice, {.kinds = only(EntryKind::note)});
    for (const Entry& entry : *notes) sent += was_sent(std::get<NoteEntry>(entry.body)) ? 1 : 0;
    return sent;
}

}  // namespace

TEST(turn_again, a_repeat_of_what_was_refused_is_refused_and_writes_nothing) {
    for (const std::string_view policy : {keep_one, std::string_view("\"strict\"")}) {
        Memory memory = with_tiny_window();
        say_too_much(memory);
        ASSERT_EQ(ask(memory, policy).error().code, ErrorCode::budget_unreachable);
        const Seq end = end_of(memory);
        for (int repeat = 0; repeat < 3; ++repeat)
            EXPECT_EQ(ask(memory, policy).error().code, ErrorCode::budget_unreachable) << policy;
        EXPECT_EQ(end_of(memory), end);
        EXPECT_EQ(calls_sent(memory), 0u) << "nothing was sent";
    }
}

TEST(turn_again, a_repeat_fits_once_what_was_in_its_way_is_gone) {
    for (const bool resend : {false, true}) {
        Memory memory = with_tiny_window();
        say_too_much(memory);
        ASSERT_EQ(ask(memory, keep_one, resend).error().code, ErrorCode::budget_unreachable);
        ASSERT_TRUE(memory.unpin(alice, Seq{1}));
        const auto begun = ask(memory, keep_one, resend);
        ASSERT_TRUE(begun) << begun.error().message;
        EXPECT_TRUE(begun->compaction);
        EXPECT_EQ(texts(begun->view), "and now?");
        EXPECT_EQ(begun->turn, Seq{4}) << "what is asked was said once, behind the pin";
        EXPECT_EQ(calls_sent(memory), 1u);
        // Its answer is that of every later repeat.
        const Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, "hi")};
        ASSERT_TRUE(memory.finish(*begun, answer));
        const auto again = ask(memory, keep_one, resend);
        ASSERT_TRUE(again && again->already);
        EXPECT_EQ(again->view.seq, begun->view.seq);
        EXPECT_EQ(memory.head(alice)->messages, 4u);
    }
}

TEST(turn_again, a_repeat_is_held_to_the_policy_of_its_time) {
    Memory memory = with_tiny_window();
    const std::string said = user("and now?");
    const std::string list = "[" + user(words(100)) + "," + assistant("noted") + "]";
    ASSERT_TRUE(memory.append(alice, {.messages = list}));
    const auto ask_again = [&] {
        return memory.begin(alice, {.messages = said, .model = "tiny", .write = {.key = "k"}});
    };
    const auto first = ask_again();
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->view.items.size(), 3u);
    ASSERT_TRUE(memory.patch(alice, {.policy = R"({"mode":"trim","token_budget":50})"}));
    const auto again = ask_again();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(texts(again->view), "and now?");
}

TEST(turn_again, a_repeat_whose_conversation_went_on_is_not_answered_with_something_else) {
    const std::string other = "[" + user("other") + "," + assistant("other answer") + "]";
    const struct {
        std::string_view meanwhile;
        std::function<bool(Memory&, Seq asked)> happens;
    } cases[] = {
        {"another turn was answered",
         [&](Memory& memory, Seq) {
             return memory.append(alice, {.messages = other}).has_value();
         }},
        {"another turn asks",
         [&](Memory& memory, Seq) {
             return memory.append(alice, {.messages = user("other")}).has_value();
         }},
        {"what was asked is taken back",
         [&](Memory& memory, Seq asked) {
             return memory.retract(alice, {asked, asked}).has_value();
         }},
    };
    for (const auto& [meanwhile, happens] : cases) {
        Memory memory = with_tiny_window();
        say_too_much(memory);
        ASSERT_EQ(ask(memory, keep_one).error().code, ErrorCode::budget_unreachable);
        ASSERT_TRUE(memory.unpin(alice, Seq{1}));
        ASSERT_TRUE(happens(memory, Seq{4})) << meanwhile;
        const Seq end = end_of(memory);
        const auto again = ask(memory, keep_one);
        ASSERT_FALSE(again) << meanwhile << ": " << texts(again->view);
        EXPECT_EQ(again.error().code, ErrorCode::budget_unreachable) << meanwhile;
        EXPECT_TRUE(again.error().message.contains("went on")) << again.error().message;
        EXPECT_EQ(end_of(memory), end) << meanwhile;
    }
}

TEST(turn_again, a_repeat_that_was_compacted_and_not_answered_is_sent_again) {
    Memory memory = with_tiny_window();
    say_too_much(memory);
    const std::string said =
        "[" + user("first") + "," + assistant("yes") + "," + user("last") + "]";
    const auto ask_again = [&] {
        return memory.begin(alice, {.messages = said,
                                    .model = "tiny",
                                    .policy = std::string(keep_one),
                                    .write = {.key = "k"}});
    };
    ASSERT_EQ(ask_again().error().code, ErrorCode::budget_unreachable);
    ASSERT_TRUE(memory.unpin(alice, Seq{1}));
    for (int repeat = 0; repeat < 3; ++repeat) {
        const auto again = ask_again();
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(texts(again->view), "last");
    }
}

TEST(turn_again, what_others_reported_since_does_not_make_a_repeat_too_much) {
    constexpr std::string_view by_report =
        R"({"triggers":{"reported_tokens":100},"passes":[{"pass":"keep_last","turns":1}]})";
    Memory memory = open_memory();
    const auto answer = [&](std::string_view text, std::uint64_t input) {
        const std::string said = user(text);
        const auto begun = memory.begin(alice, {.messages = said});
        const Message yes = *make_message(FormatId::openai_chat, Role::assistant, "yes");
        return begun && memory.finish(*begun, {.message = yes, .usage = {.input = input}});
    };
    ASSERT_TRUE(answer("hello", 50));
    ASSERT_TRUE(ask(memory, by_report));
    ASSERT_TRUE(answer("other", 150));
    const auto again = ask(memory, by_report);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(texts(again->view), "hello yes and now?");
}

TEST(turn_again, what_was_reported_is_known_behind_refused_turns_in_another_process) {
    constexpr std::string_view by_report =
        R"({"triggers":{"reported_tokens":100},"passes":[{"pass":"keep_last","turns":1}]})";
    constexpr std::string_view fails = R"({"triggers":{"tokens":1},"passes":[{"pass":"fail"}]})";
    for (const int refused : {1, 20}) {
        const auto store = memory_store();
        Traffic traffic[2];
        Memory here(std::make_unique<WrappedStore>(*store, traffic[0]));
        Memory there(std::make_unique<WrappedStore>(*store, traffic[1]));
        const std::string said = user("hello");
        const auto begun = here.begin(alice, {.messages = said});
        ASSERT_TRUE(begun);
        const Message yes = *make_message(FormatId::openai_chat, Role::assistant, "yes");
        ASSERT_TRUE(here.finish(*begun, {.message = yes, .usage = {.input = 150}}));
        for (int i = 0; i < refused; ++i)
            ASSERT_FALSE(here.begin(alice, {.messages = said, .policy = std::string(fails)}));
        const auto next = there.begin(alice, {.messages = said, .policy = std::string(by_report)});
        ASSERT_TRUE(next) << next.error().message;
        EXPECT_TRUE(next->compaction) << "behind " << refused;
    }
}

TEST(turn_again, nobody_is_asked_for_a_summary_that_no_one_would_use) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory = with_tiny_window(summarizer);
    ASSERT_TRUE(ask(memory, folds));
    const std::string list = "[" + assistant("yes") + "," + user(words(30)) + "," +
                             assistant("on") + "," + user(words(30)) + "," + assistant("on") + "]";
    ASSERT_TRUE(memory.append(alice, {.messages = list}));
    const auto again = ask(memory, folds);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(texts(again->view), "and now?") << "what the first attempt was sent";
    EXPECT_EQ(summarizer->calls, 0);
}

TEST(turn_again, what_was_refused_is_not_shown_as_sent) {
    Memory memory = with_tiny_window();
    say_too_much(memory);
    ASSERT_EQ(ask(memory, keep_one).error().code, ErrorCode::budget_unreachable);
    const auto shown = memory.past_call(alice, end_of(memory));
    ASSERT_FALSE(shown);
    EXPECT_EQ(shown.error().code, ErrorCode::unprocessable);
    EXPECT_TRUE(shown.error().message.contains("refused")) << shown.error().message;
}

TEST(turn_again, what_was_refused_can_be_resumed_as_it_was_asked) {
    Memory memory = with_tiny_window();
    say_too_much(memory);
    ASSERT_TRUE(memory.patch(alice, {.policy = std::string(keep_one)}));
    ScriptedModel model;
    model.says("hi");
    const std::string said = "[" + message("system", "be brief") + "," + user("and now?") + "]";
    const std::string tools =
        R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
    const BeginRequest request{.messages = said, .model = "tiny", .tools = tools};
    EXPECT_EQ(chat(memory, alice, request, model).error().code, ErrorCode::budget_unreachable);
    EXPECT_EQ(resume(memory, alice, model).error().code, ErrorCode::budget_unreachable);
    ASSERT_TRUE(memory.unpin(alice, Seq{1}));
    const auto done = resume(memory, alice, model);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(model.sent, std::vector<std::string>{"be brief and now?"});
    EXPECT_TRUE(model.tools.contains("look")) << model.tools;
}
