// What a key may spend, and what becomes of a request when it has.
#include "server/budget.h"

#include <atomic>

#include "base/clock.h"
#include "base/time.h"
#include "server/access.h"
#include "server/gateway.h"

namespace palimpsest {
namespace {

Time at(std::string_view text) {
    return parse_time(text).value();
}

TEST(budget, is_read_as_it_is_written) {
    const KeyBudget budget =
        parse_budget("2.5usd/day,100usd/month,7tokens/day,9tokens/month").value();
    EXPECT_EQ(budget.dollars_a_day, 2.5);
    EXPECT_EQ(budget.dollars_a_month, 100);
    EXPECT_EQ(budget.tokens_a_day, 7u);
    EXPECT_EQ(budget.tokens_a_month, 9u);
    EXPECT_EQ(budget_text(budget), "2.5usd/day,100usd/month,7tokens/day,9tokens/month");
    EXPECT_TRUE(parse_budget("").value().empty());
}

TEST(budget, that_cannot_be_read_is_refused_by_name) {
    for (const char* wrong : {"5", "5usd", "usd/day", "-5usd/day", "0usd/day", "5usd/year",
                              "1.5tokens/day", "nanusd/day", "infusd/day", "5usd/day;", "x,y"})
        EXPECT_EQ(parse_budget(wrong).error().param, "budget") << wrong;
}

TEST(budget, is_used_up_until_its_window_ends) {
    const KeyBudget budget = parse_budget("100tokens/day,5usd/month").value();
    const Time now = at("2026-12-31T23:59:00Z");
    EXPECT_FALSE(check_budget(budget, {.day = {99, 0}, .month = {99, 4.9}}, now));
    const auto day = check_budget(budget, {.day = {100, 0}, .month = {100, 0}}, now);
    ASSERT_TRUE(day);
    EXPECT_EQ(day->limit, "100tokens/day");
    EXPECT_EQ(day->seconds, 60);
    const auto month =
        check_budget(budget, {.day = {100, 0}, .month = {100, 5}}, at("2026-12-30T23:59:00Z"));
    ASSERT_TRUE(month);
    EXPECT_EQ(month->limit, "5usd/month");
    EXPECT_EQ(month->seconds, 86'460);
}

TEST(budget, what_was_spent_is_added_up_by_day_and_by_month) {
    Memory memory = Memory::open("memory:").value();
    const Time monday = at("2026-11-16T10:00:00Z"), tuesday = at("2026-11-17T10:00:00Z");
    ASSERT_TRUE(add_spent(memory.store(), "k", monday, {10, 0.5}));
    ASSERT_TRUE(add_spent(memory.store(), "k", tuesday, {1, 0.25}));
    const SpentNow spent = read_spent(memory.store(), "k", tuesday).value();
    EXPECT_EQ(spent.day.tokens, 1u);
    EXPECT_EQ(spent.month.tokens, 11u);
    EXPECT_EQ(spent.month.dollars, 0.75);
    EXPECT_EQ(read_spent(memory.store(), "other", tuesday)->month.tokens, 0u);
}

std::string key_with(Memory& memory, std::string_view budget,
                     std::vector<std::string> models = {}) {
    return create_key(memory.store(), {.tenant = "default",
                                       .scopes = parse_scopes("read,write").value(),
                                       .models = std::move(models),
                                       .budget = parse_budget(budget).value()})
        ->text;
}
HeaderFields bearer(const std::string& key) {
    return {{"Authorization", "Bearer " + key}};
}
const std::string hello = R"({"role":"user","content":"Hello"})";

// The scripted model takes 11 tokens in and 3 out.
TEST(budgets, a_key_that_used_up_its_budget_is_told_when_to_come_again) {
    const UpstreamReply answer = says(FormatId::openai_chat, "Hi");
    Gateway gateway(FormatId::openai_chat, {answer, answer, answer});
    const auto poor = bearer(key_with(gateway.memory, "20tokens/day"));
    const auto rich = bearer(key_with(gateway.memory, "100usd/day"));
    EXPECT_EQ(gateway.chat(hello, poor).status(), 200);
    EXPECT_EQ(gateway.chat(hello, poor).status(), 200);
    const Told over = gateway.chat(hello, poor);
    EXPECT_EQ(over.status(), 429);
    EXPECT_EQ(over.error("code"), "rate_limited");
    EXPECT_EQ(over.header("x-should-retry"), "false");
    const int wait = std::stoi(over.header("Retry-After"));
    EXPECT_GT(wait, 0);
    EXPECT_LE(wait, 86'400);
    EXPECT_EQ(gateway.chat(hello, rich).status(), 200);
    // What costs nothing goes on.
    HttpClient client = gateway.client();
    EXPECT_EQ(Running::ask(client, "GET", conversations, {}, poor).status(), 200);
}

TEST(budgets, that_are_used_up_give_a_finished_turn_again_and_ask_no_model) {
    struct Way {
        std::string target, said, more;
    };
    const Way ways[] = {
        {"/v1/chat/completions", R"("messages":[)" + hello + "]", R"("model":"m")"},
        {"/v1/messages", R"("messages":[)" + hello + "]", R"("model":"m","max_tokens":5)"},
        {"/v1/responses", R"("input":"Hello")", R"("model":"m")"},
        {"/v1/responses", R"("input":"Hello")", R"("model":"m","stream":true)"},
        {"/api/v1/chat", R"("message":"Hello","conversation_id":"alice")", R"("model":"m")"},
    };
    for (const Way& way : ways) {
        const bool streamed = way.more.contains("stream");
        Gateway gateway(FormatId::openai_chat, {streamed ? tells(FormatId::openai_chat, "Hi")
                                                         : says(FormatId::openai_chat, "Hi")});
        HeaderFields headers = bearer(key_with(gateway.memory, "14tokens/day"));
        if (!way.target.ends_with("responses") && way.target.starts_with("/v1"))
            headers.push_back(in_alice.front());
        headers.emplace_back("Idempotency-Key", "first");
        const std::string body = "{" + way.said + "," + way.more + "}";
        EXPECT_EQ(gateway.post(way.target, body, headers).status(), 200) << body;
        const Told again = gateway.post(way.target, body, headers);
        EXPECT_EQ(again.status(), 200) << way.target << again.response.body;
        EXPECT_TRUE(again.response.body.contains("Hi")) << again.response.body;
        headers.back().second = "second";
        const Told over = gateway.post(way.target, body, headers);
        EXPECT_EQ(over.status(), 429) << way.target << over.response.body;
        EXPECT_EQ(over.header("x-should-retry"), "false");
        EXPECT_NE(over.header("Retry-After"), "");
        EXPECT_EQ(gateway.upstream.requests().size(), 1u) << way.target;
        const bool named = !way.target.ends_with("responses");
        EXPECT_EQ(gateway.view(named ? "alice" : "none").contains("Hello Hi"), named);
    }
}

TEST(budgets, count_every_way_to_ask_a_model) {
    const std::string streamed = R"("stream":true)";
    const UpstreamReply whole = says(FormatId::openai_chat, "Hi"),
                        events = tells(FormatId::openai_chat, "Hi");
    struct Way {
        std::string target, body;
        UpstreamReply reply;
    };
    const Way ways[] = {
        {"/v1/chat/completions", R"({"model":"m","messages":[)" + hello + "]}", whole},
        {"/v1/chat/completions", R"({"model":"m","messages":[)" + hello + "]," + streamed + "}",
         events},
        {"/v1/chat/completions",
         R"({"model":"m","conversation":"c","messages":[)" + hello + "]," + streamed + "}", events},
        {"/v1/messages", R"({"model":"m","max_tokens":5,"messages":[)" + hello + "]}", whole},
        {"/v1/responses", R"({"model":"m","input":"Hello"})", whole},
        {"/v1/responses", R"({"model":"m","input":"Hello",)" + streamed + "}", events},
        {"/v1/embeddings",
         R"({"model":"m","input":"Hello"})",
         {.body = R"({"object":"list","data":[],"model":"m","usage":{"prompt_tokens":14,)"
                  R"("total_tokens":14}})"}},
        {"/api/v1/chat", R"({"message":"Hello"})", whole},
        {"/api/v1/chat", R"({"message":"Hello",)" + streamed + "}", events},
        {"/api/v1/state/chat", R"({"message":"Hello"})", whole},
    };
    Gateway gateway(FormatId::openai_chat);
    for (const Way& way : ways) {
        gateway.upstream.add(way.reply);
        const std::string key = key_with(gateway.memory, "1000tokens/day");
        EXPECT_EQ(gateway.post(way.target, way.body, bearer(key)).status(), 200) << way.body;
        const auto spent = read_spent(gateway.memory.store(), key.substr(4, 12), system_now());
        EXPECT_EQ(spent->day.tokens, 14u) << way.target << " " << way.body;
    }
}

TEST(budgets, a_stream_that_the_client_leaves_is_counted_by_what_was_said) {
    const std::string events = told_events(FormatId::openai_chat, std::string(400, 'x') + " end");
    UpstreamReply cut = event_stream_reply(events);
    cut.cut_at = events.size() - 200;  // before the usage
    Gateway gateway(FormatId::openai_chat, {cut});
    const std::string key = key_with(gateway.memory, "1000tokens/day");
    gateway.chat(hello, bearer(key), R"("stream":true)");
    const auto spent = read_spent(gateway.memory.store(), key.substr(4, 12), system_now());
    EXPECT_GT(spent->day.tokens, 100u);
}

class PricedSummarizer final : public Summarizer {
public:
    std::atomic<int> calls = 0;
    std::uint64_t window_tokens() const override { return 100'000; }
    Result<SummaryText> summarize(const SummaryCall&) override {
        ++calls;
        return SummaryText{.text = "They spoke of Oslo.",
                           .model = "s",
                           .usage = {.input_tokens = 100, .output_tokens = 10}};
    }
};

TEST(budgets, count_summaries_that_a_model_writes) {
    MemoryOptions options;
    options.summarizer = std::make_shared<PricedSummarizer>();
    Running server("memory:", {}, std::move(options));
    const std::string key = key_with(server.memory(), "1000tokens/day");
    std::string messages;
    for (int i = 0; i < 6; ++i)
        messages += std::string(i ? "," : "") +
                    R"({"role":"user","content":"Tell me about Oslo again, please."},)"
                    R"({"role":"assistant","content":"Oslo is the capital of Norway."})";
    server.ask("POST", conversations + "/c/messages", R"({"messages":[)" + messages + "]}",
               bearer(key));
    const Told compacted =
        server.ask("POST", conversations + "/c/compact",
                   R"({"policy":{"passes":[{"pass":"summarize","keep_turns":1}]}})", bearer(key));
    ASSERT_EQ(compacted.status(), 200) << compacted.response.body;
    EXPECT_EQ(read_spent(server.memory().store(), key.substr(4, 12), system_now())->day.tokens,
              110u)
        << compacted.response.body;
}

// A conversation that a strategy can fold.
void talk_of_oslo(const Running& server, const std::string& id, const HeaderFields& as) {
    std::string messages;
    for (int i = 0; i < 8; ++i)
        messages += std::string(i ? "," : "") +
                    R"({"role":"user","content":"Tell me about Oslo again, please."},)"
                    R"({"role":"assistant","content":"Oslo is the capital of Norway."})";
    ASSERT_EQ(server
                  .ask("POST", conversations + "/" + id + "/messages",
                       R"({"messages":[)" + messages + "]}", as)
                  .status(),
              201);
}

const std::string folds =
    R"({"triggers":{"tokens":50},"passes":[{"pass":"summarize","keep_turns":1}]})";

TEST(budgets, count_summaries_that_a_model_s_refusal_or_a_client_asks_for) {
    MemoryOptions options;
    options.summarizer = std::make_shared<PricedSummarizer>();
    options.policy = R"({"triggers":{"tokens":100000},"passes":[{"pass":"summarize"}]})";
    Gateway gateway(FormatId::openai_chat,
                    {{.status = 400,
                      .body = R"({"error":{"message":"too long","type":"invalid_request_error",)"
                              R"("code":"context_length_exceeded"}})"},
                     says(FormatId::openai_chat, "Oslo")},
                    {}, "memory:", std::move(options));
    const std::string key = key_with(gateway.memory, "1000tokens/day");
    const auto spent = [&] {
        return read_spent(gateway.memory.store(), key.substr(4, 12), system_now())->day.tokens;
    };
    std::string said;
    for (int i = 0; i < 6; ++i)
        said += std::string(i ? "," : "") +
                R"({"role":"user","content":"Tell me about Oslo again, please."},)"
                R"({"role":"assistant","content":"Oslo is the capital of Norway."})";
    ASSERT_TRUE(gateway.memory.append({"default", "c"}, {.messages = "[" + said + "]"}));
    HeaderFields headers = bearer(key);
    headers.emplace_back("X-Conversation-Id", "c");
    const Told told = gateway.chat(R"({"role":"user","content":"And now?"})", headers);
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(spent(), 110u + 14u);
    const Told folded =
        gateway.post("/v1/responses/compact", "{\"input\":[" + said + "]}", bearer(key));
    ASSERT_EQ(folded.status(), 200) << folded.response.body;
    EXPECT_EQ(folded.json().find("usage")->find("input_tokens")->integer(), 100);
    EXPECT_EQ(spent(), 110u + 14u + 110u);
}

TEST(budgets, that_are_used_up_have_summaries_made_offline) {
    const auto summarizer = std::make_shared<PricedSummarizer>();
    MemoryOptions options;
    options.summarizer = summarizer;
    Running server("memory:", {}, std::move(options));
    const std::string key = key_with(server.memory(), "100tokens/day");
    ASSERT_TRUE(add_spent(server.memory().store(), key.substr(4, 12), system_now(), {200, 0}));
    const HeaderFields poor = bearer(key);
    for (const std::string id : {"a", "b"}) talk_of_oslo(server, id, poor);
    ASSERT_EQ(server.ask("POST", "/api/v1/chat", R"({"message":"x"})", poor).status(), 429);
    const Told compacted =
        server.ask("POST", conversations + "/a/compact", R"({"policy":)" + folds + "}", poor);
    const Told begun =
        server.ask("POST", conversations + "/b/begin",
                   R"({"message":"And now?","memory_strategy":)" + folds + "}", poor);
    const Told kept = server.ask("POST", "/api/v1/state/append",
                                 R"({"message":")" + std::string(400, 'x') +
                                     R"(","compact":true,"memory_strategy":)" + folds + "}",
                                 poor);
    for (const Told* told : {&compacted, &begun, &kept})
        EXPECT_EQ(told->status(), 200) << told->response.body;
    for (const Told* told : {&compacted, &begun})
        EXPECT_NE(
            told->response.body.find("a deterministic summary stands: the budget of this key"),
            std::string::npos)
            << told->response.body;
    EXPECT_EQ(summarizer->calls, 0);
}

TEST(allow_lists, hold_for_the_models_that_a_strategy_names_for_summaries) {
    const auto summarizer = std::make_shared<PricedSummarizer>();
    MemoryOptions options;
    options.summarizer = summarizer;
    Running server("memory:", {}, std::move(options));
    const HeaderFields one = bearer(key_with(server.memory(), "", {"echo"}));
    const HeaderFields any = bearer(key_with(server.memory(), ""));
    const std::string passes = R"("triggers":{"tokens":50},"passes":[{"pass":"summarize")";
    const std::string strategies[] = {
        R"({"mode":"summarize","token_budget":300,"summarizer_model":"dear"})",
        R"({"summarizer_model":"dear",)" + passes + "}]}",
        "{" + passes + R"(,"model":"dear"}]})",
    };
    talk_of_oslo(server, "stored", one);
    talk_of_oslo(server, "c", one);
    for (const std::string& strategy : strategies) {
        ASSERT_EQ(
            server.ask("PATCH", conversations + "/stored", R"({"policy":)" + strategy + "}", any)
                .status(),
            200);
        const std::string with = R"("memory_strategy":)" + strategy;
        const std::pair<std::string, std::string> ways[] = {
            {"/api/v1/chat", R"({"message":"x","conversation_id":"new",)" + with + "}"},
            {"/api/v1/chat", R"({"message":"x","conversation_id":"stored"})"},
            {conversations + "/new/begin", R"({"message":"x",)" + with + "}"},
            {conversations + "/c/compact", R"({"policy":)" + strategy + "}"},
            {"/api/v1/state/chat", R"({"message":"x",)" + with + "}"},
            {"/api/v1/state/append", R"({"message":"x","compact":true,)" + with + "}"},
        };
        for (const auto& [path, body] : ways) {
            const Told told = server.ask("POST", path, body, one);
            EXPECT_EQ(told.status(), 403) << path << body << told.response.body;
            // The body's own field, where the body has it.
            const std::string model = "summarizer_model";
            const bool named = body.contains("\"" + model);
            const std::string field =
                body.contains("memory_strategy") ? "memory_strategy." : "policy.";
            EXPECT_EQ(told.error("param"), named ? field + model : model)
                << path << told.response.body;
        }
        EXPECT_EQ(server.ask("GET", conversations + "/new", {}, one).status(), 404);
    }
    EXPECT_EQ(summarizer->calls, 0);
}

TEST(allow_lists, leave_the_settings_to_say_who_writes_summaries) {
    const auto summarizer = std::make_shared<PricedSummarizer>();
    MemoryOptions options;
    options.summarizer = summarizer;
    options.policy = R"({"summarizer_model":"dear","triggers":{"tokens":50},)"
                     R"("passes":[{"pass":"summarize","keep_turns":1}]})";
    Running server("memory:", {}, std::move(options));
    const HeaderFields one = bearer(key_with(server.memory(), "", {"echo"}));
    talk_of_oslo(server, "c", one);
    const Told told =
        server.ask("POST", "/api/v1/chat", R"({"message":"x","conversation_id":"c"})", one);
    EXPECT_EQ(told.status(), 200) << told.response.body;
    EXPECT_GT(summarizer->calls, 0);
}

TEST(allow_lists, hold_also_for_the_model_of_an_agent) {
    Gateway gateway(FormatId::openai_chat, {says(FormatId::openai_chat, "Hi")});
    const auto mine = bearer(key_with(gateway.memory, "", {"m"}));
    const auto others = bearer(key_with(gateway.memory, "", {"another"}));
    HttpClient client = gateway.client();
    ASSERT_EQ(
        Running::ask(client, "PUT", "/api/v1/agents/helper", R"({"model":"m"})", mine).status(),
        200);
    const std::string body = R"({"message":"Hello","agent_type":"helper"})";
    EXPECT_EQ(gateway.post("/api/v1/chat", body, others).error("code"), "forbidden");
    EXPECT_EQ(gateway.post("/api/v1/conversations/c/begin", body, others).error("code"),
              "forbidden");
    EXPECT_EQ(gateway.post("/api/v1/chat", body, mine).status(), 200);
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
    // What a key may not ask it does not see either.
    EXPECT_EQ(Running::ask(client, "GET", "/v1/models", {}, others).json().find("data")->size(),
              0u);
    EXPECT_EQ(Running::ask(client, "GET", "/v1/models", {}, mine).json().find("data")->size(), 1u);
}

}  // namespace
}  // namespace palimpsest
