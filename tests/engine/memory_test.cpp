#include <gtest/gtest.h>

#include "base/ids.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

TEST(memory, keeps_every_byte_of_a_message) {
    Memory memory = open_memory();
    const std::string raw =
        R"({ "role":"user",  "content":"caf\u00e9", "n":1.10, "x":{"b":1,"a":12345678901234567890123} })";
    ASSERT_TRUE(memory.append(alice, {.messages = raw}));
    const auto log = memory.log(alice);
    ASSERT_TRUE(log);
    EXPECT_EQ(*std::get<MessageEntry>(log->at(0).body).message.raw, raw);
    EXPECT_EQ(*memory.view(alice)->items[0].message.raw, raw);
}

TEST(memory, takes_a_message_a_list_a_request_and_wrapped_messages) {
    Memory memory = open_memory();
    EXPECT_EQ(memory.append(alice, {.messages = user("one")})->last, Seq{1});
    EXPECT_EQ(
        memory.append(alice, {.messages = "[" + user("two") + "," + assistant("three") + "]"})
            ->last,
        Seq{3});
    EXPECT_EQ(
        memory.append(alice, {.messages = R"({"model":"m","messages":[)" + user("four") + "]}"})
            ->last,
        Seq{4});
    const std::string wrapped = R"({"at":"2020-01-02T03:04:05Z","message":)" + user("five") + "}";
    EXPECT_EQ(memory.append(alice, {.messages = "[" + wrapped + "]"})->last, Seq{5});
    EXPECT_EQ(texts(*memory.view(alice)), "one two three four five");
    EXPECT_EQ(memory.log(alice)->at(4).at, Time(std::chrono::milliseconds(1'577'934'245'000)));
}

TEST(memory, refuses_bad_input_with_the_place_and_keeps_what_was_there) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = user("one")}));
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    struct Bad {
        std::string json;
        ErrorCode code;
    };
    const std::string bad_utf8 = "{\"role\":\"user\",\"content\":\"\xff\"}";
    for (const Bad& bad :
         {Bad{"", ErrorCode::invalid_request}, Bad{"{", ErrorCode::invalid_request},
          Bad{"[]", ErrorCode::invalid_request}, Bad{"7", ErrorCode::invalid_request},
          Bad{"[" + user("x") + ",5]", ErrorCode::invalid_request},
          Bad{deep, ErrorCode::invalid_request}, Bad{bad_utf8, ErrorCode::invalid_request},
          Bad{R"([{"at":"yesterday","message":{"role":"user","content":"x"}}])",
              ErrorCode::invalid_request}}) {
        const auto done = memory.append(alice, {.messages = bad.json});
        ASSERT_FALSE(done) << bad.json.substr(0, 60);
        EXPECT_EQ(done.error().code, bad.code) << bad.json.substr(0, 60);
        EXPECT_FALSE(done.error().message.empty());
    }
    EXPECT_EQ(memory.head(alice)->end, Seq{1});
}

TEST(memory, a_message_over_the_limit_is_too_large) {
    Memory memory(memory_store(), {.message_bytes_max = 1000});
    const auto done = memory.append(alice, {.messages = user(std::string(1000, 'x'))});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::too_large);
}

TEST(memory, bad_names_are_refused_before_anything_is_read) {
    Memory memory = open_memory();
    for (const std::string& id : {std::string(), std::string(10'240, 'a'), std::string("a\0b", 3),
                                  std::string("\n"), std::string("..")}) {
        EXPECT_EQ(memory.append({"t", id}, {.messages = user("x")}).error().code,
                  ErrorCode::invalid_request);
        EXPECT_EQ(memory.view({"t", id}).error().code, ErrorCode::invalid_request);
        EXPECT_EQ(memory.head({"t", id}).error().code, ErrorCode::invalid_request);
    }
    EXPECT_EQ(memory.head({"", "a"}).error().code, ErrorCode::invalid_request);
}

TEST(memory, a_repeat_with_the_same_key_is_stored_once_and_answered_alike) {
    Memory memory = open_memory();
    const AppendRequest request{.messages = user("hello"), .write = {.key = "k1"}};
    const std::string hello = user("hello"), other = user("other");
    const auto first = memory.append(alice, {.messages = hello, .write = {.key = "k1"}});
    const auto again = memory.append(alice, {.messages = hello, .write = {.key = "k1"}});
    ASSERT_TRUE(first && again);
    EXPECT_TRUE(again->again);
    EXPECT_EQ(again->ids, first->ids);
    EXPECT_EQ(memory.head(alice)->end, Seq{1});
    EXPECT_EQ(memory.append(alice, {.messages = other, .write = {.key = "k1"}}).error().code,
              ErrorCode::unprocessable);
}

TEST(memory, an_expected_end_lets_one_writer_win) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    ASSERT_TRUE(memory.append(alice, {.messages = hello, .write = {.expected_end = Seq{0}}}));
    EXPECT_EQ(
        memory.append(alice, {.messages = hello, .write = {.expected_end = Seq{0}}}).error().code,
        ErrorCode::conflict);
}

TEST(memory, create_makes_a_conversation_once) {
    Memory memory = open_memory();
    HeaderPatch header;
    header.title = "Lunch";
    header.metadata_merge = R"({"team":"red"})";
    const auto made = memory.create(alice, header);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->title, "Lunch");
    EXPECT_EQ(memory.create(alice, header).error().code, ErrorCode::conflict);
    EXPECT_EQ(memory.create(alice, {}).error().code, ErrorCode::conflict);
    EXPECT_TRUE(memory.create({"t", "empty"}, {}));
    EXPECT_EQ(memory.create({"t", "empty"}, {}).error().code, ErrorCode::conflict);
    EXPECT_EQ(memory.view(alice)->items.size(), 0u);
}

TEST(memory, reads_of_an_absent_conversation_are_not_found) {
    Memory memory = open_memory();
    EXPECT_EQ(memory.view(alice).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.log(alice).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.erase(alice).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.undo(alice).error().code, ErrorCode::not_found);
    const std::string hello = user("hello");
    EXPECT_EQ(memory.append(alice, {.messages = hello, .write = {.if_absent = IfAbsent::fail}})
                  .error()
                  .code,
              ErrorCode::not_found);
}

TEST(memory, a_bad_policy_or_bad_metadata_is_refused_when_it_is_stored) {
    Memory memory = open_memory();
    HeaderPatch header;
    header.policy = R"({"passes":[{"pass":"magic"}]})";
    EXPECT_EQ(memory.create(alice, header).error().code, ErrorCode::invalid_request);
    HeaderPatch metadata;
    metadata.metadata_merge = "[]";
    EXPECT_EQ(memory.create(alice, metadata).error().code, ErrorCode::invalid_request);
    EXPECT_EQ(memory.head(alice).error().code, ErrorCode::not_found);
}

TEST(memory, forks_share_the_past_and_part_ways) {
    Memory memory = talk({"one", "two", "three"});
    HeaderPatch patch;
    patch.metadata_merge = R"({"team":"red"})";
    ASSERT_TRUE(memory.patch(alice, patch));
    ASSERT_TRUE(memory.fork(alice, bob, Seq{2}));
    ASSERT_TRUE(memory.append(bob, {.messages = user("other")}));
    EXPECT_EQ(texts(*memory.view(bob)), "one two other");
    EXPECT_EQ(texts(*memory.view(alice)), "one two three");
    EXPECT_EQ(memory.head(bob)->messages, 3u);
    EXPECT_EQ(memory.head(bob)->metadata, R"({"team":"red"})");
    EXPECT_EQ(memory.fork(alice, bob).error().code, ErrorCode::conflict);
    EXPECT_EQ(memory.fork(alice, {"t", "c"}, Seq{99}).error().code, ErrorCode::invalid_request);
    EXPECT_EQ(memory.fork({"t", "nobody"}, {"t", "c"}).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.fork(alice, {"other tenant", "c"}).error().code, ErrorCode::invalid_request);
}

TEST(memory, checkpoints_are_found_by_id_by_name_by_metadata_and_as_the_latest) {
    Memory memory = talk({"one", "two"});
    const auto first = memory.checkpoint(alice, "draft", R"({"stage":"a"})");
    ASSERT_TRUE(first);
    ASSERT_TRUE(memory.append(alice, {.messages = user("three")}));
    const auto second = memory.checkpoint(alice, "draft", R"({"stage":"b"})");
    ASSERT_TRUE(second);
    EXPECT_EQ(memory.find_checkpoint(alice, "draft")->seq, second->seq);
    EXPECT_EQ(memory.find_checkpoint(alice, first->id)->seq, first->seq);
    EXPECT_EQ(memory.find_checkpoint(alice)->id, second->id);
    EXPECT_EQ(memory.checkpoints(alice, {{"stage", "a"}})->size(), 1u);
    EXPECT_EQ(memory.find_checkpoint(alice, "nope").error().code, ErrorCode::not_found);
    ASSERT_TRUE(memory.fork(alice, bob, first->seq));
    EXPECT_EQ(texts(*memory.view(bob)), "one two");
    EXPECT_EQ(memory.checkpoints(bob)->at(0).id, first->id);
}

TEST(memory, the_view_at_a_past_seq_is_what_it_was) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(memory.retract(alice, {Seq{2}, Seq{2}}, "typo"));
    ASSERT_TRUE(memory.append(alice, {.messages = user("five")}));
    EXPECT_EQ(texts(*memory.view(alice)), "one three four five");
    EXPECT_EQ(texts(*memory.view(alice, {.at = Seq{4}})), "one two three four");
    EXPECT_EQ(texts(*memory.view(alice, {.at = Seq{2}})), "one two");
    EXPECT_EQ(texts(*memory.view(alice, {.at = Seq{0}})), "");
    EXPECT_EQ(memory.view(alice, {.at = Seq{99}}).error().code, ErrorCode::invalid_request);
}

TEST(memory, counts_tokens_once_with_the_users_own_tokenizer) {
    int calls = 0;
    const auto words = make_tokenizer({"ten each", 300, [&](std::string_view) {
                                           ++calls;
                                           return std::uint64_t{10};
                                       }});
    Memory memory(memory_store(), {.tokenizer = words});
    ASSERT_TRUE(memory.append(alice, {.messages = "[" + user("a") + "," + user("b") + "]"}));
    const int counted = calls;
    EXPECT_EQ(memory.view(alice)->tokens, 20u);
    EXPECT_EQ(memory.view(alice)->tokens, 20u);
    EXPECT_EQ(calls, counted);
}
