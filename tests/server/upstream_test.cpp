// What clients and probes are told of the model's server: when to come again, and whether it is
// there.
#include "server/gateway.h"

namespace palimpsest {
namespace {

const std::string hello = R"({"role":"user","content":"Hello"})";

UpstreamReply busy(int status, std::string seconds) {
    return {.status = status,
            .body = R"({"error":{"message":"slow down"}})",
            .headers = {{"Retry-After", std::move(seconds)}}};
}

TEST(upstream, that_asks_to_wait_is_passed_on_also_in_a_turn) {
    Gateway gateway(FormatId::openai_chat, {busy(429, "7"), busy(429, "90"), busy(503, "5"),
                                            busy(429, "3"), busy(429, "4")});
    const Told turn = gateway.chat(hello, in_alice);
    EXPECT_EQ(turn.status(), 429);
    EXPECT_EQ(turn.header("Retry-After"), "7");
    EXPECT_EQ(gateway.post("/api/v1/chat", R"({"message":"Hello"})").header("Retry-After"), "90");
    EXPECT_EQ(gateway.post("/v1/responses", R"({"model":"m","input":"Hi"})").header("Retry-After"),
              "5");
    const Told anthropic = gateway.message(hello, in_alice);
    EXPECT_EQ(anthropic.header("Retry-After"), "3");
    EXPECT_EQ(anthropic.error("type"), "rate_limit_error");
    EXPECT_EQ(gateway.chat(hello).header("Retry-After"), "4");
}

std::string upstream_of(const Told& ready) {
    return ready.document ? std::string(ready.json().find("upstream")->raw()) : "";
}

TEST(upstream, that_answers_with_a_page_is_a_fault_and_no_stream) {
    const UpstreamReply page{.type = "text/html", .body = "<html>hello</html>"};
    Gateway gateway(FormatId::openai_chat, {page, page, page});
    for (const Told& told : {gateway.chat(hello), gateway.chat(hello, {}, R"("stream":true)"),
                             gateway.post("/v1/embeddings", R"({"model":"m","input":"a"})")}) {
        EXPECT_EQ(told.status(), 502);
        EXPECT_EQ(told.error("code"), "upstream_failed");
        EXPECT_TRUE(told.error("message").contains("18 bytes of text/html")) << told.response.body;
    }
}

TEST(upstream, that_breaks_off_a_success_is_a_fault_also_of_what_is_passed_on) {
    for (const std::string body : {"", " ", R"({"choices":[{"ind)", R"({"a":"}")", "[]", "{}}"}) {
        const UpstreamReply broken{.body = body};
        Gateway gateway(FormatId::openai_chat, {broken, broken, broken});
        for (const Told& told : {gateway.chat(hello), gateway.chat(hello, {}, R"("stream":true)"),
                                 gateway.post("/v1/embeddings", R"({"model":"m","input":"a"})")}) {
            EXPECT_EQ(told.status(), 502) << body;
            EXPECT_EQ(told.error("code"), "upstream_failed") << told.response.body;
        }
    }
    const std::string whole = R"({"choices":[],"s":"\\","t":"\"}{","o":{"a":[1]}} )";
    Gateway gateway(FormatId::openai_chat, {{.body = whole}});
    EXPECT_EQ(gateway.chat(hello).response.body, whole) << "as it came";
}

TEST(upstream, that_answers_a_stream_with_a_page_is_a_fault_in_front_of_every_format) {
    const UpstreamReply page{.type = "text/html", .body = "<html>\n\nhello\n\n</html>"};
    for (const FormatId format : every_format) {
        Gateway gateway(format, {page, page, page});
        for (const Told& told :
             {gateway.post("/v1/responses", R"({"model":"m","input":"Hi","stream":true})"),
              gateway.chat(hello, in_alice, R"("stream":true)"),
              gateway.message(hello, in_alice, R"("stream":true)")}) {
            EXPECT_EQ(told.status(), 502) << format_name(format) << told.response.body;
            EXPECT_TRUE(told.error("message").contains("text/html")) << told.response.body;
        }
    }
}

UpstreamReply silent(std::string_view status) {
    return {.body = R"({"id":"r","object":"response","status":")" + std::string(status) +
                    R"(","model":"m","output":[],"incomplete_details":)" +
                    (status == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null") +
                    R"(,"usage":{"input_tokens":5,"output_tokens":0,"total_tokens":5}})"};
}

TEST(upstream, that_ends_without_an_item_has_answered_with_nothing) {
    for (const std::string_view status : {"completed", "incomplete"}) {
        const UpstreamReply nothing = silent(status);
        Gateway gateway(FormatId::openai_responses, {nothing, nothing, nothing, nothing});
        const Told chat = gateway.chat(hello, in_alice);
        EXPECT_EQ(chat.status(), 200) << chat.response.body;
        EXPECT_EQ(chat_text(chat), "");
        EXPECT_EQ(gateway.view("alice"), "Hello ");
        const Told message = gateway.message(hello, {{"X-Conversation-Id", "bob"}});
        EXPECT_EQ(message.status(), 200) << message.response.body;
        EXPECT_EQ(gateway.view("bob"), "Hello ");
        const Told response = gateway.post("/v1/responses", R"({"model":"m","input":"Hello"})");
        EXPECT_EQ(response.status(), 200) << response.response.body;
        EXPECT_EQ(response.text("status"), status);
        EXPECT_EQ(gateway.get("/v1/responses/" + std::string(response.text("id"))).text("status"),
                  status);
        const Told own = gateway.post("/api/v1/chat", R"({"message":"Hello"})");
        EXPECT_EQ(own.status(), 200) << own.response.body;
    }
    Gateway failed(FormatId::openai_responses, {silent("failed")});
    EXPECT_EQ(failed.chat(hello, in_alice).status(), 502);
}

// The numbers of a counter or a histogram's count, as the text has them.
std::string counted(const Gateway& gateway, const std::string& line) {
    const std::string text = gateway.get("/metrics").response.body;
    const std::size_t at = text.find("\n" + line + " ");
    if (at == text.npos) return "";
    const std::size_t from = at + line.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
}

TEST(metrics_of_models, count_calls_without_a_conversation) {
    const std::string tokens = R"(memory_tokens_total{kind="input"})";
    const std::string calls = R"(memory_step_seconds_count{step="upstream"})";
    const std::string unstored = R"({"model":"m","input":"Hi","store":false})";
    Gateway chat(FormatId::openai_chat,
                 {says(FormatId::openai_chat, "a"), says(FormatId::openai_chat, "b"),
                  says(FormatId::openai_chat, "c")});
    EXPECT_EQ(chat.message(hello).status(), 200);
    EXPECT_EQ(chat.post("/v1/responses", unstored).status(), 200);
    EXPECT_EQ(counted(chat, tokens), "22");
    EXPECT_EQ(counted(chat, calls), "2");
    // Nobody reads along what is passed on without need.
    EXPECT_EQ(chat.chat(hello).status(), 200);
    EXPECT_EQ(counted(chat, tokens), "22");
    EXPECT_EQ(counted(chat, calls), "3");
}

TEST(readiness, tells_whether_the_models_server_answers) {
    Gateway gateway(FormatId::openai_chat, {{.body = R"({"data":[]})"}});
    const Told ready = gateway.get("/readyz");
    EXPECT_EQ(ready.status(), 200);
    EXPECT_EQ(ready.text("status"), "ready");
    EXPECT_EQ(upstream_of(ready), R"([{"model":"m","reachable":true,"error":null}])");
    // What is known is told again.
    EXPECT_EQ(gateway.get("/readyz?upstream=1").status(), 200);
    ASSERT_EQ(gateway.upstream.requests().size(), 1u);
    EXPECT_EQ(gateway.upstream.requests()[0].target, "/v1/models");
}

TEST(readiness, is_degraded_by_a_server_that_is_gone_or_refuses_our_key) {
    Memory memory = Memory::open("memory:").value();
    Upstream refuses({{.status = 401, .body = "{}"}});
    Models models;
    models.add(model_of("refused", FormatId::anthropic, refuses));
    models.add(make_http_model({.name = "gone", .url = "http://127.0.0.1:1/v1"}).value());
    const auto server = Server::start(memory, std::move(models), {}).value();
    HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
    const Told ready = Running::ask(client, "GET", "/readyz");
    EXPECT_EQ(ready.status(), 200);
    EXPECT_EQ(ready.text("status"), "degraded");
    EXPECT_EQ(upstream_of(ready),
              R"([{"model":"refused","reachable":false,"error":"unauthorized"},)"
              R"({"model":"gone","reachable":false,"error":"unavailable"}])");
    EXPECT_EQ(Running::ask(client, "GET", "/readyz?upstream=1").status(), 503);
}

}  // namespace
}  // namespace palimpsest
