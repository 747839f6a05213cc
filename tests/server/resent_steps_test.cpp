// Steps of a tool loop that a client sends again, without what the model said.
#include "server/resent_steps.h"

#include "server/gateway.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

std::string user(const std::string& text) {
    return R"({"role":"user","content":")" + text + "\"}";
}
std::string call(const std::string& id) {
    return R"({"type":"function_call","call_id":")" + id + R"(","name":"f","arguments":"{}"})";
}
std::string result(const std::string& id, const std::string& text) {
    return R"({"type":"function_call_output","call_id":")" + id + R"(","output":")" + text + "\"}";
}

std::vector<Message> read(const std::string& items) {
    return read_messages(FormatId::openai_responses, make_bytes("[" + items + "]")).value();
}

std::size_t resent(const std::string& has, const std::string& said) {
    std::vector<Item> items;
    for (Message& message : read(has)) items.push_back({.message = std::move(message)});
    return count_resent(items, read(said));
}

const std::string step = user("q") + "," + call("1") + "," + call("2");
const std::string results = result("1", "a") + "," + result("2", "b");
const std::string next_step = step + "," + results + "," + call("3");

TEST(count_resent, knows_the_question_before_the_first_results) {
    EXPECT_EQ(resent(step, user("q") + "," + results), 1U);
}

TEST(count_resent, knows_the_results_of_earlier_steps) {
    EXPECT_EQ(resent(next_step, user("q") + "," + results + "," + result("3", "c")), 3U);
    EXPECT_EQ(resent(next_step, results + "," + result("3", "c")), 2U);
}

TEST(count_resent, tells_calls_apart_that_have_the_same_id) {
    const std::string has = user("q") + "," + call("1") + "," + result("1", "a") + "," + call("1");
    EXPECT_EQ(resent(has, user("q") + "," + result("1", "a") + "," + result("1", "b")), 2U);
    EXPECT_EQ(resent(has, result("1", "b")), 0U);
    EXPECT_EQ(resent(has + "," + call("2"), result("1", "b") + "," + result("2", "c")), 0U);
}

TEST(count_resent, knows_a_finished_loop_before_the_next_question) {
    const std::string has =
        next_step + "," + result("3", "c") + R"(,{"role":"assistant","content":"done"})";
    const std::string all = user("q") + "," + results + "," + result("3", "c");
    EXPECT_EQ(resent(has, all + "," + user("and?")), 4U);
    EXPECT_EQ(resent(has, all), 0U) << "it has its answer";
    EXPECT_EQ(resent(next_step + "," + result("3", "c"), all), 4U) << "it has none";
}

TEST(count_resent, takes_words_without_results_as_said_once_more) {
    const std::string has = user("yes") + R"(,{"role":"assistant","content":"ok"})";
    EXPECT_EQ(resent(has, user("yes")), 0U);
    EXPECT_EQ(resent(has, user("yes") + "," + user("and?")), 0U);
}

TEST(count_resent, takes_what_differs_as_new) {
    EXPECT_EQ(resent(step, user("another") + "," + results), 0U);
    EXPECT_EQ(resent(next_step, result("1", "a") + "," + result("3", "c")), 0U);
    EXPECT_EQ(resent(step, results), 0U);
    EXPECT_EQ(resent(step, user("q") + "," + result("9", "a")), 0U);
    EXPECT_EQ(resent("", user("q") + "," + results), 0U);
}

UpstreamReply calls(const std::string& id) {
    return {.body = R"({"choices":[{"index":0,"message":{"role":"assistant","content":null,
        "tool_calls":[{"id":")" +
                    id + R"(","type":"function","function":{"name":"f",
        "arguments":"{}"}}]},"finish_reason":"tool_calls"}]})"};
}

TEST(resent_steps, of_a_conversation_are_stored_once) {
    Gateway gateway(chat_format, {calls("1"),
                                  calls("2"),
                                  {.status = 500, .body = "{}"},
                                  says(chat_format, "done"),
                                  says(chat_format, "so")});
    const std::string id(gateway.post("/v1/conversations", "{}").text("id"));
    const auto say = [&](const std::string& items) {
        return gateway.post("/v1/responses", R"({"model":"m","conversation":")" + id +
                                                 R"(","input":[)" + items + "]}");
    };
    const std::string system = R"({"role":"system","content":"Be brief."})";
    std::string all = system + "," + user("q");
    say(all);
    say(all += "," + result("1", "a"));
    EXPECT_EQ(say(all += "," + result("2", "b")).status(), 502);
    EXPECT_EQ(say(all).status(), 200);
    EXPECT_EQ(say(all + "," + user("and?")).status(), 200);
    const auto log = gateway.memory.log({"default", id}, {.kinds = only(EntryKind::message)});
    // The system prompt, the question, two calls, two results, an answer; a question, an answer.
    EXPECT_EQ(log->size(), 9U);
    EXPECT_EQ(gateway.sent(3).root().find("messages")->size(), 6U);
}

}  // namespace
}  // namespace palimpsest
