// begin with `resend`: a client that sends its whole history, or its end, or an edited one.
#include "support/passing_store.h"
#include "support/scripted_model.h"

namespace palimpsest {
namespace {

using namespace testing_support;

std::string list(std::initializer_list<std::string> messages) {
    std::string out;
    for (const std::string& one : messages) out += (out.empty() ? "" : ",") + one;
    return "[" + out + "]";
}

struct Options {
    std::string key = {};
    std::string policy = {};
    std::string digest = {};
    FormatId format = FormatId::openai_chat;
};

Result<Begun> resend(Memory& memory, const std::string& messages, const Options& options = {}) {
    return memory.begin(alice, {.messages = messages,
                                .format = options.format,
                                .policy = options.policy,
                                .write = {.key = options.key},
                                .resend = true,
                                .digest = options.digest});
}

void answer(Memory& memory, const Begun& begun, std::string_view text, bool interrupted = false) {
    const Message message =
        read_message(FormatId::openai_chat, make_bytes(assistant(text))).value();
    ASSERT_TRUE(memory.finish(begun, {.message = message, .interrupted = interrupted}));
}

std::size_t count(Memory& memory, EntryKind kind) {
    return memory.log(alice, {.kinds = only(kind)})->size();
}

TEST(begin_resend, stores_only_what_is_new) {
    Memory memory = open_memory();
    answer(memory, *resend(memory, list({message("system", "be brief"), user("u1")})), "a1");
    const auto begun = resend(
        memory, list({message("system", "be brief"), user("u1"), assistant("a1"), user("u2")}));
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(texts(begun->view), "u1 a1 u2");
    EXPECT_EQ(begun->request().size(), 4u);
    answer(memory, *begun, "a2");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 u2 a2");
    EXPECT_EQ(count(memory, EntryKind::message), 4u);
}

TEST(begin_resend, takes_new_messages_alone_and_a_shortened_copy) {
    Memory memory = talk({"u1", "a1", "u2", "a2"});
    answer(memory, *resend(memory, list({user("u3")})), "a3");
    const auto begun =
        resend(memory, list({user("my summary"), user("u3"), assistant("a3"), user("u4")}));
    ASSERT_TRUE(begun);
    EXPECT_EQ(texts(begun->view), "u1 a1 u2 a2 u3 a3 u4");
    ASSERT_EQ(begun->warnings.size(), 1u);
    EXPECT_TRUE(begun->warnings[0].starts_with("1 messages"));
}

TEST(begin_resend, rewinds_an_edited_past_in_one_step_and_undo_brings_it_back) {
    Memory memory = talk({"u1", "a1", "u2", "a2"});
    const auto begun = resend(memory, list({user("u1"), assistant("a1"), user("other")}));
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(texts(begun->view), "u1 a1 other");
    EXPECT_EQ(begun->turn, Seq{6});  // behind the rewind
    ASSERT_EQ(begun->warnings.size(), 1u);
    EXPECT_TRUE(begun->warnings[0].starts_with("the conversation went back to seq 2"));
    answer(memory, *begun, "a3");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 other a3");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 u2 a2 other a3");
}

TEST(begin_resend, goes_on_behind_a_rewind_without_another) {
    Memory memory = talk({"u1", "a1", "u2", "a2"});
    answer(memory, *resend(memory, list({user("u1"), assistant("a1"), user("other")})), "a3");
    const auto begun = resend(
        memory, list({user("u1"), assistant("a1"), user("other"), assistant("a3"), user("u4")}));
    ASSERT_TRUE(begun);
    EXPECT_EQ(texts(begun->view), "u1 a1 other a3 u4");
    EXPECT_EQ(count(memory, EntryKind::rewind), 1u);
}

TEST(begin_resend, a_late_result_between_equal_answers_is_no_way_back) {
    Memory memory = memory_with({user("u1"), call("c1"), assistant("ok"), result("c1", "r")});
    ASSERT_TRUE(memory.append(alice, {.messages = assistant("ok")}));
    ASSERT_EQ(texts(*memory.view(alice)), "u1 call:c1 r ok ok") << "as it is sent";
    const auto begun = resend(memory, list({user("u1"), call("c1"), assistant("ok"),
                                            result("c1", "r"), assistant("ok"), user("u2")}));
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(texts(begun->view), "u1 call:c1 r ok ok u2");
    EXPECT_TRUE(begun->warnings.empty()) << begun->warnings.front();
    EXPECT_EQ(count(memory, EntryKind::rewind), 0u);
}

TEST(begin_resend, a_late_result_that_the_client_has_with_its_call_is_no_way_back) {
    Memory memory = memory_with({user("u1"), call("c1"), assistant("ok"), result("c1", "r")});
    const std::string history =
        list({user("u1"), call("c1"), result("c1", "r"), assistant("ok"), user("u2")});
    for (const bool edited : {false, true}) {
        ASSERT_TRUE(!edited || memory.pin(alice, Seq{1}).has_value());
        const auto begun = resend(memory, history);
        ASSERT_TRUE(begun) << begun.error().message;
        EXPECT_EQ(texts(begun->view), "u1 call:c1 r ok u2") << edited;
        EXPECT_EQ(count(memory, EntryKind::rewind), 0u) << edited;
    }
}

TEST(begin_resend, makes_an_answer_anew_when_the_client_lacks_it) {
    Memory memory = talk({"u1", "a1", "u2", "a2"});
    const auto begun = resend(memory, list({user("u1"), assistant("a1"), user("u2")}));
    ASSERT_TRUE(begun);
    EXPECT_EQ(texts(begun->view), "u1 a1 u2");
    EXPECT_EQ(begun->turn, Seq{3});
    answer(memory, *begun, "a3");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 u2 a3");
}

TEST(begin_resend, stores_an_unanswered_question_once) {
    Memory memory = open_memory();
    ASSERT_TRUE(resend(memory, list({user("u1")})));
    const auto again = resend(memory, list({user("u1")}));
    ASSERT_TRUE(again);
    EXPECT_EQ(texts(again->view), "u1");
    answer(memory, *again, "a1");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1");
}

TEST(begin_resend, replaces_a_partial_answer) {
    Memory memory = open_memory();
    answer(memory, *resend(memory, list({user("u1")})), "half", true);
    const auto again = resend(memory, list({user("u1")}));
    ASSERT_TRUE(again);
    EXPECT_EQ(texts(again->view), "u1");
    answer(memory, *again, "whole");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 whole");
}

TEST(begin_resend, gives_the_answer_of_a_finished_turn_for_its_key) {
    Memory memory = talk({"u1", "a1", "u2", "a2"});
    const std::string edited = list({user("u1"), assistant("a1"), user("other")});
    answer(memory, *resend(memory, edited, {.key = "k"}), "a3");
    const auto again = resend(memory, edited, {.key = "k"});
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_TRUE(again->already);
    EXPECT_EQ(text_of(*again->already), "a3");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 other a3");

    // Nothing new was said: the note of the call tells what the answer was for.
    const std::string same = list({user("u1"), assistant("a1"), user("other")});
    answer(memory, *resend(memory, same, {.key = "k2"}), "a4");
    const auto anew = resend(memory, same, {.key = "k2"});
    ASSERT_TRUE(anew && anew->already);
    EXPECT_EQ(text_of(*anew->already), "a4");
    EXPECT_EQ(texts(*memory.view(alice)), "u1 a1 other a4");
}

TEST(begin_resend, compacts_what_is_left_behind_a_rewind) {
    Memory memory = talk({"u1", "a1", "u2", "a2", "u3", "a3"});
    const std::string policy =
        R"({"triggers":{"messages":2},"passes":[{"pass":"keep_last","messages":1}]})";
    const auto begun = resend(
        memory, list({user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("new")}),
        {.key = "k", .policy = policy});
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(texts(begun->view), "new");
    EXPECT_TRUE(begun->compaction);
    answer(memory, *begun, "a4");
    // The client still has all of it.
    const auto next = resend(memory, list({user("u1"), assistant("a1"), user("u2"), assistant("a2"),
                                           user("new"), assistant("a4"), user("u5")}));
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(texts(next->view), "new a4 u5");
    const auto again = resend(
        memory, list({user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("new")}),
        {.key = "k", .policy = policy});
    ASSERT_TRUE(again && again->already) << (again ? "" : again.error().message);
    EXPECT_EQ(text_of(*again->already), "a4");
    EXPECT_EQ(texts(*memory.view(alice)), "new a4 u5");
}

TEST(begin_resend, goes_back_into_what_a_summary_stands_for) {
    for (const bool planned : {false, true}) {
        Memory memory = talk({"u1", "a1", "u2", "a2", "u3", "a3"});
        const auto before = memory.view(alice);
        ASSERT_TRUE(memory.splice(alice, *before, {fold(1, 4, "sum")}, Cause::request));
        ASSERT_EQ(texts(*memory.view(alice)), "[sum] u3 a3");
        const std::string policy =
            R"({"triggers":{"messages":50},"passes":[{"pass":"keep_last","messages":1}]})";
        const auto begun = resend(memory, list({user("u1"), assistant("other"), user("u2")}),
                                  {.policy = planned ? policy : ""});
        ASSERT_TRUE(begun) << begun.error().message;
        EXPECT_EQ(texts(begun->view), "u1 other u2");
        ASSERT_EQ(begun->warnings.size(), 1u);
        EXPECT_TRUE(begun->warnings[0].starts_with("the conversation went back to seq 1"));
        ASSERT_TRUE(memory.undo(alice));
        EXPECT_EQ(texts(*memory.view(alice)), "[sum] u3 a3 other u2");
    }
}

TEST(begin_resend, recognises_what_was_stored_in_another_format) {
    Memory memory = open_memory();
    const auto begun = resend(memory, list({user("u1")}));
    ASSERT_TRUE(begun);
    // A model that speaks Responses answers in items; the client is told one message.
    Answer items;
    items.earlier.push_back(
        read_message(FormatId::openai_responses,
                     make_bytes(R"({"type":"reasoning","id":"rs_1","summary":[]})"))
            .value());
    items.earlier.push_back(
        read_message(FormatId::openai_responses,
                     make_bytes(R"({"type":"message","role":"assistant","content":[)"
                                R"({"type":"output_text","text":"let me look"}]})"))
            .value());
    items.message =
        read_message(FormatId::openai_responses,
                     make_bytes(R"({"type":"function_call","call_id":"c1","name":"look",)"
                                R"("arguments":"{\"a\":1}"})"))
            .value();
    ASSERT_TRUE(memory.finish(*begun, items));
    const auto next = resend(
        memory,
        list({user("u1"),
              R"({"role":"assistant","content":"let me look","tool_calls":[{"id":"c1",)"
              R"("type":"function","function":{"name":"look","arguments":"{ \"a\": 1 }"}}]})",
              result("c1", "found")}));
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(next->view.items.size(), 5u);
    EXPECT_EQ(count(memory, EntryKind::rewind), 0u);
    EXPECT_EQ(count(memory, EntryKind::message), 5u);
}

// Somebody else is always quicker.
class Busy final : public PassingStore<Busy> {
public:
    explicit Busy(std::unique_ptr<Store> inner) : PassingStore(*inner), owned_(std::move(inner)) {}

    int others = 0;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override {
        if (batch.expected_end) {
            const Message other =
                read_message(FormatId::openai_chat, make_bytes(user(std::to_string(++others))))
                    .value();
            PAL_CHECK(inner_.append(name, {.entries = {{MessageEntry{.message = other}, {}}}}));
        }
        return inner_.append(name, batch);
    }
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        return call();
    }

private:
    const std::unique_ptr<Store> owned_;
};

TEST(begin_resend, stores_what_was_said_however_many_races_it_loses) {
    auto busy = std::make_unique<Busy>(open_store("memory:").value());
    const Busy& store = *busy;
    Memory memory(std::move(busy), {});
    ASSERT_TRUE(memory.append(alice, {.messages = user("first")}));
    const auto begun = resend(memory, list({user("mine")}));
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_GT(store.others, 10);
    EXPECT_TRUE(texts(begun->view).ends_with(std::to_string(store.others) + " mine"));
    EXPECT_EQ(count(memory, EntryKind::rewind), 0u);
}

TEST(begin_resend, notes_the_digest_of_the_request) {
    Memory memory = open_memory();
    const auto begun = resend(memory, list({user("u1")}), {.key = "k", .digest = "d1"});
    ASSERT_TRUE(begun);
    const auto call = memory.past_call(alice, begun->view.seq);
    ASSERT_TRUE(call);
    EXPECT_NE(call->note.find(R"("digest":"d1","key":"k")"), std::string::npos) << call->note;
}

}  // namespace
}  // namespace palimpsest
