// A call that waits for a person: the turn is suspended durably and goes on later, elsewhere.
#include <gtest/gtest.h>

#include "palimpsest/chat.h"
#include "support/scripted_model.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;
using Outcome = ChatDone::Outcome;

namespace {

const std::string hello = user("pay the bill");

struct Bank {
    int paid = 0, looked = 0;
    std::vector<Tool> tools() {
        Tool pay = make_tool("pay", [this](std::string_view) {
            ++paid;
            return Result<std::string>("paid");
        });
        pay.approval = true;
        const Tool look = make_tool("look", [this](std::string_view) {
            ++looked;
            return Result<std::string>("balance 10");
        });
        return {pay, look};
    }
};

}  // namespace

TEST(chat_approval, a_waiting_call_suspends_the_turn_and_a_decision_in_another_process_ends_it) {
    for (const auto kind :
         {Decision::Kind::approve, Decision::Kind::deny, Decision::Kind::result}) {
        auto store = memory_store();
        ScriptedModel model;
        Bank bank;
        model.asks_for({{"look", "{}"}, {"pay", R"({"sum":5})"}}).says("done");
        const std::string said = "[" + message("system", "be careful") + "," + hello + "]";
        {
            Traffic traffic;
            Memory memory(std::make_unique<WrappedStore>(*store, traffic));
            const auto done =
                chat(memory, alice, {.messages = said}, model, {.tools = bank.tools()});
            ASSERT_TRUE(done) << done.error().message;
            EXPECT_EQ(done->outcome, Outcome::pending);
            ASSERT_EQ(done->pending.size(), 1u);
            EXPECT_EQ(done->pending[0].name, "pay");
            EXPECT_EQ(done->pending[0].arguments, R"({"sum":5})");
            EXPECT_EQ(bank.paid, 0);
            EXPECT_EQ(bank.looked, 1);
        }
        Memory memory(std::move(store));
        const auto still = resume(memory, alice, model, {.tools = bank.tools()});
        ASSERT_TRUE(still) << still.error().message;
        EXPECT_EQ(still->outcome, Outcome::pending);
        EXPECT_EQ(model.calls, 1);
        const auto done = resume(memory, alice, model, {.tools = bank.tools()},
                                 {{"c2", {.kind = kind, .text = "by hand"}}});
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->outcome, Outcome::done);
        EXPECT_EQ(done->text, "done");
        EXPECT_EQ(bank.paid, kind == Decision::Kind::approve ? 1 : 0);
        EXPECT_EQ(bank.looked, 1);
        const std::string expected =
            kind == Decision::Kind::approve ? "paid"
            : kind == Decision::Kind::deny
                ? "Error: the tool was not run: a person denied it: by hand"
                : "by hand";
        EXPECT_EQ(model.sent.back(),
                  "be careful pay the bill call:c1call:c2 balance 10 " + expected);
        EXPECT_TRUE(all_answered(memory));
        // What is over stays so.
        const auto over = resume(memory, alice, model, {.tools = bank.tools()});
        ASSERT_TRUE(over);
        EXPECT_EQ(over->text, "done");
        EXPECT_EQ(model.calls, 2);
    }
}

TEST(chat_approval, each_of_two_waiting_calls_is_decided_on_its_own) {
    Memory memory = open_memory();
    ScriptedModel model;
    Bank bank;
    model.asks_for({{"pay", R"({"sum":1})"}, {"pay", R"({"sum":2})"}}).says("done");
    const BeginRequest request{.messages = hello, .write = {.key = "k"}};
    ASSERT_TRUE(chat(memory, alice, request, model, {.tools = bank.tools()}));
    const auto half = resume(memory, alice, model, {.tools = bank.tools()}, {{"c2", {}}});
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_EQ(half->outcome, Outcome::pending);
    ASSERT_EQ(half->pending.size(), 1u);
    EXPECT_EQ(half->pending[0].id, "c1");
    EXPECT_EQ(bank.paid, 1);
    // A repeat of the turn decides nothing.
    const auto again = chat(memory, alice, request, model, {.tools = bank.tools()});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->outcome, Outcome::pending);
    const auto done = resume(memory, alice, model, {.tools = bank.tools()}, {{"c1", {}}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->text, "done");
    EXPECT_EQ(bank.paid, 2);
}

TEST(chat_approval, meanwhile_another_turn_can_be_held_and_both_stay_sendable) {
    Memory memory = open_memory();
    ScriptedModel model;
    Bank bank;
    model.asks_for({{"pay", "{}"}});
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = bank.tools()}));
    const std::string more = user("and the weather?");
    const auto begun = memory.begin(alice, {.messages = more});
    ASSERT_TRUE(begun);
    const auto ready = render(FormatId::openai_chat, begun->request());
    ASSERT_TRUE(ready) << ready.error().message;
    ASSERT_TRUE(memory.finish(
        *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "fine")}));
    EXPECT_EQ(texts(*memory.view(alice)), "pay the bill call:c1 and the weather? fine");
}

TEST(chat_approval, there_is_nothing_to_resume_in_an_empty_conversation) {
    Memory memory = open_memory();
    ScriptedModel model;
    EXPECT_EQ(resume(memory, alice, model).error().code, ErrorCode::not_found);
}
