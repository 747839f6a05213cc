// Agents, exclusive turns, states that the caller keeps, and usage, over HTTP.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "core/strategy.h"
#include "server/running.h"

namespace palimpsest {
namespace {

const std::string chat_route = "/api/v1/chat";

std::string raw(const Told& told, std::string_view field) {
    const auto value = told.document ? told.json().find(field) : std::nullopt;
    return value ? std::string(value->raw()) : "(none)";
}

std::string system_of(const Told& begun) {
    const auto request = begun.json().find("request");
    const auto messages = request ? request->find("messages") : std::nullopt;
    if (!messages) return "(none)";
    for (const JsonValue message : messages->elements())
        if (message.find("role")->string() == "system")
            return std::string(message.find("content")->string());
    return "";
}

TEST(agent_routes, keep_list_and_remove_agents) {
    const Running running;
    const std::string body =
        R"({"model":"echo","system_prompt":"Help.","memory_strategy":{"mode":"compact"}})";
    const Told put = running.ask("PUT", "/api/v1/agents/support", body);
    EXPECT_EQ(put.status(), 200) << put.response.body;
    EXPECT_EQ(put.response.body, R"({"key":"support",)" + body.substr(1));
    EXPECT_EQ(running.ask("GET", "/api/v1/agents/support").response.body, put.response.body);
    EXPECT_EQ(running.ask("PUT", "/api/v1/agents/billing", "{}").status(), 200);
    const Told list = running.ask("GET", "/api/v1/agents?limit=1");
    EXPECT_EQ(list.text("first_id"), "billing");
    EXPECT_EQ(raw(list, "has_more"), "true");
    EXPECT_EQ(running.ask("GET", "/api/v1/agents?after=billing").text("first_id"), "support");
    EXPECT_EQ(running.ask("DELETE", "/api/v1/agents/support").status(), 200);
    EXPECT_EQ(running.ask("GET", "/api/v1/agents/support").status(), 404);
    EXPECT_EQ(running.ask("DELETE", "/api/v1/agents/support").status(), 404);
}

TEST(agent_routes, refuse_a_bad_strategy_or_field) {
    const Running running;
    EXPECT_EQ(
        running.ask("PUT", "/api/v1/agents/a", R"({"memory_strategy":{"mode":"x"}})").status(),
        400);
    EXPECT_EQ(running.ask("PUT", "/api/v1/agents/a", R"({"modle":"x"})").status(), 400);
}

TEST(memory_strategy, is_the_same_object_for_a_conversation_an_agent_and_a_turn) {
    const Running running;
    running.ask("POST", conversations, R"({"id":"a"})");
    for (const std::string_view name : strategy_names()) {
        // Some names alone are those of the general form too.
        const std::string beside = name == "compact_keep" ? "" : R"("compact_keep":null,)";
        const std::string object = "{" + beside + json_string(name) + ":null}";
        EXPECT_EQ(running.ask("PATCH", conversations + "/a/memory", object).status(), 200) << name;
        EXPECT_EQ(running.ask("PUT", "/api/v1/agents/x", R"({"memory_strategy":)" + object + "}")
                      .status(),
                  200)
            << name;
        EXPECT_EQ(running
                      .ask("POST", chat_route,
                           R"({"conversation_id":"b","message":"hello",)"
                           R"("memory_strategy":)" +
                               object + "}")
                      .status(),
                  200)
            << name;
    }
    const Told set = running.ask("PATCH", conversations + "/a/memory?expand=1",
                                 R"({"mode":"compact","exclude_tools":["look"]})");
    EXPECT_EQ(set.status(), 200) << set.response.body;
    EXPECT_NE(raw(set, "expanded").find(R"("exclude_tools":["look"])"), std::string::npos);
    EXPECT_EQ(running.ask("PATCH", conversations + "/a/memory", R"({"kep":null})").status(), 400);
}

TEST(memory_strategy, that_code_gave_by_a_bare_name_is_told_and_changed_as_JSON) {
    Memory memory(open_store("memory:").value(), {});
    ASSERT_TRUE(memory.create({"default", "a"}, {.policy = "balanced"}));
    const auto server = Server::start(memory, Models(), {}).value();
    HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
    const auto ask = [&](const std::string& method, const std::string& body) {
        return Running::ask(client, method, conversations + "/a/memory", body, {});
    };
    EXPECT_EQ(raw(ask("GET", ""), "memory_strategy"), R"("balanced")");
    const Told changed = ask("PATCH", R"({"mode":"trim"})");
    EXPECT_EQ(changed.status(), 200) << changed.response.body;
    EXPECT_EQ(raw(changed, "memory_strategy"), R"({"mode":"trim"})");
}

TEST(agent_routes, an_agent_gives_prompt_and_policy_to_its_conversations) {
    const Running running;
    running.ask("PUT", "/api/v1/agents/support",
                R"({"system_prompt":"Help.","memory_strategy":{"mode":"trim","max_user_turns":1,
                    "keep_last_user_turns":1}})");
    const Told first = running.ask("POST", conversations + "/a/begin",
                                   R"({"message":"one","agent_type":"support"})");
    ASSERT_EQ(first.status(), 200) << first.response.body;
    EXPECT_EQ(system_of(first), "Help.");
    EXPECT_EQ(raw(running.ask("GET", conversations + "/a"), "metadata"),
              R"({"agent_type":"support"})");
    const Told second =
        running.ask("POST", chat_route, R"({"message":"two","conversation_id":"a"})");
    ASSERT_EQ(second.status(), 200) << second.response.body;
    EXPECT_NE(raw(second, "compaction"), "null") << "the agent keeps one turn";
    const Told none = running.ask("POST", chat_route, R"({"message":"x","agent_type":"nobody"})");
    EXPECT_EQ(none.status(), 404);
    EXPECT_EQ(none.error("param"), "agent_type");
}

TEST(agent_routes, an_agent_names_the_model) {
    const Running running;
    running.ask("PUT", "/api/v1/agents/a", R"({"model":"gone"})");
    const Told refused = running.ask("POST", chat_route, R"({"message":"x","agent_type":"a"})");
    EXPECT_EQ(refused.status(), 404);
    EXPECT_EQ(refused.error("param"), "model");
    EXPECT_EQ(running.ask("POST", chat_route, R"({"message":"x","agent_type":"a","model":"echo"})")
                  .status(),
              200);
}

TEST(turns_route, a_turn_under_way_refuses_another_until_it_is_finished) {
    const Running running;
    const std::string body = R"({"message":"one","turns":"refuse"})";
    const Told first = running.ask("POST", conversations + "/a/begin", body);
    ASSERT_EQ(first.status(), 200) << first.response.body;
    const Told second = running.ask("POST", conversations + "/a/begin", body);
    EXPECT_EQ(second.status(), 409);
    EXPECT_EQ(second.error("param"), "turns");
    const Told forked = running.ask("POST", chat_route,
                                    R"({"message":"two","conversation_id":"a","turns":"fork"})");
    ASSERT_EQ(forked.status(), 200) << forked.response.body;
    EXPECT_NE(forked.text("conversation_id"), "a");
    const Told finished = running.ask("POST", conversations + "/a/finish",
                                      R"({"turn_id":")" + first.text("turn_id") +
                                          R"(","message":{"role":"assistant","content":"1"}})");
    ASSERT_EQ(finished.status(), 200) << finished.response.body;
    EXPECT_EQ(running.ask("POST", conversations + "/a/begin", body).status(), 200);
}

TEST(state_routes, a_conversation_goes_on_with_the_bytes_that_were_given) {
    Running running;
    const Told first = running.ask("POST", "/api/v1/state/chat", R"({"message":"hello"})");
    ASSERT_EQ(first.status(), 200) << first.response.body;
    EXPECT_EQ(first.text("outcome"), "done");
    const std::string state = first.text("state");
    const Told event =
        running.ask("POST", "/api/v1/state/append",
                    R"({"state":)" + json_string(state) + R"(,"message":"the door opened"})");
    ASSERT_EQ(event.status(), 200) << event.response.body;
    const Told second =
        running.ask("POST", "/api/v1/state/chat",
                    R"({"state":)" + json_string(event.text("state")) + R"(,"message":"again"})");
    ASSERT_EQ(second.status(), 200) << second.response.body;
    const std::string after = second.text("state");
    const auto messages = parse_json(after);
    EXPECT_EQ(messages->root().find("messages")->size(), 5u);
    EXPECT_EQ(messages->root().find("processed_length")->integer(), 5);
    // As an object it is taken, too.
    EXPECT_EQ(
        running.ask("POST", "/api/v1/state/chat", R"({"state":)" + state + R"(,"message":"x"})")
            .status(),
        200);
    EXPECT_TRUE(running.memory().list({.tenant = "default"})->headers.empty())
        << "nothing is stored";
}

TEST(state_routes, say_what_was_wrong_with_a_state_and_write_other_shapes) {
    const Running running;
    const Told bad = running.ask("POST", "/api/v1/state/chat",
                                 R"({"state":"{}","message":"hello","shape":"goaitools"})");
    ASSERT_EQ(bad.status(), 200) << bad.response.body;
    EXPECT_EQ(bad.json().find("report")->find("problem")->string(), "unsupported_state_version");
    EXPECT_TRUE(bad.text("state").starts_with(R"({"version":1,"provider":"openai")"));
    const Told strict = running.ask("POST", "/api/v1/state/append",
                                    R"({"state":"{}","message":"hello","bad_state":"fail"})");
    EXPECT_EQ(strict.status(), 400);
    EXPECT_EQ(strict.error("param"), "state");
    const Told tagged =
        running.ask("POST", "/api/v1/state/append", R"({"message":"hello","shape":"ailoop"})");
    EXPECT_EQ(tagged.text("state"),
              R"({"version":1,"messages":[{"User":{"blocks":[{"Text":{"text":"hello"}}]}}],)"
              R"("pinned":[false]})");
}

TEST(usage_routes, sum_what_calls_took_by_day) {
    const Running running;
    for (int i = 0; i < 3; ++i)
        running.ask("POST", chat_route,
                    R"({"message":"hello","conversation_id":")" + std::to_string(i % 2) + "\"}");
    const Told all = running.ask("GET", "/api/v1/usage");
    ASSERT_EQ(all.status(), 200) << all.response.body;
    ASSERT_EQ(all.json().find("data")->size(), 1u);
    const JsonValue row = *all.json().find("data")->elements().begin();
    EXPECT_EQ(row.find("calls")->integer(), 3);
    const Told one = running.ask("GET", conversations + "/0/usage");
    const JsonValue own = *one.json().find("data")->elements().begin();
    EXPECT_EQ(own.find("calls")->integer(), 2);
    EXPECT_GT(*own.find("usage")->find("output_tokens")->integer(), 0);
}

TEST(finish_route, what_the_provider_reports_calibrates_the_estimate) {
    Running running;
    for (int i = 0; i < 12; ++i) {
        const Told begun =
            running.ask("POST", conversations + "/a/begin",
                        R"({"message":"some words to count","model":"my-own-model"})");
        ASSERT_EQ(begun.status(), 200) << begun.response.body;
        const Told done = running.ask(
            "POST", conversations + "/a/finish",
            R"({"turn_id":")" + begun.text("turn_id") +
                R"(","message":{"role":"assistant","content":"fine"},"usage":{"input_tokens":)" +
                std::to_string(1000 + 500 * i) + "}}");
        ASSERT_EQ(done.status(), 200) << done.response.body;
    }
    const auto learned =
        running.memory().store().list_records({.tenant = "default", .space = "calibration"});
    ASSERT_TRUE(learned);
    ASSERT_EQ(learned->size(), 1u) << "nothing was learned";
    EXPECT_NE(learned->front().value.find("\"samples\":12"), std::string::npos)
        << learned->front().value;
}

TEST(metrics_route, has_what_the_engine_counts) {
    const Running running;
    running.ask("POST", chat_route, R"({"message":"hello"})");
    const std::string text = running.ask("GET", "/metrics").response.body;
    for (const std::string_view line :
         {"memory_step_seconds_count{step=\"begin\"} 1",
          "memory_step_seconds_count{step=\"finish\"} 1",
          "memory_step_seconds_count{step=\"upstream\"} 1", "memory_tokens_total{kind=\"input\"}",
          "memory_tokens_total{kind=\"cached\"}", "memory_tokens_total{kind=\"cache_write\"}",
          "memory_tokens_total{kind=\"output\"}", "memory_cost_dollars_total",
          "memory_cache_misses_total", "memory_store_operations_total{operation=\"append\"} 2",
          "# TYPE memory_store_errors_total counter", "memory_jobs_waiting 0",
          "# TYPE memory_trigger_total counter", "# TYPE memory_compaction_items_total counter",
          "# TYPE memory_tokens_before_after histogram",
          "# TYPE memory_summary_injection_total counter"})
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

}  // namespace
}  // namespace palimpsest
