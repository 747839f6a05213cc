// The seed's context-window tests: many short messages, one long one, a crash in the middle.
#include <gtest/gtest.h>

#include "palimpsest/chat.h"
#include "support/scripted_model.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

TEST(chat_crash, a_hundred_short_messages_stay_in_order_under_a_limit_of_twenty) {
    Memory memory(memory_store(), {.policy = "keep_last_n"});
    const auto model = make_echo_model();
    for (int i = 0; i < 100; ++i) {
        const std::string said = user("message " + std::to_string(i));
        const auto done = chat(memory, alice, {.messages = said}, *model);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_LE(done->begun.view.items.size(), 20u);
        EXPECT_EQ(text_of(done->begun.view.items.back().message), "message " + std::to_string(i));
    }
    EXPECT_EQ(memory.head(alice)->messages, 200u) << "the log has all of them";
}

TEST(chat_crash, after_message_50_of_100_nothing_is_lost) {
    auto store = memory_store();
    const auto model = make_echo_model();
    for (int start : {0, 50}) {
        Traffic traffic;
        Memory memory(std::make_unique<WrappedStore>(*store, traffic));
        for (int i = start; i < start + 50; ++i) {
            const std::string said = user("message " + std::to_string(i));
            ASSERT_TRUE(chat(memory, alice, {.messages = said}, *model));
        }
    }
    Memory memory(std::move(store));
    const auto view = memory.view(alice);
    ASSERT_EQ(view->items.size(), 200u);
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_EQ(text_of(view->items[2 * i].message), "message " + std::to_string(i));
}

TEST(chat_crash, one_message_of_ten_thousand_tokens_is_not_lost_and_inputs_stay_as_they_are) {
    Memory memory = open_memory();
    const auto model = make_echo_model();
    std::string text;
    while (text.size() < 50'000) text += "word ";
    const std::string said = "[" + message("system", "s") + "," + user(text) + "]";
    const std::string before = said;
    ASSERT_TRUE(chat(memory, alice, {.messages = said}, *model));
    EXPECT_EQ(said, before);
    EXPECT_EQ(text_of(memory.view(alice)->items[0].message), text);
    EXPECT_GE(memory.view(alice)->items[0].tokens, 10'000u);
}
