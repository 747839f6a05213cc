// What a model of another format cannot be told is refused by its name, or told in x-warnings.
#include "server/gateway.h"
#include "server/responses.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

struct Case {
    std::string fields, param;
};

std::size_t conversations_at(Behind& site) {
    return site.ask("GET", conversations).json().find("data")->size();
}

TEST(left_out, fields_that_would_change_the_answer_are_refused_by_name) {
    for (const FormatId format : {chat_format, FormatId::anthropic}) {
        Behind site(format);
        for (const Case& one : {
                 Case{R"("top_logprobs":3)", "top_logprobs"},
                 Case{R"("max_tool_calls":2)", "max_tool_calls"},
                 Case{R"("tools":[{"type":"web_search"}])", "tools[0]"},
                 Case{R"("tools":[{"type":"computer_use_preview"}])", "tools[0]"},
                 Case{R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]})",
                      "tool_choice"},
                 Case{R"("include":["reasoning.encrypted_content","message.output_text.logprobs"])",
                      "include[1]"},
                 Case{R"("text":{"colour":"red"})", "text.colour"},
                 Case{R"("reasoning":{"budget":9})", "reasoning.budget"},
             }) {
            const Told told = site.say("\"input\":\"a\"," + one.fields);
            EXPECT_EQ(told.status(), 400) << told.response.body;
            EXPECT_EQ(told.error("code"), "invalid_request");
            EXPECT_EQ(told.error("param"), one.param) << told.response.body;
        }
        EXPECT_EQ(conversations_at(site), 0U);
        EXPECT_TRUE(site.upstream.requests().empty());
    }
}

TEST(left_out, a_form_that_anthropic_lacks_is_refused_there_only) {
    const std::string fields = R"("input":"a","text":{"format":{"type":"json_object"}})";
    Behind other(FormatId::anthropic);
    EXPECT_EQ(other.say(fields).error("param"), "text.format");
    Behind site;
    site.upstream.add(chat_reply("{}"));
    EXPECT_EQ(site.say(fields).status(), 200);
}

TEST(left_out, hints_are_taken_and_told) {
    const std::string hints = R"("input":"a","service_tier":"flex","prompt_cache_key":"k",
        "safety_identifier":"s","user":"u","metadata":{"k":"v"},"text":{"verbosity":"low"},
        "reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],
        "top_logprobs":0)";
    for (const bool stream : {false, true}) {
        Behind site;
        site.upstream.add(stream ? chat_stream({"yes"}) : chat_reply("yes"));
        const Told told = site.say(hints + (stream ? ",\"stream\":true" : ""));
        EXPECT_EQ(told.status(), 200) << told.response.body;
        const std::string warnings = told.header("x-warnings");
        for (const char* name : {"service_tier", "prompt_cache_key", "safety_identifier", "user",
                                 "text.verbosity", "reasoning.summary", "encrypted_content"})
            EXPECT_TRUE(warnings.contains(name)) << name << " in " << warnings;
        for (const char* name : {"metadata", "effort", "top_logprobs"})
            EXPECT_FALSE(warnings.contains(name)) << name << " in " << warnings;
        const std::string sent = site.upstream.requests().at(0).body;
        EXPECT_TRUE(sent.contains(R"("reasoning_effort":"low")")) << sent;
        EXPECT_TRUE(told.response.body.contains(R"("safety_identifier":"s")"));
    }
}

TEST(left_out, a_plain_request_needs_no_words) {
    Behind site;
    site.upstream.add(chat_reply("yes"));
    const Told told = site.say(R"("input":"a","temperature":0.5,"max_output_tokens":9,"store":false,
        "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}],
        "tool_choice":"auto","parallel_tool_calls":true,"include":[],"user":null)");
    EXPECT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.header("x-warnings"), "");
}

TEST(left_out, a_model_that_speaks_responses_is_told_everything) {
    Behind site(FormatId::openai_responses);
    site.upstream.add(says(FormatId::openai_responses, "yes"));
    const Told told = site.say(R"("input":[{"role":"user","content":"a"},{"type":"bogus"}],
        "top_logprobs":3,"max_tool_calls":2,"service_tier":"flex","tools":[{"type":"web_search"}])");
    EXPECT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.header("x-warnings"), "");
    const std::string sent = site.upstream.requests().at(0).body;
    for (const char* word : {"bogus", "top_logprobs", "max_tool_calls", "flex", "web_search"})
        EXPECT_TRUE(sent.contains(word)) << sent;
}

TEST(left_out, items_without_a_place_are_refused_by_place_and_type) {
    const std::string user = R"({"role":"user","content":"a"})";
    const std::string items[] = {
        R"({"type":"web_search_call","id":"w","status":"completed","action":{"type":"search"}})",
        R"({"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot"}})",
        R"({"type":"shell_call","call_id":"s","action":{"commands":["ls"]}})",
        R"({"type":"mcp_approval_response","approval_request_id":"m","approve":true})",
        R"({"type":"compaction","encrypted_content":"sealed by another"})",
        R"({"type":"bogus"})",
        R"({"role":"bogus","content":"b"})",
    };
    for (const std::string& item : items)
        for (const FormatId format : {chat_format, FormatId::anthropic}) {
            Behind site(format);
            const std::string type = item.substr(9, item.find('"', 9) - 9);
            for (const std::string more : {"", ",\"store\":false", ",\"stream\":true"}) {
                const Told told = site.say("\"input\":[" + user + "," + item + "]" + more);
                EXPECT_EQ(told.status(), 400) << told.response.body;
                EXPECT_EQ(told.error("param"), "input[1]") << item;
                EXPECT_TRUE(told.error("message").contains(type)) << told.error("message");
            }
            EXPECT_EQ(conversations_at(site), 0U);
            EXPECT_TRUE(site.upstream.requests().empty());
        }
}

TEST(left_out, parts_without_a_place_are_refused_where_the_format_lacks_them) {
    const std::string audio = R"("input":[{"role":"user","content":[{"type":"input_audio",
        "input_audio":{"data":"AAAA","format":"wav"}},{"type":"input_text","text":"hear"}]}])";
    Behind other(FormatId::anthropic);
    const Told told = other.say(audio);
    EXPECT_EQ(told.error("param"), "input[0]");
    EXPECT_TRUE(told.error("message").contains("input_audio")) << told.error("message");
    Behind site;
    site.upstream.add(chat_reply("yes"));
    EXPECT_EQ(site.say(audio).status(), 200);
}

TEST(left_out, reasoning_of_another_model_is_left_out_and_told) {
    for (const FormatId format : {chat_format, FormatId::anthropic}) {
        Behind site(format);
        site.upstream.add(says(format, "yes"));
        const Told told = site.say(R"("input":[{"role":"user","content":"a"},
            {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"enc"},
            {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text",
            "text":"1"}]},{"type":"message","role":"assistant","content":[{"type":"output_text",
            "text":"b","annotations":[]}]},
            {"role":"user","content":[{"type":"input_text","text":"c"}]}])");
        EXPECT_EQ(told.status(), 200) << told.response.body;
        EXPECT_TRUE(told.header("x-warnings").starts_with("input[1]: reasoning"))
            << told.header("x-warnings");
        EXPECT_FALSE(told.header("x-warnings").contains(";")) << told.header("x-warnings");
    }
}

TEST(left_out, an_answer_with_reasoning_can_be_handed_back_whatever_is_behind) {
    constexpr FormatId anthropic = FormatId::anthropic;
    Behind site(anthropic);
    site.upstream.add({.body = R"({"id":"msg_1","type":"message","role":"assistant","model":"m",
        "content":[{"type":"thinking","thinking":"hmm","signature":"s"},
        {"type":"text","text":"b"}],"stop_reason":"end_turn","stop_sequence":null,
        "usage":{"input_tokens":1,"output_tokens":1}})"});
    site.upstream.add(says(anthropic, "d"));
    const std::string user = R"({"role":"user","content":"a"})";
    const Told first = site.say(R"("store":false,"input":[)" + user + "]");
    const std::string output(first.json().find("output")->raw());
    EXPECT_TRUE(output.contains(R"("type":"reasoning")")) << output;
    const Told second = site.say(R"("store":false,"input":[)" + user + "," +
                                 output.substr(1, output.size() - 2) + "," + user + "]");
    EXPECT_EQ(output_text(second), "d");
    EXPECT_TRUE(second.header("x-warnings").contains("input[1]: reasoning"))
        << second.header("x-warnings");
}

TEST(repairs, are_told_before_a_stream_begins) {
    const std::string open = R"({"role":"user","content":"a"},{"role":"assistant","content":null,
        "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"user","content":"b"})";
    const HeaderFields nowhere;
    for (const FormatId format : {chat_format, FormatId::anthropic})
        for (const HeaderFields& headers : {in_alice, nowhere}) {
            if (format == chat_format && headers.empty()) continue;  // passed on as it is
            Gateway plain(format, {says(format, "yes")});
            const std::string said = plain.chat(open, headers).header("x-warnings");
            EXPECT_TRUE(said.contains("repaired before it was sent")) << said;
            Gateway gateway(format, {tells(format, "yes")});
            const Told told = gateway.chat(open, headers, R"("stream":true)");
            EXPECT_EQ(told.header("x-warnings"), said) << told.response.body;
        }
}

TEST(repairs, of_responses_are_told_whole_and_streamed) {
    const std::string open = R"("input":[{"role":"user","content":"a"},{"type":"function_call",
        "call_id":"c1","name":"f","arguments":"{}"},{"role":"user","content":"b"}])";
    Behind site;
    site.upstream.add(chat_reply("yes"));
    const std::string said = site.say(open).header("x-warnings");
    EXPECT_TRUE(said.contains("repaired before it was sent")) << said;
    site.upstream.add(chat_stream({"yes"}));
    EXPECT_EQ(site.say(open + ",\"stream\":true").header("x-warnings"), said);
}

// A history with a search by OpenAI, in front of models that know of none.
TEST(left_out, hosted_items_of_a_stored_history_are_told_whole_and_streamed) {
    const std::string history = R"({"format":"openai_responses","messages":[
        {"type":"message","role":"user","content":"a"},
        {"type":"reasoning","id":"rs_1","summary":[]},
        {"type":"web_search_call","id":"ws_1","status":"completed",
         "action":{"type":"search","query":"otters"}},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"b",
         "annotations":[]}]}]})";
    for (const FormatId format : {chat_format, FormatId::anthropic}) {
        Gateway gateway(format, {says(format, "yes"), tells(format, "yes")});
        const Told kept = gateway.post("/api/v1/conversations/alice/messages", history);
        ASSERT_EQ(kept.status(), 201) << kept.response.body;
        const std::string said =
            gateway.chat(R"({"role":"user","content":"c"})", in_alice).header("x-warnings");
        EXPECT_TRUE(said.contains("not told to this model: web_search_call")) << said;
        EXPECT_FALSE(said.contains("reasoning")) << said;
        const Told streamed =
            gateway.chat(R"({"role":"user","content":"d"})", in_alice, R"("stream":true)");
        EXPECT_EQ(streamed.header("x-warnings"), said) << streamed.response.body;
    }
}

TEST(left_out, what_nobody_is_to_keep_no_server_is_let_keep) {
    const FormatId format = FormatId::openai_responses;
    const std::string question = R"({"role":"user","content":"Hello"})";
    Gateway gateway(format, {says(format, "a"), says(format, "b"), says(format, "c")});
    gateway.chat(question, {}, R"("store":false)");
    gateway.chat(question, in_alice, R"("store":false)");
    gateway.chat(question, {}, R"("store":true)");
    EXPECT_EQ(gateway.sent(0).root().find("store")->raw(), "false");
    EXPECT_EQ(gateway.sent(1).root().find("store")->raw(), "false");
    EXPECT_FALSE(gateway.sent(2).root().find("store")) << "it is kept here, and asked of nobody";
    Gateway other(FormatId::anthropic, {says(FormatId::anthropic, "a")});
    EXPECT_EQ(other.chat(question, {}, R"("store":false)").header("x-warnings"), "");
}

}  // namespace
}  // namespace palimpsest
