// A conversation of Responses that is named by the header, as on the routes of other formats.
#include "server/gateway.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

std::string words(const std::string& role, const std::string& text) {
    return R"({"role":")" + role + R"(","content":")" + text + "\"}";
}

Told say(const Gateway& gateway, const std::string& items, const std::string& more = "",
         const HeaderFields& headers = in_alice) {
    return gateway.post("/v1/responses", R"({"model":"m","input":[)" + items + "]" + more + "}",
                        headers);
}

std::string id_of(const Told& told) {
    return std::string(told.text("id"));
}

TEST(responses_by_header, make_the_conversation_and_go_on_in_it) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "b"), tells(format, "d")});
        const Told first = say(gateway, words("user", "a"));
        EXPECT_EQ(first.header("X-Conversation-Id"), "alice") << first.response.body;
        EXPECT_EQ(first.json().find("conversation")->find("id")->string(), "alice");
        const Told second = say(gateway, words("user", "c"), R"(,"stream":true)");
        EXPECT_EQ(second.header("X-Conversation-Id"), "alice") << second.response.body;
        EXPECT_EQ(gateway.view("alice"), "a b c d");
    }
}

TEST(responses_by_header, recognise_a_history_that_comes_again) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "b"), says(format, "d")});
        const Told first = say(gateway, words("user", "a"));
        const std::string answer(first.json().find("output")->raw());
        say(gateway, words("system", "Be brief.") + "," + words("user", "a") + "," +
                         answer.substr(1, answer.size() - 2) + "," + words("user", "c"));
        EXPECT_EQ(gateway.view("alice"), "a b c d");
    }
}

TEST(responses_by_header, recognise_items_that_are_referred_to) {
    Gateway gateway(chat_format, {says(chat_format, "b"), says(chat_format, "d")});
    const Told first = say(gateway, words("user", "a"));
    const JsonValue item = *first.json().find("output")->elements().begin();
    say(gateway, words("user", "a") + R"(,{"type":"item_reference","id":)" +
                     std::string(item.find("id")->raw()) + "}," + words("user", "c"));
    EXPECT_EQ(gateway.view("alice"), "a b c d");
}

TEST(responses_by_header, answer_a_question_that_is_asked_again_under_another_id) {
    Gateway gateway(chat_format, {says(chat_format, "b"), says(chat_format, "old"),
                                  says(chat_format, "new"), says(chat_format, "f")});
    const std::string history = words("user", "a") + "," + words("assistant", "b");
    say(gateway, words("user", "a"));
    const std::string old = id_of(say(gateway, history + "," + words("user", "c")));
    const Told told = say(gateway, history + "," + words("user", "c"));
    EXPECT_NE(id_of(told), old);
    EXPECT_EQ(gateway.view("alice"), "a b c new");
    EXPECT_TRUE(gateway.get("/v1/responses/" + old).response.body.contains("\"old\""));
    EXPECT_TRUE(gateway.get("/v1/responses/" + id_of(told)).response.body.contains("\"new\""));
    EXPECT_TRUE(told.header("x-warnings").contains("went back")) << told.header("x-warnings");
    EXPECT_EQ(gateway.sent(2).root().find("messages")->size(), 3U);
    say(gateway, words("user", "e"));
    EXPECT_EQ(gateway.view("alice"), "a b c new e f");
}

TEST(responses_by_header, repeated_by_key_ask_again_only_once) {
    Gateway gateway(chat_format,
                    {says(chat_format, "b"), says(chat_format, "old"), says(chat_format, "new")});
    const std::string history = words("user", "a") + "," + words("assistant", "b");
    const HeaderFields keyed = {{"X-Conversation-Id", "alice"}, {"Idempotency-Key", "k"}};
    say(gateway, words("user", "a"));
    say(gateway, history + "," + words("user", "c"));
    const Told told = say(gateway, history + "," + words("user", "c"), "", keyed);
    const Told again = say(gateway, history + "," + words("user", "c"), "", keyed);
    EXPECT_EQ(id_of(again), id_of(told));
    EXPECT_EQ(gateway.view("alice"), "a b c new");
    EXPECT_EQ(gateway.upstream.requests().size(), 3U);
}

TEST(responses_by_header, try_a_question_that_failed_again) {
    Gateway gateway(chat_format, {{.status = 500, .body = "{}"}, says(chat_format, "b")});
    EXPECT_EQ(say(gateway, words("user", "a")).status(), 502);
    const Told told = say(gateway, words("user", "a"));
    EXPECT_EQ(gateway.view("alice"), "a b");
    EXPECT_TRUE(gateway.get("/v1/responses/" + id_of(told)).response.body.contains("\"b\""));
}

TEST(responses_by_header, are_stored_whatever_store_says_and_say_so) {
    Gateway gateway(FormatId::openai_responses, {says(FormatId::openai_responses, "b")});
    const Told told = say(gateway, words("user", "a"), R"(,"store":false)");
    EXPECT_EQ(gateway.view("alice"), "a b");
    EXPECT_EQ(told.json().find("store")->boolean(), true);
    EXPECT_TRUE(told.header("x-warnings").contains("store: false")) << told.header("x-warnings");
    EXPECT_EQ(gateway.get("/v1/responses/" + id_of(told)).json().find("store")->boolean(), true);
    EXPECT_EQ(gateway.sent(0).root().find("store")->boolean(), false) << "the provider keeps none";
}

// One that goes before there is an answer.
void say_and_go(const Gateway& gateway, const std::string& body, const HeaderFields& headers) {
    HttpClientOptions options;
    options.total_timeout_ms = 200;
    HttpClient client(
        parse_url("http://127.0.0.1:" + std::to_string(gateway.server->port())).value(), options);
    EXPECT_EQ(Running::ask(client, "POST", "/v1/responses", body, headers).status(), 0);
}

TEST(responses_in_a_conversation, are_told_again_to_whom_the_answer_did_not_reach) {
    for (const std::string more : {"", R"(,"stream":true)"})
        for (const bool by_header : {true, false}) {
            UpstreamReply slow = more.empty() ? says(chat_format, "b") : tells(chat_format, "b");
            slow.delay_ms = 500;
            Gateway gateway(chat_format, {slow, says(chat_format, "d")});
            ASSERT_TRUE(gateway.memory.create({"default", "alice"}, {}, {}));
            const HeaderFields headers = by_header ? in_alice : HeaderFields{};
            const std::string body = R"({"model":"m","input":[)" + words("user", "a") + "]" + more +
                                     (by_header ? "" : R"(,"conversation":"alice")") + "}";
            say_and_go(gateway, body, headers);
            const Told again = gateway.post("/v1/responses", body, headers);
            EXPECT_TRUE(again.response.body.contains("\"b\"")) << again.response.body;
            EXPECT_EQ(gateway.view("alice"), "a b") << more << by_header;
            EXPECT_EQ(gateway.upstream.requests().size(), 1U);
        }
}

TEST(responses_in_a_conversation, are_new_once_the_answer_was_had) {
    Gateway gateway(chat_format, {says(chat_format, "b"), says(chat_format, "d")});
    ASSERT_TRUE(gateway.memory.create({"default", "alice"}, {}, {}));
    const std::string more = R"(,"conversation":"alice")";
    say(gateway, words("user", "a"), more, {});
    say(gateway, words("user", "a"), more, {});
    EXPECT_EQ(gateway.view("alice"), "a b a d");
}

TEST(responses_by_header, refuse_another_place_beside_it) {
    Gateway gateway(chat_format, {says(chat_format, "b")});
    const std::string made = id_of(say(gateway, words("user", "a"), "", {}));
    const Told response =
        say(gateway, words("user", "a"), R"(,"previous_response_id":")" + made + "\"");
    EXPECT_EQ(response.status(), 400);
    EXPECT_EQ(response.error("param"), "previous_response_id");
    const Told other = say(gateway, words("user", "a"), R"(,"conversation":"bob")");
    EXPECT_EQ(other.status(), 400);
    EXPECT_EQ(other.error("param"), "conversation");
    const Told bad = say(gateway, words("user", "a"), "", {{"X-Conversation-Id", ""}});
    EXPECT_EQ(bad.status(), 400) << bad.response.body;
    EXPECT_EQ(gateway.get("/api/v1/conversations/alice").status(), 404);
}

}  // namespace
}  // namespace palimpsest
