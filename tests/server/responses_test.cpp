// OpenAI's Responses over our logs: answers, branches, and what is kept of them.
#include "server/responses.h"

#include "base/ids.h"
#include "server/access.h"
#include "server/gateway.h"

namespace palimpsest {
namespace {

TEST(responses, answer_and_are_read_again_as_they_were_given) {
    Behind site;
    site.upstream.add(chat_reply("Hi!"));
    const Told told = site.say(R"("input":"Hello","instructions":"Be brief.","temperature":0.5,
        "metadata":{"k":"v"},"max_output_tokens":99)");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_TRUE(told.text("id").starts_with("resp_"));
    EXPECT_EQ(told.text("status"), "completed");
    EXPECT_EQ(output_text(told), "Hi!");
    EXPECT_EQ(told.text("instructions"), "Be brief.");
    EXPECT_EQ(told.json().find("temperature")->raw(), "0.5");
    EXPECT_EQ(told.json().find("usage")->find("total_tokens")->integer(), 9);
    const Told again = site.ask("GET", root + "/" + told.text("id"));
    for (const JsonMember member : told.json().members())
        if (member.key != "created_at" && member.key != "completed_at") {
            EXPECT_EQ(again.json().find(member.key)->raw(), member.value.raw()) << member.key;
        }
    const std::string sent = site.upstream.requests().at(0).body;
    EXPECT_NE(sent.find(R"("max_completion_tokens":99)"), sent.npos) << sent;
    EXPECT_NE(sent.find("Be brief."), sent.npos) << sent;
}

TEST(responses, continue_the_one_before_without_its_instructions) {
    Behind site;
    site.upstream.add(chat_reply("one"));
    site.upstream.add(chat_reply("two"));
    const Told first = site.say(R"("input":"a","instructions":"Only now.")");
    const Told second =
        site.say(R"("input":"b","previous_response_id":")" + first.text("id") + "\"");
    ASSERT_EQ(second.status(), 200) << second.response.body;
    EXPECT_EQ(second.text("previous_response_id"), first.text("id"));
    EXPECT_EQ(conversation_of(second), conversation_of(first)) << "nothing was said since";
    const std::string sent = site.upstream.requests().at(1).body;
    EXPECT_EQ(sent.find("Only now."), sent.npos) << sent;
    for (const char* text : {"\"a\"", "\"one\"", "\"b\""})
        EXPECT_NE(sent.find(text), sent.npos) << sent;
    EXPECT_EQ(
        input_texts(site.ask("GET", root + "/" + second.text("id") + "/input_items?order=asc")),
        "a|one|b|");
    EXPECT_EQ(input_texts(site.ask("GET", root + "/" + second.text("id") + "/input_items?limit=1")),
              "b|");
}

TEST(responses, branch_when_something_was_said_since) {
    Behind site;
    for (const char* text : {"root", "left", "right", "left2"}) site.upstream.add(chat_reply(text));
    const std::string base = site.say(R"("input":"start")").text("id");
    const auto follow = [&](const std::string& text, const std::string& id) {
        return site.say("\"input\":\"" + text + "\",\"previous_response_id\":\"" + id + "\"");
    };
    const Told left = follow("l", base), right = follow("r", base);
    EXPECT_NE(conversation_of(left), conversation_of(right));
    const Told left2 = follow("l2", left.text("id"));
    EXPECT_EQ(conversation_of(left2), conversation_of(left));
    const std::string sent = site.upstream.requests().at(3).body;
    EXPECT_NE(sent.find("\"left\""), sent.npos);
    EXPECT_EQ(sent.find("\"right\""), sent.npos) << "the other branch stays out";
    EXPECT_EQ(input_texts(site.ask(
                  "GET", "/v1/conversations/" + conversation_of(right) + "/items?order=asc")),
              "start|root|r|right|");
}

TEST(responses, survive_a_restart) {
    const TemporaryFolder folder;
    const std::string store = "sqlite:" + folder.path() + "/test.db";
    std::string id;
    {
        Behind site(FormatId::openai_chat, store);
        site.upstream.add(chat_reply("kept"));
        id = site.say(R"("input":"a")").text("id");
    }
    Behind site(FormatId::openai_chat, store);
    site.upstream.add(chat_reply("more"));
    EXPECT_EQ(output_text(site.ask("GET", root + "/" + id)), "kept");
    EXPECT_EQ(output_text(site.say(R"("input":"b","previous_response_id":")" + id + "\"")), "more");
    EXPECT_NE(site.upstream.requests().at(0).body.find("\"kept\""), std::string::npos);
}

TEST(responses, go_into_the_conversation_that_they_name) {
    Behind site;
    const std::string id = site.ask("POST", "/v1/conversations",
                                    R"({"items":[{"role":"user","content":"My name is Ann."}]})")
                               .text("id");
    site.upstream.add(chat_reply("Hello Ann"));
    const Told told = site.say(R"("input":"Who am I?","conversation":{"id":")" + id + "\"}");
    EXPECT_EQ(conversation_of(told), id);
    const std::string sent = site.upstream.requests().at(0).body;
    EXPECT_NE(sent.find("My name is Ann."), sent.npos);
    const Told items = site.ask("GET", "/v1/conversations/" + id + "/items?order=asc");
    EXPECT_EQ(input_texts(items), "My name is Ann.|Who am I?|Hello Ann|");
    const std::string last = items.text("last_id");
    EXPECT_EQ((*told.json().find("output")->elements().begin()).find("id")->string(), last)
        << "an answer's items have one id everywhere";
    EXPECT_EQ(site.ask("GET", "/v1/conversations/" + id + "/items/" + last).status(), 200);
    EXPECT_EQ(site.say(R"("input":"x","conversation":"conv_absent")").status(), 404);
}

TEST(responses, that_are_not_stored_leave_nothing) {
    Behind site;
    site.upstream.add(chat_reply("gone"));
    const Told told = site.say(R"("input":"secret","store":false)");
    EXPECT_EQ(output_text(told), "gone");
    EXPECT_TRUE(told.json().find("conversation")->is_null());
    EXPECT_EQ(site.ask("GET", root + "/" + told.text("id")).status(), 404);
    EXPECT_EQ(site.ask("GET", conversations).json().find("data")->size(), 0U);
}

TEST(responses, that_are_not_stored_can_continue_a_stored_one) {
    Behind site;
    site.upstream.add(chat_reply("one"));
    site.upstream.add(chat_reply("two"));
    const std::string id = site.say(R"("input":"a")").text("id");
    site.say(R"("input":"b","store":false,"previous_response_id":")" + id + "\"");
    const std::string sent = site.upstream.requests().at(1).body;
    EXPECT_NE(sent.find("\"one\""), sent.npos) << sent;
    EXPECT_EQ(site.ask("GET", conversations).json().find("data")->size(), 1U);
}

TEST(responses, keep_system_items_of_the_input) {
    Behind site;
    site.upstream.add(chat_reply("one"));
    site.upstream.add(chat_reply("two"));
    const std::string id = site.say(R"("input":[{"role":"developer","content":"Speak Norse."},)"
                                    R"({"role":"user","content":"a"}])")
                               .text("id");
    site.say(R"("input":"b","previous_response_id":")" + id + "\"");
    EXPECT_NE(site.upstream.requests().at(1).body.find("Speak Norse."), std::string::npos);
}

TEST(responses, compact_when_the_request_asks_for_it) {
    Behind site;
    std::string id;
    const std::string text(4000, 'x');
    for (int turn = 0; turn < 4; ++turn) {
        site.upstream.add(chat_reply("yes"));
        id = site.say("\"input\":\"" + std::to_string(turn) + " " + text + "\"" +
                      (id.empty() ? "" : ",\"previous_response_id\":\"" + id + "\""))
                 .text("id");
    }
    site.upstream.add(chat_reply("yes"));
    const Told told = site.say(R"("input":"and now?","context_management":[{"type":"compaction",
        "compact_threshold":1000}],"previous_response_id":")" +
                               id + "\"");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_LT(site.upstream.requests().back().body.size(),
              site.upstream.requests().at(3).body.size());
    EXPECT_EQ(site.ask("GET", conversations + "/" + conversation_of(told) + "/summaries")
                  .json()
                  .find("data")
                  ->size(),
              1U);
}

TEST(responses, truncate_when_the_request_asks_for_it_and_only_then) {
    Behind site(FormatId::openai_chat, "memory:",
                {.models = {{.name = "m", .window_tokens = 4000, .output_tokens = 100}}});
    std::string words;
    while (words.size() < 3000) words += "many words ";
    const auto say = [&](const std::string& id, const std::string& more) {
        return site.say("\"input\":\"" + words + "\"" + more +
                        (id.empty() ? "" : ",\"previous_response_id\":\"" + id + "\""));
    };
    std::string id;
    for (int turn = 0; turn < 10; ++turn) {
        site.upstream.add(chat_reply("yes"));
        id = say(id, R"(,"truncation":"auto")").text("id");
        ASSERT_TRUE(id.starts_with("resp_")) << turn;
    }
    EXPECT_LT(site.upstream.requests().back().body.size(), 8 * words.size());
    const std::size_t asked = site.upstream.requests().size();
    Told told;
    for (int turn = 0; turn < 6 && told.status() != 422; ++turn) {
        site.upstream.add(chat_reply("yes"));
        told = say(id, R"(,"truncation":"disabled")");
        if (told.status() == 200) id = told.text("id");
    }
    EXPECT_EQ(told.error("code"), "budget_unreachable") << told.response.body;
    EXPECT_LT(site.upstream.requests().size(), asked + 6);
}

TEST(responses, that_are_not_stored_truncate_by_the_window_that_the_settings_name) {
    for (const FormatId format : {FormatId::openai_chat, FormatId::openai_responses}) {
        Behind site(format, "memory:",
                    {.models = {{.name = "m", .window_tokens = 4000, .output_tokens = 100}}});
        std::string input;
        for (int i = 0; i < 10; ++i) {
            std::string words = std::to_string(i);
            while (words.size() < 3000) words += " many words";
            input += (input.empty() ? "" : ",") + (R"({"role":"user","content":")" + words + "\"}");
        }
        const auto say = [&](const std::string& more) {
            site.upstream.add(says(format, "yes"));
            return site.say("\"input\":[" + input + "],\"store\":false" + more);
        };
        EXPECT_EQ(say("").status(), 200);
        const std::size_t whole = site.upstream.requests().back().body.size();
        EXPECT_GT(whole, input.size());
        EXPECT_EQ(say(R"(,"truncation":"auto")").status(), 200);
        EXPECT_LT(site.upstream.requests().back().body.size(), whole * 8 / 10);
        EXPECT_TRUE(site.upstream.requests().back().body.contains("9 many words"));
        const Told told = say(R"(,"truncation":"disabled")");
        EXPECT_EQ(told.error("code"), "budget_unreachable") << told.response.body;
        EXPECT_EQ(site.upstream.requests().size(), 2u);
    }
}

TEST(responses, that_are_not_stored_are_truncated_by_a_server_whose_window_nobody_knows) {
    Behind site(FormatId::openai_responses);
    site.upstream.add(says(FormatId::openai_responses, "yes"));
    EXPECT_EQ(site.say(R"("input":"a","store":false,"truncation":"auto")").status(), 200);
    EXPECT_TRUE(site.upstream.requests().back().body.contains(R"("truncation":"auto")"))
        << site.upstream.requests().back().body;
}

TEST(responses, of_another_tenant_look_as_if_they_were_not_there) {
    Running site;
    const auto key = [&](const std::string& tenant, std::vector<std::string> models = {}) {
        ApiKey made{.tenant = tenant, .scopes = 3, .models = std::move(models)};
        return HeaderFields{
            {"Authorization", "Bearer " + create_key(site.memory().store(), made).value().text}};
    };
    const HeaderFields mine = key("a"), theirs = key("b"), other_models = key("a", {"other"});
    const Told told = site.ask("POST", root, R"({"input":"canary"})", mine);
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const std::string id = told.text("id");
    const std::string item((*told.json().find("output")->elements().begin()).find("id")->string());
    EXPECT_EQ(site.ask("GET", root + "/" + id, "", theirs).status(), 404);
    EXPECT_EQ(site.ask("DELETE", root + "/" + id, "", theirs).status(), 404);
    for (const std::string& body :
         {R"({"input":"x","previous_response_id":")" + id + "\"}",
          R"({"input":[{"type":"item_reference","id":")" + item + "\"}]}",
          R"({"input":"x","conversation":")" + conversation_of(told) + "\"}"}) {
        const Told refused = site.ask("POST", root, body, theirs);
        EXPECT_EQ(refused.status(), 404) << body;
        EXPECT_EQ(refused.response.body.find("canary"), std::string::npos);
    }
    EXPECT_EQ(site.ask("GET", root + "/" + id, "", mine).status(), 200);
    EXPECT_EQ(site.ask("GET", root + "/" + id, "", other_models).status(), 200)
        << "reading asks no model";
    EXPECT_EQ(site.ask("POST", root, R"({"input":"x"})", other_models).status(), 403);
}

TEST(responses, whose_process_died_are_incomplete) {
    Running site;
    const auto begun = site.memory().begin(
        {"default", "c"}, {.messages = R"([{"role":"user","content":"Hi"}])",
                           .format = FormatId::openai_responses,
                           .model = "echo",
                           .parameters = R"({"background":true,"response":{"model":"echo"}})"});
    ASSERT_TRUE(begun);
    const std::string id = position_id("resp_", begun->log, begun->turn);
    const Told told = site.ask("GET", root + "/" + id);
    EXPECT_EQ(told.text("status"), "incomplete") << told.response.body;
    const auto events = events_of(site.ask("GET", root + "/" + id + "?stream=true").response.body);
    EXPECT_EQ(events.back().type, "response.incomplete");
}

TEST(responses, that_are_deleted_are_gone_and_the_last_takes_its_conversation_along) {
    Behind site;
    site.upstream.add(chat_reply("one"));
    site.upstream.add(chat_reply("two"));
    const Told first = site.say(R"("input":"a")");
    const Told second =
        site.say(R"("input":"b","previous_response_id":")" + first.text("id") + "\"");
    const Told gone = site.ask("DELETE", root + "/" + first.text("id"));
    EXPECT_EQ(gone.json().find("deleted")->boolean(), true);
    EXPECT_EQ(site.ask("GET", root + "/" + first.text("id")).status(), 404);
    EXPECT_EQ(site.ask("DELETE", root + "/" + first.text("id")).status(), 404);
    EXPECT_EQ(site.ask("GET", root + "/" + second.text("id")).status(), 200);
    site.ask("DELETE", root + "/" + second.text("id"));
    EXPECT_EQ(site.ask("GET", conversations + "/" + conversation_of(first)).status(), 404);
}

TEST(responses, in_a_conversation_of_the_clients_own_leave_it_when_they_are_deleted) {
    Behind site;
    const std::string id = site.ask("POST", "/v1/conversations", "{}").text("id");
    site.upstream.add(chat_reply("one"));
    const Told told = site.say(R"("input":"a","conversation":")" + id + "\"");
    site.ask("DELETE", root + "/" + told.text("id"));
    EXPECT_EQ(site.ask("GET", "/v1/conversations/" + id).status(), 200);
}

TEST(responses, refuse_what_they_do_not_support_by_name) {
    Behind site;
    const auto param = [&](const std::string& fields) {
        const Told told = site.say(fields);
        EXPECT_EQ(told.status(), 400) << told.response.body;
        return told.error("param");
    };
    EXPECT_EQ(param(R"("input":[{"role":"user","content":"a"},{"role":"user"}])"),
              "input[1].content");
    EXPECT_EQ(param(R"("input":[{"role":"user"}],"store":false)"), "input[0].content");
    EXPECT_EQ(param(R"("input":"a","prompt":{"id":"p"})"), "prompt");
    EXPECT_EQ(param(R"("input":"a","moderation":{})"), "moderation");
    EXPECT_EQ(param(R"("input":"a","include":["everything"])"), "include[0]");
    EXPECT_EQ(param(R"("input":"a","tools":[{"type":"web_search"}])"), "tools[0]");
    EXPECT_EQ(param(R"("input":"a","background":true,"store":false)"), "background");
    EXPECT_EQ(param(R"("input":"a","conversation":"c","previous_response_id":"r")"),
              "previous_response_id");
    EXPECT_EQ(param(R"("input":"a","truncation":"sometimes")"), "truncation");
    EXPECT_EQ(param(R"("input":"a","context_management":[{"type":"compaction",
        "compact_threshold":5}])"),
              "context_management[0].compact_threshold");
    EXPECT_EQ(param(R"("metadata":{})"), "input");
    EXPECT_EQ(param(R"("input":"a","metadata":{"a":"b","n":7})"), "metadata.n");
    EXPECT_EQ(param(R"("input":"a","metadata":"x")"), "metadata");
    std::string labels;
    for (int i = 0; i < 17; ++i) labels += (i ? ",\"l" : "\"l") + std::to_string(i) + "\":\"\"";
    EXPECT_EQ(param(R"("input":"a","metadata":{)" + labels + "}"), "metadata");
    const Told other = site.ask("POST", root, R"({"model":"other","input":"a"})");
    EXPECT_EQ(other.status(), 404);
    EXPECT_EQ(other.error("param"), "model");
    EXPECT_TRUE(site.upstream.requests().empty());
}

TEST(responses, a_clients_own_retry_says_nothing_twice) {
    Behind site;
    site.upstream.add({.status = 500, .body = R"({"error":{"message":"later"}})"});
    site.upstream.add(chat_reply("now"));
    const std::string body = R"({"model":"m","input":"Hello"})";
    EXPECT_GE(site.ask("POST", root, body, {{"x-stainless-retry-count", "0"}}).status(), 500);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const Told again = site.ask("POST", root, body, {{"x-stainless-retry-count", "1"}});
    EXPECT_EQ(output_text(again), "now");
    const Told third = site.ask("POST", root, body, {{"x-stainless-retry-count", "2"}});
    EXPECT_EQ(third.text("id"), again.text("id"));
    EXPECT_EQ(output_text(third), "now");
    EXPECT_EQ(site.upstream.requests().size(), 2U);
    EXPECT_EQ(site.ask("GET", conversations).json().find("data")->size(), 1U);
    EXPECT_EQ(input_texts(site.ask(
                  "GET", "/v1/conversations/" + conversation_of(again) + "/items?order=asc")),
              "Hello|now|");
}

TEST(responses, the_same_words_of_another_are_no_retry) {
    Behind site;
    site.upstream.add(chat_reply("to Alice"));
    site.upstream.add(chat_reply("to Bob"));
    const std::string body = R"({"model":"m","input":"Hello"})";
    const Told alice = site.ask("POST", root, body, {{"x-stainless-retry-count", "0"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    // His first attempt never came here.
    const Told bob = site.ask("POST", root, body, {{"x-stainless-retry-count", "1"}});
    EXPECT_EQ(output_text(bob), "to Bob");
    EXPECT_NE(conversation_of(bob), conversation_of(alice));
    const auto create = [&](const char* attempt) {
        return site
            .ask("POST", "/v1/conversations", R"({"items":[]})",
                 {{"x-stainless-retry-count", attempt}})
            .text("id");
    };
    EXPECT_NE(create("0"), create("1"));
}

TEST(responses, a_repeat_with_a_key_gets_the_first_answer) {
    Behind site;
    site.upstream.add(chat_reply("once"));
    const std::string body = R"({"model":"m","input":"Hello"})";
    const Told first = site.ask("POST", root, body, {{"Idempotency-Key", "k"}});
    const Told again = site.ask("POST", root, body, {{"Idempotency-Key", "k"}});
    EXPECT_EQ(again.text("id"), first.text("id"));
    EXPECT_EQ(output_text(again), "once");
    const Told other =
        site.ask("POST", root, R"({"model":"m","input":"Other"})", {{"Idempotency-Key", "k"}});
    EXPECT_EQ(other.status(), 422);
}

TEST(responses, an_item_of_an_answer_can_be_referred_to) {
    Behind site;
    site.upstream.add(chat_reply("forty-two"));
    site.upstream.add(chat_reply("yes"));
    const Told first = site.say(R"("input":"a")");
    const std::string item((*first.json().find("output")->elements().begin()).find("id")->string());
    const Told second =
        site.say(R"("input":[{"role":"user","content":"a"},{"type":"item_reference","id":")" +
                 item + R"("},{"role":"user","content":"Sure?"}])");
    ASSERT_EQ(second.status(), 200) << second.response.body;
    EXPECT_NE(site.upstream.requests().at(1).body.find("forty-two"), std::string::npos);
}

TEST(responses, cut_short_by_the_limit_are_incomplete) {
    Behind site;
    site.upstream.add({.body = R"({"choices":[{"index":0,"message":{"role":"assistant",
        "content":"lon"},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":2}})"});
    const Told told = site.say(R"("input":"a")");
    EXPECT_EQ(told.text("status"), "incomplete");
    const JsonValue item = *told.json().find("output")->elements().begin();
    EXPECT_EQ(item.find("status")->string(), "incomplete");
    const Told again = site.ask("GET", root + "/" + told.text("id"));
    EXPECT_EQ(again.json().find("incomplete_details")->raw(), R"({"reason":"max_output_tokens"})");
}

TEST(responses, count_tokens_as_the_service_does) {
    Running site;
    const auto count = [&](const std::string& body) {
        return site.ask("POST", root + "/input_tokens", body).number("input_tokens");
    };
    EXPECT_EQ(count(R"({"model":"gpt-4.1-mini","input":[{"role":"user",
        "content":"The quick brown fox jumps over the lazy dog."}]})"),
              17);
    EXPECT_EQ(site.ask("POST", root + "/input_tokens", R"({"input":"x"})").text("object"),
              "response.input_tokens");
}

// ---- each format behind -------------------------------------------------------------------------

struct Spoken {
    FormatId format;
    std::string text, call;   // replies: a text, then a call of `f`
    std::string result_mark;  // how the result of the call is sent to it
};
const Spoken spoken[] = {
    {FormatId::openai_chat,
     R"({"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]})",
     R"({"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1",
        "type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]})",
     R"("tool_call_id":"c1")"},
    {FormatId::openai_responses,
     R"({"id":"r","object":"response","status":"completed","output":[{"id":"m1","type":"message",
        "status":"completed","role":"assistant","content":[{"type":"output_text","text":"done","annotations":[]}]}]})",
     R"({"id":"r","object":"response","status":"completed","output":[{"id":"rs1","type":"reasoning",
        "summary":[],"encrypted_content":"enc"},{"id":"f1","type":"function_call","status":"completed",
        "call_id":"c1","name":"f","arguments":"{\"a\":1}"}]})",
     R"("type":"function_call_output")"},
    {FormatId::anthropic,
     R"({"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"done"}],
        "stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}})",
     R"({"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f",
        "input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}})",
     R"("tool_use_id":"c1")"},
};

TEST(responses, use_tools_with_every_format_behind) {
    for (const Spoken& one : spoken) {
        Behind site(one.format);
        site.upstream.add({.body = one.call});
        site.upstream.add({.body = one.text});
        const Told call = site.say(
            R"("input":"Go","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])");
        const std::string what = std::string(format_name(one.format)) + call.response.body;
        ASSERT_EQ(call.status(), 200) << what;
        std::string types;
        for (const JsonValue item : call.json().find("output")->elements())
            types += std::string(item.find("type")->string()) + " ";
        EXPECT_TRUE(types.ends_with("function_call ")) << what;
        const Told done =
            site.say(R"("input":[{"type":"function_call_output","call_id":"c1","output":"42"}],)"
                     R"("previous_response_id":")" +
                     call.text("id") + "\"");
        EXPECT_EQ(output_text(done), "done") << what;
        const std::string sent = site.upstream.requests().at(1).body;
        EXPECT_NE(sent.find(one.result_mark), sent.npos) << what << sent;
    }
}

TEST(responses, keep_encrypted_reasoning_of_a_model_of_their_own_format) {
    Behind site(FormatId::openai_responses);
    site.upstream.add({.body = spoken[1].call});
    const Told told = site.say(R"("input":"Go","include":["reasoning.encrypted_content"])");
    EXPECT_NE(told.response.body.find("\"encrypted_content\":\"enc\""), std::string::npos);
    const std::string sent = site.upstream.requests().at(0).body;
    EXPECT_NE(sent.find("reasoning.encrypted_content"), sent.npos) << sent;
}

}  // namespace
}  // namespace palimpsest
