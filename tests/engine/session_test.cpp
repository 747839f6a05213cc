// A conversation as frameworks see it: get, add, pop, clear, replace the end.
#include "palimpsest/chat.h"

#include <gtest/gtest.h>

#include "support/engine.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string joined(const Result<std::vector<Message>>& items) {
    if (!items) return "error: " + items.error().message;
    std::string out;
    for (const Message& item : *items) out += (out.empty() ? "" : " ") + text_of(item);
    return out;
}
std::string list(std::initializer_list<std::string> messages) {
    std::string out = "[";
    for (const std::string& one : messages) out += (out.size() > 1 ? "," : "") + one;
    return out + "]";
}
const std::string with_tool =
    list({user("a"), call("c1"), result("c1", "r"), assistant("b"), user("c")});

}  // namespace

TEST(session, gives_the_latest_items_in_whole_groups) {
    Memory memory = open_memory();
    ConversationSession session(memory, alice);
    EXPECT_EQ(joined(session.items()), "");
    ASSERT_TRUE(session.add(with_tool));
    EXPECT_EQ(joined(session.items()), "a call:c1 r b c");
    EXPECT_EQ(joined(session.items(4)), "call:c1 r b c");
    EXPECT_EQ(joined(session.items(3)), "b c");
    EXPECT_EQ(joined(session.items(0)), "");
    EXPECT_EQ(joined(session.items(99)), "a call:c1 r b c");
}

TEST(session, pops_the_newest_item_with_what_belongs_to_it) {
    Memory memory = open_memory();
    ConversationSession session(memory, alice);
    ASSERT_TRUE(session.add(with_tool));
    EXPECT_EQ(joined(session.pop()), "c");
    EXPECT_EQ(joined(session.pop()), "b");
    EXPECT_EQ(joined(session.pop()), "call:c1 r");
    EXPECT_EQ(joined(session.pop()), "a");
    EXPECT_EQ(joined(session.pop()), "");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(joined(session.items()), "a");
}

TEST(session, clears_and_goes_on) {
    Memory memory = open_memory();
    ConversationSession session(memory, alice);
    ASSERT_TRUE(session.clear());
    ASSERT_TRUE(session.add(with_tool));
    ASSERT_TRUE(session.clear());
    EXPECT_EQ(joined(session.items()), "");
    ASSERT_TRUE(session.add(user("new")));
    EXPECT_EQ(joined(session.items()), "new");
}

TEST(session, an_operation_that_is_repeated_counts_once) {
    Memory memory = open_memory();
    ConversationSession session(memory, alice);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(session.add(with_tool, "op1"));
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(session.replace_suffix(2, list({user("x"), assistant("y")}), "op2"));
    EXPECT_EQ(joined(session.items()), "a call:c1 r x y");
    EXPECT_EQ(session.replace_suffix(1, "[]", "").error().code, ErrorCode::invalid_request);
}

TEST(session, a_transaction_that_was_cut_anywhere_is_finished_by_its_repeat) {
    for (int at = 1; at < 40; ++at) {
        auto store = memory_store();
        Traffic setup;
        {
            Memory memory(std::make_unique<WrappedStore>(*store, setup));
            ASSERT_TRUE(ConversationSession(memory, alice).add(with_tool));
        }
        Traffic traffic;
        bool whole = false;
        {
            Memory memory(std::make_unique<WrappedStore>(*store, traffic, Fault{at, at % 2 == 0}));
            whole =
                ConversationSession(memory, alice).replace_suffix(1, user("x"), "op").has_value();
        }
        Memory memory(std::move(store));
        ConversationSession session(memory, alice);
        ASSERT_TRUE(session.replace_suffix(1, user("x"), "op"));
        EXPECT_EQ(joined(session.items()), "a call:c1 r b x") << at;
        if (whole && traffic.calls < at) break;
    }
}
