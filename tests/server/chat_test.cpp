// Chat: plain, streamed, repeated, and cut off; and many clients at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "server/running.h"

namespace palimpsest {
namespace {

struct Event {
    std::string name, data;
};

std::vector<Event> events_of(std::string_view text) {
    std::vector<Event> events(1);
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.starts_with("event: ")) events.back().name = line.substr(7);
        if (line.starts_with("data: ")) events.back().data += line.substr(6);
        if (line.empty()) events.emplace_back();
    }
    events.pop_back();
    return events;
}

std::string field(const std::string& json, std::string_view name) {
    const JsonDocument document = parse_json(json).value();
    const auto value = document.root().find(name);
    return value ? std::string(value->is_string() ? value->string() : value->raw()) : "(none)";
}

TEST(chat, answers_and_stores_both_sides) {
    const Running running;
    const Told told = running.ask("POST", "/api/v1/chat", R"({"message":"hello you"})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.json().find("message")->find("content")->string(),
              "hello you\n\n[echo: sent 1 messages, 2 tokens]");
    const std::string id = told.text("conversation_id");
    EXPECT_TRUE(id.starts_with("conv_"));
    EXPECT_EQ(running.ask("GET", conversations + "/" + id).number("messages"), 2);
    const Told next = running.ask("POST", "/api/v1/chat",
                                  R"({"message":"more","conversation_id":")" + id + "\"}");
    EXPECT_EQ(next.text("conversation_id"), id);
    EXPECT_EQ(running.ask("GET", conversations + "/" + id).number("messages"), 4);
}

TEST(chat, streams_words_and_then_the_whole_answer) {
    const Running running;
    const Told told =
        running.ask("POST", "/api/v1/chat",
                    R"({"message":"one two\nevent: x","conversation_id":"a","stream":true})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_TRUE(told.header("Content-Type").starts_with("text/event-stream"));
    EXPECT_TRUE(told.header("x-request-id").starts_with("req_"));
    const std::vector<Event> events = events_of(told.response.body);
    ASSERT_GE(events.size(), 4u);
    EXPECT_EQ(events.front().name, "start");
    EXPECT_EQ(field(events.front().data, "conversation_id"), "a");
    std::string text;
    for (const Event& event : events)
        if (event.name == "delta") text += field(event.data, "text");
    EXPECT_EQ(text, "one two\nevent: x\n\n[echo: sent 1 messages, 6 tokens]");
    ASSERT_EQ(events.back().name, "done");
    EXPECT_EQ(field(field(events.back().data, "message"), "content"), text);
    EXPECT_EQ(field(events.back().data, "turn_id"), field(events.front().data, "turn_id"));
}

TEST(chat, refuses_a_bad_request_before_it_streams) {
    const Running running;
    const Told told = running.ask("POST", "/api/v1/chat", R"({"stream":true})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "message");
    EXPECT_EQ(
        running.ask("POST", "/api/v1/chat", R"({"message":"x","model":"gpt-9"})").error("param"),
        "model");
    EXPECT_EQ(running.ask("GET", conversations).json().find("data")->size(), 0u);
}

TEST(chat, repeats_a_finished_turn_from_the_log) {
    const Running running;
    const HeaderFields key = {{"Idempotency-Key", "turn-1"}};
    const std::string body = R"({"message":"hello"})";
    const Told first = running.ask("POST", "/api/v1/chat", body, key);
    const Told again = running.ask("POST", "/api/v1/chat", body, key);
    EXPECT_EQ(again.status(), 200);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    EXPECT_EQ(again.response.body, first.response.body);
    EXPECT_EQ(
        running.ask("GET", conversations + "/" + first.text("conversation_id")).number("messages"),
        2);
    EXPECT_EQ(running.ask("POST", "/api/v1/chat", R"({"message":"other"})", key).status(), 422);
}

// Waits for what a server does after its client has gone.
bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000; ++i) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

std::string many_words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "word" + std::to_string(i) + " ";
    return text;
}

TEST(chat, keeps_what_was_said_when_the_client_leaves) {
    const Running running;
    HttpClient client = running.client();
    const std::string text = many_words(200'000);
    const std::string body = R"({"conversation_id":"a","stream":true,"message":")" + text + "\"}";
    std::size_t heard = 0;
    const auto left =
        client.stream(request_of("POST", "/api/v1/chat", body, {}), [&](std::string_view bytes) {
            heard += bytes.size();
            return heard < 2000;
        });
    EXPECT_FALSE(left);
    ASSERT_TRUE(eventually(
        [&] { return running.ask("GET", conversations + "/a").number("messages") == 2; }));
    const Told log = running.ask("GET", conversations + "/a/messages?last=1");
    const JsonValue answer = *log.json().find("data")->elements().begin();
    EXPECT_EQ(answer.find("interrupted")->boolean(), true);
    const std::string_view kept = answer.find("message")->find("content")->string();
    EXPECT_FALSE(kept.empty());
    EXPECT_LT(kept.size(), text.size());
    EXPECT_TRUE(std::string_view(text).starts_with(kept));
}

void append_from(const Running& running, int writer, int count) {
    HttpClient client = running.client();
    for (int i = 0; i < count; ++i) {
        const std::string name = std::to_string(writer) + "." + std::to_string(i);
        const Told told =
            Running::ask(client, "POST", conversations + "/a/messages",
                         R"({"messages":[{"role":"user","content":")" + name + "\"}]}",
                         {{"Idempotency-Key", "k" + name}});
        EXPECT_EQ(told.status(), 201) << told.response.body;
    }
}

void append_from_many(std::string_view store) {
    constexpr int writers = 32, each = 10;
    const Running running(store);
    std::vector<std::thread> threads;
    for (int i = 0; i < writers; ++i)
        threads.emplace_back([&running, i] { append_from(running, i, each); });
    for (std::thread& thread : threads) thread.join();
    const Told log = running.ask("GET", conversations + "/a/messages?limit=1000");
    std::set<std::string> said;
    std::int64_t expected = 1;
    for (const JsonValue entry : log.json().find("data")->elements()) {
        EXPECT_EQ(entry.find("seq")->integer(), expected++);
        said.emplace(entry.find("message")->find("content")->string());
    }
    EXPECT_EQ(expected, writers * each + 1);
    EXPECT_EQ(said.size(), std::size_t{writers} * each);
}

TEST(many_clients, append_to_one_conversation_without_gap_or_duplicate) {
    append_from_many("memory:");
}

TEST(many_clients, append_to_one_conversation_over_sqlite) {
    const TemporaryFolder folder;
    append_from_many("sqlite:" + folder.path() + "/a.db");
}

TEST(many_clients, of_which_one_wins_each_expected_end) {
    const Running running;
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i)
        threads.emplace_back([&] {
            const Told told =
                running.ask("POST", conversations + "/a/messages",
                            R"({"messages":[{"role":"user","content":"x"}]})", {{"If-Match", "0"}});
            EXPECT_TRUE(told.status() == 201 || told.status() == 409) << told.response.body;
            if (told.status() == 201) ++won;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
}

}  // namespace
}  // namespace palimpsest
