// Turns of one conversation at the same time: allowed, or one after the other.
#include <thread>

#include "base/hash.h"
#include "support/engine.h"
#include "support/scripted_model.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

// Two processes: two memories over one store.
struct Two {
    std::unique_ptr<Store> store = memory_store();
    Traffic traffic = {};
    Memory open(MemoryOptions options) {
        return Memory(std::make_unique<WrappedStore>(*store, traffic), std::move(options));
    }
};

Result<Begun> say(Memory& memory, std::string_view text, BeginRequest request = {}) {
    const std::string said = user(text);
    request.messages = said;
    return memory.begin(alice, request);
}

Result<Finished> answer(Memory& memory, const Begun& begun, std::string_view json) {
    auto message = read_message(FormatId::openai_chat, make_bytes(std::string(json)));
    EXPECT_TRUE(message);
    return memory.finish(begun, {.message = *message});
}

}  // namespace

TEST(turns, are_allowed_at_the_same_time_by_default_and_stay_sendable) {
    Memory memory = open_memory();
    const auto first = say(memory, "one"), second = say(memory, "two");
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(first->exclusive);
    ASSERT_TRUE(answer(memory, *second, assistant("to two")));
    ASSERT_TRUE(answer(memory, *first, assistant("to one")));
    const auto view = memory.view(alice);
    std::vector<Message> messages;
    for (const Item& item : view->items) messages.push_back(item.message);
    const auto rendered = render(FormatId::openai_chat, messages);
    ASSERT_TRUE(rendered);
    EXPECT_TRUE(rendered->notes.empty());
}

TEST(turns, refuse_lets_one_speak_at_a_time_in_two_processes) {
    Two two;
    Memory a = two.open({.turns = Turns::refuse}), b = two.open({.turns = Turns::refuse});
    const auto first = say(a, "one");
    ASSERT_TRUE(first) << first.error().message;
    for (Memory* memory : {&a, &b}) {
        const auto second = say(*memory, "two");
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::conflict);
        EXPECT_EQ(second.error().param, "turns");
    }
    ASSERT_TRUE(b.append(alice, {.messages = user("aside")})) << "appends are always allowed";
    ASSERT_TRUE(answer(a, *first, assistant("to one")));
    const auto second = say(b, "two");
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_FALSE(say(a, "three"));
    EXPECT_EQ(texts(second->view), "one aside to one two");
}

TEST(turns, what_was_refused_is_not_stored) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    ASSERT_TRUE(say(memory, "one"));
    ASSERT_FALSE(say(memory, "two"));
    EXPECT_EQ(memory.head(alice)->messages, 1u);
}

TEST(turns, one_that_waits_for_tools_goes_on_and_holds_its_place) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    const auto first = say(memory, "one");
    ASSERT_TRUE(answer(memory, *first, call("c1")));
    EXPECT_FALSE(say(memory, "two")) << "the turn has a call without a result";
    const std::string found = result("c1", "found");
    const auto second = memory.begin(alice, {.messages = found});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_FALSE(say(memory, "two"));
    ASSERT_TRUE(answer(memory, *second, assistant("done")));
    EXPECT_TRUE(say(memory, "two"));
}

TEST(turns, a_repeat_with_the_same_key_is_no_other_turn) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    ASSERT_TRUE(say(memory, "one", {.write = {.key = "k"}}));
    const auto again = say(memory, "one", {.write = {.key = "k"}});
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_TRUE(answer(memory, *again, assistant("to one")));
    const auto other = say(memory, "two");
    ASSERT_TRUE(other) << other.error().message;
    // While that one is under way the first can still ask what its answer was.
    const auto told = say(memory, "one", {.write = {.key = "k"}});
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(text_of(*told->already), "to one");
    EXPECT_EQ(say(memory, "three", {.write = {.key = "m"}}).error().param, "turns");
    ASSERT_TRUE(answer(memory, *other, assistant("to two")));
    EXPECT_TRUE(say(memory, "one", {.write = {.key = "k"}})->already);
    EXPECT_TRUE(say(memory, "four")) << "the repeat of a finished turn holds nothing";
}

TEST(turns, a_dead_one_ends_when_its_time_is_over) {
    Time now = Time(std::chrono::hours(1'000'000));
    auto store = open_store("memory:?ttl=0&max=0", {.clock = [&] { return now; }});
    Memory memory(std::move(*store), {.store = {.clock = [&] { return now; }},
                                      .turns = Turns::refuse,
                                      .turn_lease = std::chrono::minutes(5)});
    const auto dead = say(memory, "one");
    ASSERT_TRUE(dead);
    now += std::chrono::minutes(4);
    EXPECT_FALSE(say(memory, "two"));
    now += std::chrono::minutes(2);
    const auto next = say(memory, "two");
    ASSERT_TRUE(next) << next.error().message;
    // It was not dead after all: its answer is stored, and the other turn keeps its place.
    ASSERT_TRUE(answer(memory, *dead, assistant("late")));
    EXPECT_FALSE(say(memory, "three"));
    ASSERT_TRUE(answer(memory, *next, assistant("to two")));
    EXPECT_TRUE(say(memory, "three"));
}

TEST(turns, release_ends_one_that_will_not_be_finished) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    const auto begun = say(memory, "one");
    memory.release(*begun);
    EXPECT_TRUE(say(memory, "two"));
}

TEST(turns, one_that_could_not_begin_holds_nothing) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    ASSERT_FALSE(say(memory, "one", {.write = {.expected_end = Seq{7}}}));
    EXPECT_TRUE(say(memory, "one"));
}

TEST(turns, wait_takes_them_in_order) {
    Two two;
    Memory a = two.open({.turns = Turns::wait}), b = two.open({.turns = Turns::wait});
    const auto first = say(a, "one");
    std::thread other([&] {
        const auto second = say(b, "two");
        ASSERT_TRUE(second) << second.error().message;
        EXPECT_EQ(texts(second->view), "one to one two");
        ASSERT_TRUE(answer(b, *second, assistant("to two")));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ASSERT_TRUE(answer(a, *first, assistant("to one")));
    other.join();
    EXPECT_EQ(texts(*a.view(alice)), "one to one two to two");
}

TEST(turns, waiting_has_an_end) {
    Memory memory(memory_store(),
                  {.turns = Turns::wait, .turn_wait = std::chrono::milliseconds(20)});
    ASSERT_TRUE(say(memory, "one"));
    EXPECT_EQ(say(memory, "two").error().code, ErrorCode::conflict);
}

TEST(turns, fork_takes_place_beside_the_other) {
    Memory memory(memory_store(), {.turns = Turns::fork});
    const auto zero = say(memory, "zero");
    ASSERT_TRUE(answer(memory, *zero, assistant("to zero")));
    const auto first = say(memory, "one");
    const auto second = say(memory, "two", {.write = {.key = "k"}});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_NE(second->name, alice);
    ASSERT_EQ(second->warnings.size(), 1u);
    EXPECT_NE(second->warnings[0].find(second->name.id), std::string::npos);
    EXPECT_EQ(texts(second->view), "zero to zero two");
    ASSERT_TRUE(answer(memory, *second, assistant("to two")));
    ASSERT_TRUE(answer(memory, *first, assistant("to one")));
    EXPECT_EQ(texts(*memory.view(alice)), "zero to zero one to one");
    const auto again = say(memory, "two", {.write = {.key = "k"}});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->name, second->name);
    EXPECT_EQ(text_of(*again->already), "to two");
}

TEST(turns, fork_of_the_very_first_turn_shares_nothing) {
    Memory memory(memory_store(), {.turns = Turns::fork});
    ASSERT_TRUE(say(memory, "one"));
    const auto second = say(memory, "two");
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(texts(second->view), "two");
}

TEST(turns, conversation_and_request_can_say_otherwise) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.create(alice, {.metadata_merge = R"({"turns":"refuse"})"}));
    const auto first = say(memory, "one");
    ASSERT_TRUE(first);
    EXPECT_FALSE(say(memory, "two"));
    EXPECT_TRUE(say(memory, "two", {.turns = Turns::allow}));
    ASSERT_TRUE(memory.patch(alice, {.metadata_merge = R"({"turns":null})"}));
    Memory cold = open_memory();
    ASSERT_TRUE(say(cold, "one", {.turns = Turns::refuse}));
    EXPECT_FALSE(say(cold, "two", {.turns = Turns::refuse}));
    EXPECT_TRUE(say(cold, "two")) << "who does not ask is not held up";
}

TEST(turns, a_chat_holds_its_conversation_to_its_end_and_not_longer) {
    Memory memory(memory_store(), {.turns = Turns::refuse});
    ScriptedModel model;
    model.asks_for({{"look", "{}"}}).says("found");
    const std::string said = user("where?");
    const auto done =
        chat(memory, alice, {.messages = said}, model, {.tools = {make_tool("look", [&](auto) {
                                                            EXPECT_FALSE(say(memory, "meanwhile"));
                                                            return "there";
                                                        })}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->text, "found");
    ASSERT_FALSE(chat(memory, alice, {.messages = said}, model)) << "the script is over";
    model.says("again");
    EXPECT_TRUE(chat(memory, alice, {.messages = said}, model)) << "a failed turn holds nothing";
}

TEST(turns, a_chat_that_is_forked_goes_on_in_its_fork) {
    Memory memory(memory_store(), {.turns = Turns::fork});
    const auto first = say(memory, "one");
    ScriptedModel model;
    model.asks_for({{"look", "{}"}}).says("found");
    const std::string said = user("where?");
    const auto done = chat(memory, alice, {.messages = said}, model,
                           {.tools = {make_tool("look", [](auto) { return "there"; })}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_NE(done->begun.name, alice);
    EXPECT_EQ(texts(*memory.view(done->begun.name)), "where? call:c1 there found");
    EXPECT_EQ(texts(*memory.view(alice)), "one");
}

TEST(turns, of_many_threads_never_mix) {
    Two two;
    Memory a = two.open({.turns = Turns::wait}), b = two.open({.turns = Turns::wait});
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            Memory& memory = i % 2 ? a : b;
            const auto begun = say(memory, "q" + std::to_string(i));
            ASSERT_TRUE(begun) << begun.error().message;
            ASSERT_TRUE(answer(memory, *begun, assistant("a" + std::to_string(i))));
        });
    for (std::thread& thread : threads) thread.join();
    const auto view = a.view(alice);
    ASSERT_EQ(view->items.size(), 16u);
    for (std::size_t i = 0; i < 16; i += 2)
        EXPECT_EQ(text_of(view->items[i].message).substr(1),
                  text_of(view->items[i + 1].message).substr(1));
}
