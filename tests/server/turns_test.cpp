// The two halves of a turn over HTTP: which turns can be finished, with what, and what a repeat of
// either half tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/ids.h"
#include "server/running.h"

namespace palimpsest {
namespace {

const std::string chat_route = "/api/v1/chat";
const HeaderFields key_1 = {{"Idempotency-Key", "key-1"}};

std::string finish_body(const std::string& turn, std::string_view role, std::string_view text) {
    return R"({"turn_id":")" + turn + R"(","message":{"role":")" + std::string(role) +
           R"(","content":")" + std::string(text) + "\"}}";
}

std::string raw(const Told& told, std::string_view field) {
    const auto value = told.document ? told.json().find(field) : std::nullopt;
    return value ? std::string(value->raw()) : "(none)";
}

// The data of the event `done`.
std::string done_of(const Told& told) {
    const std::string mark = "event: done\ndata: ";
    const std::size_t at = told.response.body.find(mark);
    if (at == std::string::npos) return "(none)";
    const std::string rest = told.response.body.substr(at + mark.size());
    return rest.substr(0, rest.find('\n'));
}

bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000; ++i) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

// A chat in conversation "a" whose client leaves before the answer is complete.
std::string broken_stream(const Running& running) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += "word" + std::to_string(i) + " ";
    const std::string fields = R"("conversation_id":"a","message":")" + text + "\"}";
    HttpClient client = running.client();
    std::size_t heard = 0;
    const auto left =
        client.stream(request_of("POST", chat_route, R"({"stream":true,)" + fields, key_1),
                      [&](std::string_view bytes) { return (heard += bytes.size()) < 2000; });
    EXPECT_FALSE(left);
    EXPECT_TRUE(eventually(
        [&] { return running.ask("GET", conversations + "/a").number("messages") == 2; }));
    return fields;
}

TEST(repeated_chat, says_that_a_broken_answer_is_only_a_part) {
    const Running running;
    const std::string fields = broken_stream(running);
    const Told plain = running.ask("POST", chat_route, "{" + fields, key_1);
    EXPECT_EQ(plain.status(), 200);
    EXPECT_EQ(raw(plain, "interrupted"), "true");
    const Told streamed = running.ask("POST", chat_route, R"({"stream":true,)" + fields, key_1);
    EXPECT_NE(done_of(streamed).find(R"("interrupted":true)"), std::string::npos);
    const Told begun = running.ask("POST", conversations + "/a/begin",
                                   "{" + fields.substr(fields.find("\"message\"")), key_1);
    EXPECT_EQ(begun.status(), 200);
    EXPECT_EQ(raw(begun, "interrupted"), "true");
}

TEST(repeated_chat, says_nothing_of_the_kind_about_a_whole_answer) {
    const Running running;
    running.ask("POST", chat_route, R"({"message":"hi"})", key_1);
    const Told again = running.ask("POST", chat_route, R"({"message":"hi"})", key_1);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    EXPECT_EQ(raw(again, "interrupted"), "(none)");
}

TEST(repeated_chat, tells_the_compaction_of_the_first_time) {
    const Running running;
    const std::string policy = R"({"policy":{"passes":[{"pass":"keep_last","messages":2}],)"
                               R"("triggers":{"messages":3}}})";
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},)"
                R"({"role":"user","content":"3"},{"role":"assistant","content":"4"}]})");
    ASSERT_EQ(running.ask("PATCH", conversations + "/a", policy).status(), 200);
    const std::string body = R"({"conversation_id":"a","message":"5"})";
    const Told first = running.ask("POST", chat_route, body, key_1);
    ASSERT_TRUE(raw(first, "compaction").starts_with("{")) << first.response.body;
    running.ask("POST", chat_route, R"({"conversation_id":"a","message":"6"})");
    const Told again = running.ask("POST", chat_route, body, key_1);
    EXPECT_EQ(again.response.body, first.response.body);
    const HeaderFields key_2 = {{"Idempotency-Key", "key-2"}};
    const Told begun = running.ask("POST", conversations + "/a/begin", R"({"message":"7"})", key_2);
    const Told twice = running.ask("POST", conversations + "/a/begin", R"({"message":"7"})", key_2);
    EXPECT_TRUE(raw(begun, "compaction").starts_with("{")) << begun.response.body;
    EXPECT_EQ(raw(twice, "compaction"), raw(begun, "compaction"));
    EXPECT_EQ(twice.header("Idempotent-Replayed"), "true");
}

TEST(streamed_chat, tells_a_compaction_before_the_answer) {
    const Running running;
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},)"
                R"({"role":"user","content":"3"},{"role":"assistant","content":"4"}]})");
    const Told told =
        running.ask("POST", chat_route,
                    R"({"conversation_id":"a","message":"5","stream":true,"memory_strategy":)"
                    R"({"passes":[{"pass":"keep_last","messages":2}],"triggers":{"messages":3}}})");
    const std::string& body = told.response.body;
    const std::size_t start = body.find("event: start\n"), at = body.find("event: compaction\n");
    const std::size_t delta = body.find("event: delta\n"), done = body.find("event: done\n");
    ASSERT_NE(at, std::string::npos) << body;
    EXPECT_LT(start, at);
    EXPECT_LT(at, delta);
    EXPECT_LT(delta, done);
    const std::size_t from = body.find("data: ", at) + 6;
    const std::string json = body.substr(from, body.find('\n', from) - from);
    const auto event = parse_json(json);
    ASSERT_TRUE(event) << json;
    EXPECT_EQ(event->root().find("outcome")->string(), "done");
    EXPECT_EQ(event->root().find("trigger_reason")->string(), "messages");
    for (const std::string_view field :
         {"strategy",          "compacted_count",   "compacted_call_ids", "compacted_tool_names",
          "compacted_inputs",  "compacted_outputs", "keep_turns",         "trigger_turns",
          "clear_tool_inputs", "excluded_tools",    "included_tools",     "total_items_before",
          "total_items_after", "turns_before",      "turns_after",        "token_budget",
          "token_soft_budget", "tokens_before",     "tokens_after",       "level"})
        EXPECT_TRUE(event->root().find(field)) << field << " in " << json;
    EXPECT_EQ(body.find("event: compaction\n", at + 1), std::string::npos) << "told once";
}

TEST(finish, refuses_a_turn_that_was_never_begun) {
    const Running running;
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"appended"}]})");
    running.ask("POST", conversations + "/b/begin", R"({"message":"other"})");
    const Told begun = running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})");
    const std::string turn = begun.text("turn_id");  // at seq 2; its call's note is at 3
    running.ask("POST", conversations + "/a/finish", finish_body(turn, "assistant", "yes"));
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"appended"}]})");  // at seq 6
    const std::string log = turn.substr(0, turn.size() - 1);
    const auto refused = [&](const std::string& conversation, const std::string& id) {
        const Told told = running.ask("POST", conversations + "/" + conversation + "/finish",
                                      finish_body(id, "assistant", "forged"));
        EXPECT_EQ(told.status(), 404) << id << told.response.body;
        EXPECT_EQ(told.error("param"), "turn_id") << id;
    };
    for (const char* seq : {"4", "5", "6", "7", "999"}) refused("a", log + seq);
    refused("b", turn);
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 4);
    EXPECT_EQ(running.ask("GET", conversations + "/b").number("messages"), 1);
}

TEST(finish, notes_the_call_that_was_sent_last_and_a_repeat_shows_what_that_one_sent) {
    Running running;
    const std::string a = conversations + "/a";
    const auto begin = [&] {
        return running.ask("POST", a + "/begin",
                           R"({"messages":[{"role":"user","content":"the question"}]})", key_1);
    };
    for (const std::string said : {"one", "two"})
        running.ask("POST", chat_route, R"({"conversation_id":"a","message":")" + said + "\"}");
    const std::int64_t first = begin().number("seq");
    running.ask("PATCH", a + "/memory",
                R"({"triggers":{"messages":3},"passes":[{"pass":"keep_last","messages":1}]})");
    const Told again = begin();
    EXPECT_GT(again.number("seq"), first) << "compacted now, and sent anew";
    const std::string view = raw(again, "view");
    EXPECT_FALSE(view.contains("two")) << view;
    running.ask("POST", a + "/finish", finish_body(again.text("turn_id"), "assistant", "yes"));
    const Told third = begin();
    EXPECT_EQ(third.number("seq"), again.number("seq"));
    EXPECT_FALSE(raw(third, "view").contains("two")) << raw(third, "view");
}

TEST(finish, refuses_an_answer_that_is_not_the_assistants) {
    const Running running;
    const Told begun = running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})");
    for (const char* role : {"user", "system"}) {
        const Told told = running.ask("POST", conversations + "/a/finish",
                                      finish_body(begun.text("turn_id"), role, "yes"));
        EXPECT_EQ(told.status(), 422) << told.response.body;
        EXPECT_EQ(told.error("param"), "message");
    }
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 1);
}

TEST(finish, refuses_an_answer_above_the_message_limit) {
    const Running running("memory:", {}, {.message_bytes_max = 1000});
    const std::string turn =
        running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})").text("turn_id");
    const auto finish = [&](std::size_t size) {
        return running.ask("POST", conversations + "/a/finish",
                           finish_body(turn, "assistant", std::string(size, 'x')));
    };
    EXPECT_EQ(finish(1001).status(), 413);
    EXPECT_EQ(finish(1001).error("param"), "message");
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 1);
    EXPECT_EQ(finish(900).status(), 200);
}

TEST(finish, gives_back_the_id_that_it_was_given) {
    const Running running;
    for (const HeaderFields& headers : {HeaderFields{}, key_1}) {
        const Told begun =
            running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})", headers);
        const std::string turn = begun.text("turn_id");
        const Told told =
            running.ask("POST", conversations + "/a/finish", finish_body(turn, "assistant", "yes"));
        EXPECT_EQ(told.status(), 200) << told.response.body;
        EXPECT_EQ(told.text("turn_id"), turn);
    }
}

TEST(finish, takes_a_key_for_one_body_only) {
    const Running running;
    const std::string turn =
        running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})").text("turn_id");
    const auto finish = [&](const std::string& body) {
        return running.ask("POST", conversations + "/a/finish", body, key_1);
    };
    const std::string body = finish_body(turn, "assistant", "yes");
    const Told first = finish(body);
    EXPECT_EQ(first.status(), 200) << first.response.body;
    EXPECT_EQ(first.header("Idempotent-Replayed"), "");
    const Told again = finish(body);
    EXPECT_EQ(again.response.body, first.response.body);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    std::string other = body;
    other.insert(1, R"("usage":{"input_tokens":7},)");
    EXPECT_EQ(finish(other).status(), 422);
    EXPECT_EQ(finish(other).error("param"), "Idempotency-Key");
}

TEST(finish, a_repeat_says_what_it_cost_like_the_first) {
    MemoryOptions terms;
    terms.models.push_back({.name = "echo", .input_price = 1e3, .output_price = 1e3});
    const Running running("memory:", {}, terms);
    for (const HeaderFields& headers : {HeaderFields{}, key_1}) {
        const std::string turn =
            running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})").text("turn_id");
        std::string body = finish_body(turn, "assistant", "yes");
        body.insert(1, R"("usage":{"input_tokens":7,"output_tokens":3},)");
        const Told first = running.ask("POST", conversations + "/a/finish", body, headers);
        ASSERT_TRUE(first.json().find("cost")->is_object()) << first.response.body;
        EXPECT_EQ(running.ask("POST", conversations + "/a/finish", body, headers).response.body,
                  first.response.body);
    }
}

TEST(begin, notes_the_model_that_is_called) {
    const Running running;
    running.ask("POST", chat_route, R"({"conversation_id":"a","message":"hi"})");
    running.ask("POST", conversations + "/b/begin", R"({"message":"hi"})");
    running.ask("POST", conversations + "/c/begin", R"({"message":"hi","model":"gpt-5"})");
    const auto model_of = [&](const std::string& id) {
        const Told call = running.ask("GET", conversations + "/" + id + "/calls/2");
        const auto note = call.document ? call.json().find("note") : std::nullopt;
        return note ? std::string(note->find("model")->string()) : call.response.body;
    };
    EXPECT_EQ(model_of("a"), "echo");
    EXPECT_EQ(model_of("b"), "echo");
    EXPECT_EQ(model_of("c"), "gpt-5");
}

struct Pair {
    std::string_view path, first, other;
};
constexpr Pair pairs[] = {
    {"/api/v1/chat", R"({"message":"x"})", R"({"message":"x","conversation_id":"b"})"},
    {"/api/v1/chat", R"({"message":"x","conversation_id":"b"})",
     R"({"message":"x","conversation_id":"c"})"},
    {"/api/v1/chat", R"({"message":"x"})", R"({"message":"x","model":"echo"})"},
    {"/api/v1/chat", R"({"message":"x"})", R"({"message":"x","tools":[{"type":"function"}]})"},
    {"/api/v1/chat", R"({"message":"x"})", R"({"message":"x","memory_strategy":{"mode":"none"}})"},
    {"/api/v1/conversations/a/begin", R"({"message":"x"})", R"({"message":"x","model":"m"})"},
    {"/api/v1/conversations/a/messages", R"({"messages":[{"role":"user","content":"x"}]})",
     R"({"messages":[{"role":"user","content":"x"}],"format":"anthropic"})"},
};

TEST(a_key, stands_for_one_whole_body) {
    for (const Pair& pair : pairs) {
        const Running running;
        const std::string path(pair.path);
        const Told first = running.ask("POST", path, std::string(pair.first), key_1);
        EXPECT_LT(first.status(), 300) << pair.first << first.response.body;
        const Told other = running.ask("POST", path, std::string(pair.other), key_1);
        EXPECT_EQ(other.status(), 422) << pair.other << other.response.body;
        EXPECT_EQ(other.error("param"), "Idempotency-Key") << pair.other;
        const Told again = running.ask("POST", path, std::string(pair.first), key_1);
        EXPECT_EQ(again.response.body, first.response.body);
        EXPECT_EQ(running.ask("GET", conversations).json().find("data")->size(), 1u) << pair.other;
    }
}

TEST(a_key, does_not_mind_how_the_answer_comes) {
    const Running running;
    running.ask("POST", chat_route, R"({"message":"x","conversation_id":"a"})", key_1);
    const Told streamed = running.ask(
        "POST", chat_route, R"({"message":"x","conversation_id":"a","stream":true})", key_1);
    EXPECT_EQ(streamed.status(), 200) << streamed.response.body;
    EXPECT_NE(done_of(streamed), "(none)");
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 2);
}

TEST(a_key, is_one_for_a_route_whatever_conversation_its_path_names) {
    const Running running;
    const std::string body = R"({"messages":[{"role":"user","content":"x"}]})";
    EXPECT_EQ(running.ask("POST", conversations + "/a/messages", body, key_1).status(), 201);
    EXPECT_EQ(running.ask("POST", conversations + "/b/messages", body, key_1).status(), 422);
    EXPECT_EQ(running.ask("GET", conversations + "/b").status(), 404);
}

}  // namespace
}  // namespace palimpsest
