#include <gtest/gtest.h>

#include "palimpsest/chat.h"
#include "palimpsest/model.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

// Answers with how many messages it was sent, or fails as told.
class CountingModel : public Model {
public:
    int calls = 0;
    std::optional<Error> error = {};
    std::string_view name() const override { return "counting"; }
    FormatId format() const override { return FormatId::openai_chat; }
    Result<Reply> call(const ModelRequest& request, const OnPiece&) override {
        ++calls;
        if (error) return std::unexpected(*error);
        PAL_TRY(message, make_message(FormatId::openai_chat, Role::assistant,
                                      "saw " + std::to_string(request.messages.size())));
        Reply reply;
        reply.messages.push_back(message);
        reply.usage = ReplyUsage{.input_tokens = 7, .output_tokens = 2};
        return reply;
    }
};

constexpr std::string_view keep_one_turn =
    R"({"name":"short","triggers":{"messages":4},"passes":[{"pass":"keep_last","turns":1}]})";

std::string list(std::initializer_list<std::string> messages) {
    std::string out = "[";
    for (const std::string& one : messages) out += (out.size() > 1 ? "," : "") + one;
    return out + "]";
}

}  // namespace

TEST(turn, stores_what_was_said_before_the_model_is_asked_and_the_answer_after) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    const auto begun = memory.begin(alice, {.messages = hello, .model = "m"});
    ASSERT_TRUE(begun);
    EXPECT_EQ(texts(*memory.view(alice)), "hello");
    EXPECT_EQ(begun->request().size(), 1u);
    const auto finished = memory.finish(
        *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "hi")});
    ASSERT_TRUE(finished);
    EXPECT_EQ(texts(*memory.view(alice)), "hello hi");
    const auto entry = memory.log(alice, {.range = {finished->seq, finished->seq}})->at(0);
    EXPECT_EQ(std::get<MessageEntry>(entry.body).answers, begun->turn);
}

TEST(turn, a_leading_system_run_is_sent_and_not_part_of_the_log) {
    Memory memory = open_memory();
    const std::string first = list({message("system", "be brief"), message("system", "be kind"),
                                    user("one"), message("system", "inline")});
    const auto begun = memory.begin(alice, {.messages = first});
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->preamble.size(), 2u);
    EXPECT_EQ(begun->request().size(), 4u);
    EXPECT_EQ(texts(*memory.view(alice)), "one inline");
}

TEST(turn, what_the_model_was_sent_at_a_past_call_can_be_shown_exactly) {
    Memory memory = open_memory();
    CountingModel model;
    const std::string tools = R"([{"type":"function","function":{"name":"f"}}])";
    const std::string one = list({message("system", "v1"), user("one")});
    const std::string two = list({message("system", "v2"), user("two")});
    const std::string three = list({message("system", "v1"), user("three")});
    ASSERT_TRUE(chat(memory, alice,
                     {.messages = one, .tools = tools, .parameters = R"({"temperature":0.5})"},
                     model));
    ASSERT_TRUE(chat(memory, alice, {.messages = two, .tools = tools}, model));
    ASSERT_TRUE(chat(memory, alice, {.messages = three}, model));
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}));
    std::vector<Seq> calls;
    int stored_texts = 0;
    const std::vector<Entry> notes = *memory.log(alice, {.kinds = only(EntryKind::note)});
    for (const Entry& entry : notes) {
        if (std::get<NoteEntry>(entry.body).kind == "call") calls.push_back(entry.seq);
        if (std::get<NoteEntry>(entry.body).kind == "text") ++stored_texts;
    }
    ASSERT_EQ(calls.size(), 3u);
    EXPECT_EQ(stored_texts, 3);  // v1, v2, the tools: each once
    const auto first = memory.past_call(alice, calls[0]);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->preamble, "[" + message("system", "v1") + "]");
    EXPECT_EQ(first->tools, tools);
    EXPECT_EQ(texts(first->view), "one");
    EXPECT_NE(first->note.find(R"("parameters":{"temperature":0.5})"), std::string::npos);
    const auto last = memory.past_call(alice, calls[2]);
    EXPECT_EQ(last->preamble, "[" + message("system", "v1") + "]");
    EXPECT_EQ(last->tools, "[]");
    EXPECT_EQ(texts(last->view), "one saw 2 two saw 4 three");
    EXPECT_EQ(memory.past_call(alice, Seq{1}).error().code, ErrorCode::unprocessable);
    EXPECT_EQ(memory.past_call(alice, Seq{99}).error().code, ErrorCode::not_found);
}

TEST(turn, notes_can_be_switched_off) {
    Memory memory(memory_store(), {.call_notes = false});
    CountingModel model;
    const std::string hello = user("hello");
    ASSERT_TRUE(chat(memory, alice, {.messages = hello}, model));
    EXPECT_EQ(memory.head(alice)->end, Seq{2});
}

TEST(turn, compacts_in_the_same_batch_when_it_is_due) {
    Memory memory = open_memory();
    CountingModel model;
    const std::string said[] = {user("one"), user("two"), user("three")};
    HeaderPatch header;
    header.policy = keep_one_turn;
    const auto first = chat(memory, alice, {.messages = said[0], .header = header}, model);
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->begun.compaction);
    ASSERT_TRUE(chat(memory, alice, {.messages = said[1]}, model));
    const auto third = chat(memory, alice, {.messages = said[2]}, model);
    ASSERT_TRUE(third);
    ASSERT_TRUE(third->begun.compaction);
    EXPECT_EQ(third->begun.compaction->outcome, Compaction::Outcome::done);
    EXPECT_EQ(texts(third->begun.view), "three");
    EXPECT_EQ(texts(*memory.view(alice)), "three saw 1");
    const auto entry =
        memory.log(alice, {.range = {third->begun.compaction->seq, third->begun.compaction->seq}})
            ->at(0);
    EXPECT_EQ(std::get<CompactionEntry>(entry.body).trigger, "messages");
    EXPECT_EQ(std::get<CompactionEntry>(entry.body).policy, "short");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "one saw 1 two saw 3 three saw 1");
}

TEST(turn, the_policy_of_the_request_wins_over_the_conversations) {
    Memory memory = talk({"one", "two", "three", "four"});
    CountingModel model;
    const std::string five = user("five");
    const auto turn =
        chat(memory, alice, {.messages = five, .policy = std::string(keep_one_turn)}, model);
    ASSERT_TRUE(turn);
    EXPECT_TRUE(turn->begun.compaction);
    EXPECT_EQ(chat(memory, alice, {.messages = five, .policy = "{"}, model).error().code,
              ErrorCode::invalid_request);
}

TEST(turn, a_first_message_may_already_be_due_for_a_policy) {
    Memory memory = open_memory();
    CountingModel model;
    const std::string all = list({user("a"), assistant("b"), user("c"), assistant("d"), user("e")});
    const auto turn =
        chat(memory, alice, {.messages = all, .policy = std::string(keep_one_turn)}, model);
    ASSERT_TRUE(turn) << turn.error().message;
    EXPECT_EQ(texts(turn->begun.view), "e");
}

TEST(turn, a_retry_of_a_finished_turn_gets_its_answer_without_a_model_call) {
    Memory memory = open_memory();
    CountingModel model;
    const std::string hello = user("hello"), other = user("other");
    const auto first = chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model);
    const auto again = chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(model.calls, 1);
    EXPECT_EQ(*again->answer.message.raw, *first->answer.message.raw);
    EXPECT_EQ(again->finished.seq, first->finished.seq);
    EXPECT_EQ(chat(memory, alice, {.messages = other, .write = {.key = "k"}}, model).error().code,
              ErrorCode::unprocessable);
}

TEST(turn, a_retry_of_an_unfinished_turn_asks_the_model_and_stores_nothing_twice) {
    Memory memory = open_memory();
    CountingModel model;
    model.error = Error{ErrorCode::upstream_failed, "down"};
    const std::string hello = user("hello");
    EXPECT_EQ(chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model).error().code,
              ErrorCode::upstream_failed);
    model.error.reset();
    ASSERT_TRUE(chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model));
    EXPECT_EQ(texts(*memory.view(alice)), "hello saw 1");
}

TEST(turn, an_answer_for_a_conversation_that_was_erased_meanwhile_is_refused) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    const auto begun = memory.begin(alice, {.messages = hello});
    ASSERT_TRUE(memory.erase(alice));
    const Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, "late")};
    EXPECT_FALSE(memory.finish(*begun, answer));
    EXPECT_EQ(memory.head(alice).error().code, ErrorCode::not_found);
    ASSERT_TRUE(memory.append(alice, {.messages = hello}));
    EXPECT_EQ(memory.finish(*begun, answer).error().code, ErrorCode::conflict);
}

TEST(turn, two_turns_at_the_same_time_are_both_kept_and_pairs_stay_together) {
    Memory memory = open_memory();
    const std::string a = user("a"), b = user("b");
    const auto first = memory.begin(alice, {.messages = a});
    const auto second = memory.begin(alice, {.messages = b});
    ASSERT_TRUE(memory.append(alice, {.messages = call("c1")}));
    ASSERT_TRUE(memory.finish(
        *second, {.message = *make_message(FormatId::openai_chat, Role::assistant, "to b")}));
    ASSERT_TRUE(memory.append(alice, {.messages = result("c1", "r")}));
    ASSERT_TRUE(memory.finish(
        *first, {.message = *make_message(FormatId::openai_chat, Role::assistant, "to a")}));
    EXPECT_EQ(texts(*memory.view(alice)), "a b call:c1 r to b to a");
}

TEST(turn, a_result_that_comes_after_an_answer_is_what_the_model_is_asked_about) {
    Memory memory = open_memory();
    const auto say = [&](const std::string& messages, std::string_view answer) {
        const auto begun = memory.begin(alice, {.messages = messages, .model = "m"});
        EXPECT_TRUE(begun);
        const std::vector<Message> request = begun->request();
        EXPECT_TRUE(memory.finish(
            *begun,
            {.message = *read_message(FormatId::openai_chat, make_bytes(std::string(answer)))}));
        return request;
    };
    const auto result = [](const std::string& id) {
        return R"({"role":"tool","tool_call_id":")" + id + R"(","content":"r"})";
    };
    say(user("go"), R"({"role":"assistant","content":null,"tool_calls":[
        {"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},
        {"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]})");
    say(result("a"), R"({"role":"assistant","content":"so far"})");
    const std::vector<Message> request =
        say(result("b"), R"({"role":"assistant","content":"all"})");
    ASSERT_EQ(request.size(), 6u) << "go, calls, a, b, so far, and that b has come";
    EXPECT_EQ(request[3].shape.results, std::vector<std::string>{"b"});
    EXPECT_EQ(request.back().shape.role, Role::user);
}

TEST(turn, an_interrupted_answer_is_kept_and_marked) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    const auto begun = memory.begin(alice, {.messages = hello});
    ASSERT_TRUE(memory.finish(
        *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "half"),
                 .usage = {},
                 .interrupted = true}));
    EXPECT_TRUE(memory.view(alice)->items.back().interrupted);
}

TEST(turn, the_conversations_own_system_prompt_is_sent_when_the_request_brings_none) {
    Memory memory = open_memory();
    CountingModel model;
    HeaderPatch header;
    header.system_prompt = "be brief";
    ASSERT_TRUE(memory.create(alice, header));
    const std::string hello = user("hello");
    const auto turn = chat(memory, alice, {.messages = hello}, model);
    ASSERT_TRUE(turn);
    EXPECT_EQ(text_of(turn->answer.message), "saw 2");
    EXPECT_EQ(text_of(turn->begun.preamble.at(0)), "be brief");
    const std::string own = list({message("system", "be kind"), user("again")});
    const auto second = memory.begin(alice, {.messages = own});
    EXPECT_EQ(text_of(second->preamble.at(0)), "be kind");
    EXPECT_EQ(texts(*memory.view(alice)), "hello saw 2 again");
}

TEST(turn, a_repeat_of_an_interrupted_turn_says_that_its_answer_is_partial) {
    Memory memory = open_memory();
    CountingModel model;
    const std::string hello = user("hello");
    const auto begun =
        memory.begin(alice, {.messages = hello, .model = "counting", .write = {.key = "k"}});
    ASSERT_TRUE(memory.finish(
        *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "ha"),
                 .usage = {},
                 .interrupted = true}));
    const auto again = chat(memory, alice, {.messages = hello, .write = {.key = "k"}}, model);
    ASSERT_TRUE(again);
    EXPECT_EQ(text_of(again->answer.message), "ha");
    EXPECT_TRUE(again->answer.interrupted);
    EXPECT_EQ(model.calls, 0);
}

TEST(turn, a_repeat_is_sent_what_its_note_says_was_sent) {
    Memory memory = open_memory();
    const std::string hello = user("hello"), more = user("more");
    const auto first = memory.begin(alice, {.messages = hello, .write = {.key = "k"}});
    ASSERT_TRUE(memory.append(alice, {.messages = more}));
    const auto again = memory.begin(alice, {.messages = hello, .write = {.key = "k"}});
    ASSERT_TRUE(first && again);
    EXPECT_EQ(texts(again->view), "hello");
    EXPECT_EQ(again->view.seq, first->view.seq);
}

// Whoever ends a turn by its id has no other state of begin than what is stored.
TEST(turn, the_model_took_the_time_from_the_note_of_the_call_where_begin_was_another_request) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    const auto begun =
        memory.begin(alice, {.messages = hello, .model = "m", .write = {.key = "k"}});
    ASSERT_TRUE(begun);
    Begun known{.name = alice, .key = "k", .log = begun->log, .turn = begun->turn};
    known.view.seq = begun->view.seq;
    const Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, "hi")};
    ASSERT_TRUE(memory.finish(known, answer));
    const std::string once = R"(memory_step_seconds_count{step="upstream"} 1)";
    EXPECT_TRUE(memory.metrics().contains(once)) << memory.metrics();
    ASSERT_TRUE(memory.finish(known, answer));
    EXPECT_TRUE(memory.metrics().contains(once)) << "a repeat asked no model";
}

TEST(turn, finish_takes_an_assistants_message_within_the_limit) {
    Memory memory(memory_store(), {.message_bytes_max = 1000});
    const std::string hello = user("hello");
    const auto begun = memory.begin(alice, {.messages = hello});
    EXPECT_EQ(
        memory.finish(*begun, {.message = *make_message(FormatId::openai_chat, Role::user, "x")})
            .error()
            .code,
        ErrorCode::unprocessable);
    const std::string long_text(1000, 'x');
    EXPECT_EQ(memory
                  .finish(*begun, {.message = *make_message(FormatId::openai_chat, Role::assistant,
                                                            long_text)})
                  .error()
                  .code,
              ErrorCode::too_large);
    EXPECT_EQ(texts(*memory.view(alice)), "hello");
}

TEST(turn, the_same_key_with_another_format_policy_or_model_is_another_request) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    ASSERT_TRUE(memory.begin(alice, {.messages = hello, .model = "a", .write = {.key = "k"}}));
    EXPECT_EQ(
        memory.begin(alice, {.messages = hello, .model = "b", .write = {.key = "k"}}).error().code,
        ErrorCode::unprocessable);
    EXPECT_EQ(memory
                  .begin(alice, {.messages = hello,
                                 .model = "a",
                                 .policy = std::string(keep_one_turn),
                                 .write = {.key = "k"}})
                  .error()
                  .code,
              ErrorCode::unprocessable);
    ASSERT_TRUE(memory.append(bob, {.messages = hello, .write = {.key = "k"}}));
    EXPECT_EQ(
        memory
            .append(bob, {.messages = hello, .format = FormatId::anthropic, .write = {.key = "k"}})
            .error()
            .code,
        ErrorCode::unprocessable);
}
