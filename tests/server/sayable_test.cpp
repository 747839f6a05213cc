// A request that would leave the model without a question is refused, and nothing is stored of it.
#include <gtest/gtest.h>

#include "server/gateway.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

std::size_t conversations_in(const Gateway& gateway) {
    return gateway.get(conversations).json().find("data")->size();
}

std::size_t messages_of(Gateway& gateway, const std::string& name) {
    return gateway.memory.log({"default", name}, {.kinds = only(EntryKind::message)})->size();
}

TEST(sayable, a_result_of_a_call_that_nobody_made_is_refused_by_its_place) {
    Gateway gateway(chat_format, {says(chat_format, "yes")});
    gateway.chat(R"({"role":"user","content":"a"})", in_alice);
    const Told told =
        gateway.chat(R"({"role":"tool","tool_call_id":"nobody","content":"42"})", in_alice);
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "messages[0]");
    EXPECT_TRUE(told.error("message").contains("nobody")) << told.error("message");
    EXPECT_EQ(messages_of(gateway, "alice"), 2u);
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
}

TEST(sayable, a_result_of_a_call_in_the_conversation_is_not) {
    const UpstreamReply calls{
        .body = R"({"choices":[{"index":0,"finish_reason":"tool_calls","message":)"
                R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
                R"("function":{"name":"f","arguments":"{}"}}]}}]})"};
    Gateway gateway(chat_format, {calls, says(chat_format, "yes")});
    gateway.chat(R"({"role":"user","content":"a"})", in_alice);
    EXPECT_EQ(
        chat_text(gateway.chat(R"({"role":"tool","tool_call_id":"c1","content":"42"})", in_alice)),
        "yes");
}

TEST(sayable, anthropics_result_of_a_call_that_nobody_made_is_refused) {
    Gateway gateway(FormatId::anthropic, {says(FormatId::anthropic, "yes")});
    gateway.message(R"({"role":"user","content":"a"})", in_alice);
    const Told told = gateway.message(
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"1"}]})",
        in_alice);
    EXPECT_EQ(told.status(), 400);
    EXPECT_TRUE(told.error("message").contains("messages[0]")) << told.error("message");
    EXPECT_EQ(messages_of(gateway, "alice"), 2u);
}

TEST(sayable, a_role_that_nobody_knows_is_refused_where_it_is_all_that_is_new) {
    Gateway gateway(chat_format, {says(chat_format, "yes"), says(chat_format, "again")});
    gateway.chat(R"({"role":"user","content":"a"})", in_alice);
    const std::string bogus = R"({"role":"bogus","content":"b"})";
    EXPECT_EQ(gateway.chat(bogus, in_alice).status(), 400);
    EXPECT_EQ(messages_of(gateway, "alice"), 2u);
    const Told beside = gateway.chat(bogus + R"(,{"role":"user","content":"c"})", in_alice);
    EXPECT_EQ(chat_text(beside), "again");
    EXPECT_FALSE(beside.header("x-warnings").empty());
}

TEST(sayable, what_has_no_form_for_a_model_of_another_format_is_refused_by_its_type) {
    struct Case {
        FormatId model;
        std::string said, told;
    };
    const std::string sound =
        R"({"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aa"}}]})";
    const std::string bogus = R"({"role":"bogus","content":"b"})";
    for (const Case& one :
         {Case{FormatId::anthropic, sound, "input_audio"},
          Case{FormatId::openai_responses, sound, "input_audio"},
          Case{FormatId::anthropic, R"({"role":"user","content":""})", "messages[0] is empty"},
          Case{FormatId::anthropic, bogus, "a role"},
          Case{FormatId::openai_responses, bogus, "a role"}}) {
        Gateway gateway(one.model, {});
        const Told told = gateway.chat(one.said, in_alice);
        EXPECT_EQ(told.status(), 400) << one.said;
        EXPECT_TRUE(told.error("message").contains(one.told)) << told.error("message");
        EXPECT_EQ(told.error("param"), "messages[0]");
        EXPECT_EQ(conversations_in(gateway), 0u);
        EXPECT_TRUE(gateway.upstream.requests().empty());
    }
}

// Anthropic has no form for it: the model would be asked to go on with its own answer.
TEST(sayable, white_space_alone_is_refused_where_the_model_could_not_be_told) {
    Gateway gateway(FormatId::anthropic, {says(FormatId::anthropic, "yes")});
    gateway.message(R"({"role":"user","content":"hi"})", in_alice);
    for (const std::string content :
         {R"("  ")", R"("\n")", R"([{"type":"text","text":" "},{"type":"text","text":"\t"}])"}) {
        const std::string said = R"({"role":"user","content":)" + content + "}";
        for (const Told& told :
             {gateway.message(said, in_alice), gateway.chat(said, in_alice),
              gateway.post("/api/v1/chat",
                           R"({"conversation_id":"alice","messages":[)" + said + "]}"),
              gateway.post("/api/v1/chat", R"({"conversation_id":"alice","message":" "})"),
              gateway.post("/v1/responses",
                           R"({"model":"m","conversation":"alice","input":" "})")}) {
            EXPECT_EQ(told.status(), 400) << content;
            EXPECT_TRUE(told.error("message").contains("nothing new")) << told.error("message");
        }
    }
    EXPECT_EQ(messages_of(gateway, "alice"), 2u);
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
}

TEST(sayable, white_space_alone_is_refused_of_requests_that_keep_nothing) {
    Gateway gateway(FormatId::anthropic, {});
    const std::string said =
        R"({"role":"user","content":"hi"},{"role":"assistant","content":"yo"},)"
        R"({"role":"user","content":" "})";
    EXPECT_EQ(gateway.chat(said).error("param"), "messages[2]");
    EXPECT_EQ(gateway.post("/v1/responses", R"({"model":"m","store":false,"input":[)" + said + "]}")
                  .error("param"),
              "input[2]");
    EXPECT_TRUE(gateway.upstream.requests().empty());
}

TEST(sayable, white_space_alone_reaches_a_model_of_a_format_that_takes_it) {
    Gateway gateway(chat_format, {says(chat_format, "yes"), says(chat_format, "what?")});
    gateway.chat(R"({"role":"user","content":"hi"})", in_alice);
    EXPECT_EQ(chat_text(gateway.chat(R"({"role":"user","content":" "})", in_alice)), "what?");
    EXPECT_EQ(gateway.sent(1).root().find("messages")->size(), 3u);
}

TEST(sayable, what_cannot_be_said_leaves_no_conversation_behind) {
    Gateway gateway(FormatId::anthropic, {});
    for (const std::string items :
         {R"([{"type":"bogus"}])", R"([{"role":"system","content":"s"}])"})
        EXPECT_EQ(gateway.post("/v1/responses", R"({"model":"m","input":)" + items + "}").status(),
                  400)
            << items;
    EXPECT_EQ(conversations_in(gateway), 0u);
    EXPECT_TRUE(gateway.upstream.requests().empty());
    Gateway other(chat_format, {});
    EXPECT_EQ(other.chat(R"({"role":"bogus","content":"a"})", in_alice).status(), 400);
    EXPECT_EQ(conversations_in(other), 0u);
    EXPECT_TRUE(other.upstream.requests().empty());
}

TEST(sayable, our_own_chat_refuses_the_same_before_it_stores_anything) {
    Gateway gateway(chat_format, {says(chat_format, "yes")});
    const auto chat = [&](const std::string& said) {
        return gateway.post("/api/v1/chat", R"({"conversation_id":"alice",)" + said + "}");
    };
    EXPECT_EQ(chat(R"("messages":[{"role":"bogus","content":"a"}])").status(), 400);
    EXPECT_EQ(conversations_in(gateway), 0u);
    EXPECT_EQ(chat(R"("message":"a")").status(), 200);
    const Told told =
        chat(R"("messages":[{"role":"tool","tool_call_id":"nobody","content":"42"}])");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "messages[0]");
    EXPECT_EQ(messages_of(gateway, "alice"), 2u);
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
}

TEST(gateway_turn, tells_deltas_before_an_error_that_follows_them_closely) {
    for (const std::string fault :
         {"data: {\"error\":{\"message\":\"overloaded\"}}\n\n", "data: {\"broken\n\n"}) {
        const std::string events = told_events(chat_format, "one two three");
        const std::string begun = events.substr(0, events.find("three"));
        const std::string whole = begun.substr(0, begun.rfind("\n\n") + 2);
        Gateway gateway(chat_format, {event_stream_reply(whole + fault)});
        const Told told =
            gateway.chat(R"({"role":"user","content":"a"})", in_alice, R"("stream":true)");
        const std::string& body = told.response.body;
        EXPECT_EQ(told.status(), 200) << body;
        EXPECT_TRUE(body.contains("one") && body.contains("two")) << body;
        EXPECT_FALSE(body.contains("broken\n")) << body;
        EXPECT_LT(body.find("two"), body.find("\"error\"")) << body;
        EXPECT_EQ(gateway.view("alice"), "a one two ");
    }
}

TEST(gateway_turn, tells_the_end_of_the_conversation_and_that_it_had_moved) {
    Gateway gateway(chat_format, {says(chat_format, "yes")});
    const Told told = gateway.chat(R"({"role":"user","content":"a"})", in_alice);
    const auto head = gateway.memory.head({"default", "alice"});
    EXPECT_EQ(told.header("ETag"), "\"" + std::to_string(head->end.value) + "\"");
    const Told moved = gateway.chat(R"({"role":"user","content":"b"})",
                                    {{"X-Conversation-Id", "alice"}, {"If-Match", "\"1\""}});
    EXPECT_EQ(moved.status(), 409);
    EXPECT_EQ(moved.header("x-should-retry"), "false");
}

TEST(gateway, counts_what_context_editing_leaves) {
    std::string messages;
    for (int i = 0; i < 6; ++i) {
        const std::string id = "t" + std::to_string(i);
        messages += R"({"role":"assistant","content":[{"type":"tool_use","id":")" + id +
                    R"(","name":"f","input":{}}]},{"role":"user","content":[)" +
                    R"({"type":"tool_result","tool_use_id":")" + id + R"(","content":")" +
                    std::string(400, 'x') + R"("}]},)";
    }
    const std::string body = R"({"model":"m","messages":[{"role":"user","content":"a"},)" +
                             messages + R"({"role":"user","content":"b"}])";
    const std::string edits =
        R"(,"context_management":{"edits":[{"type":"clear_tool_uses_20250919",)"
        R"("trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1}}]})";
    Gateway gateway(chat_format);
    const std::string path = "/v1/messages/count_tokens";
    const Told whole = gateway.post(path, body + "}");
    const Told edited = gateway.post(path, body + edits + "}");
    EXPECT_GT(edited.number("input_tokens"), 0) << edited.response.body;
    EXPECT_LT(edited.number("input_tokens"), whole.number("input_tokens"));
    const auto original = [](const Told& told) -> std::int64_t {
        const auto edit = told.json().find("context_management");
        const auto tokens = edit ? edit->find("original_input_tokens") : std::nullopt;
        return tokens ? tokens->integer().value_or(-1) : -1;
    };
    EXPECT_EQ(original(edited), whole.number("input_tokens")) << edited.response.body;
    EXPECT_FALSE(whole.json().find("context_management")) << whole.response.body;
    Gateway theirs(FormatId::anthropic,
                   {{.body = R"({"input_tokens":42})"}, {.body = R"({"input_tokens":420})"}});
    const Told asked = theirs.post(path, body + edits + "}");
    EXPECT_EQ(asked.number("input_tokens"), 42);
    EXPECT_EQ(original(asked), 420) << asked.response.body;
}

TEST(gateway_turn, refuses_several_answers_of_a_model_that_gives_one) {
    const Running echo;
    for (const HeaderFields& headers : {HeaderFields(), in_alice}) {
        const Told told =
            echo.ask("POST", "/v1/chat/completions",
                     R"({"n":2,"messages":[{"role":"user","content":"a"}]})", headers);
        EXPECT_EQ(told.status(), 400);
        EXPECT_EQ(told.error("param"), "n");
    }
    EXPECT_EQ(echo.ask("GET", conversations + "/alice").status(), 404) << "nothing was stored";
}

}  // namespace
}  // namespace palimpsest
