// Reading messages of the three formats: shape, fingerprint, parts, errors.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

Message read(FormatId format, std::string json) {
    auto message = read_message(format, make_bytes(std::move(json)));
    EXPECT_TRUE(message) << message.error().message;
    return message ? *message : Message{};
}

std::string error_of(FormatId format, std::string json) {
    const auto messages = read_messages(format, make_bytes(std::move(json)));
    return messages ? "" : messages.error().message;
}

constexpr FormatId chat = FormatId::openai_chat;
constexpr FormatId responses = FormatId::openai_responses;
constexpr FormatId anthropic = FormatId::anthropic;

}  // namespace

TEST(read_message, keeps_every_byte_but_the_space_around_it) {
    const std::string json = R"({ "role":"user","x":1.10, "content" : "a\u00e9" })";
    const Message message = read(chat, " \n" + json + "\t");
    EXPECT_EQ(*message.raw, json);
    EXPECT_EQ(message.shape, (Shape{.role = Role::user, .text = true}));
}

TEST(read_message, takes_the_shape_of_a_chat_message_with_calls) {
    const Message message = read(chat, R"({"role":"assistant","content":null,"tool_calls":[
          {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
          {"id":"c2","type":"custom","custom":{"name":"g","input":"free text"}}]})");
    EXPECT_EQ(message.shape, (Shape{.role = Role::assistant, .calls = {"c1", "c2"}}));
    const Message result = read(chat, R"({"role":"tool","tool_call_id":"c1","content":"ok"})");
    EXPECT_EQ(result.shape, (Shape{.role = Role::tool, .results = {"c1"}}));
}

TEST(read_message, takes_the_shape_of_anthropic_blocks) {
    const Message answer = read(anthropic, R"({"role":"assistant","content":[
        {"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"let me see"},
        {"type":"tool_use","id":"t1","name":"f","input":{"a":1}},
        {"type":"server_tool_use","id":"srv","name":"web_search","input":{}}]})");
    EXPECT_EQ(answer.shape,
              (Shape{.role = Role::assistant, .calls = {"t1"}, .text = true, .reasoning = true}));
    const Message result = read(anthropic, R"({"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t1","content":[
          {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]})");
    EXPECT_EQ(result.shape, (Shape{.role = Role::user, .results = {"t1"}, .media = 1}));
    EXPECT_FALSE(result.shape.starts_turn());
}

TEST(read_message, takes_the_shape_of_responses_items) {
    EXPECT_EQ(read(responses, R"({"role":"user","content":"hi"})").shape,
              (Shape{.role = Role::user, .text = true}));
    EXPECT_EQ(read(responses, R"({"type":"function_call","call_id":"c","name":"f",
                                  "arguments":"{}"})")
                  .shape,
              (Shape{.role = Role::assistant, .calls = {"c"}}));
    EXPECT_EQ(
        read(responses, R"({"type":"function_call_output","call_id":"c","output":"x"})").shape,
        (Shape{.role = Role::tool, .results = {"c"}}));
    EXPECT_EQ(read(responses, R"({"type":"reasoning","id":"rs_1","summary":[]})").shape,
              (Shape{.role = Role::assistant, .reasoning = true}));
    EXPECT_EQ(read(responses, R"({"type":"web_search_call","id":"ws","status":"completed"})").shape,
              (Shape{.role = Role::assistant}));
}

TEST(read_message, keeps_roles_and_types_that_it_does_not_know) {
    EXPECT_EQ(read(chat, R"({"role":"critic","content":"no"})").shape.role, Role::other);
    EXPECT_EQ(read(chat, R"({"role":"developer","content":"be brief"})").shape.role, Role::system);
    EXPECT_EQ(read(responses, R"({"type":"item_reference","id":"x"})").shape.role, Role::other);
    EXPECT_EQ(read(chat, R"({"role":"user","content":[{"type":"hologram"}]})").shape,
              (Shape{.role = Role::user}));
}

TEST(read_messages, takes_one_a_list_or_a_body) {
    const std::string one = R"({"role":"user","content":"a"})";
    const std::string two = R"({ "role" : "assistant", "content" : "b" })";
    for (const std::string& json :
         {"[" + one + ", " + two + "]", R"({"model":"m","messages":[)" + one + "," + two + "]}"}) {
        const auto messages = read_messages(chat, make_bytes(json));
        ASSERT_TRUE(messages) << messages.error().message;
        ASSERT_EQ(messages->size(), 2u);
        EXPECT_EQ(*messages->at(0).raw, one);
        EXPECT_EQ(*messages->at(1).raw, two);
    }
    EXPECT_EQ(read_messages(chat, make_bytes(one))->size(), 1u);
    const auto text = read_messages(responses, make_bytes(R"({"input":"h\u00e9"})"));
    ASSERT_TRUE(text);
    EXPECT_EQ(*text->at(0).raw, R"({"role":"user","content":"h\u00e9"})");
    const auto item = read_messages(
        responses,
        make_bytes(R"({"type":"custom_tool_call","call_id":"c","name":"f","input":"x"})"));
    ASSERT_TRUE(item);
    EXPECT_EQ(item->at(0).shape.calls, std::vector<std::string>{"c"});
}

TEST(read_messages, errors_name_the_index_the_field_and_what_was_expected) {
    EXPECT_EQ(error_of(chat, R"([{"role":"user","content":1}])"),
              "messages[0].content: expected a string, null or a list of content parts");
    EXPECT_EQ(error_of(chat, R"({"messages":[{"role":"user","content":"x"},{"content":"y"}]})"),
              "messages[1].role: expected a string");
    EXPECT_EQ(error_of(chat, R"([{"role":"assistant","tool_calls":[{"id":"c","type":"function",
        "function":{"name":"f","arguments":{}}}]}])"),
              "messages[0].tool_calls[0].function.arguments: expected a string");
    EXPECT_EQ(error_of(chat, R"([7])"), "messages[0]: expected a message (an object)");
    EXPECT_EQ(error_of(anthropic, R"([{"role":"user","content":[{"type":"text"}]}])"),
              "messages[0].content[0].text: expected a string");
    EXPECT_EQ(error_of(responses, R"({"input":[{"type":"function_call_output","output":""}]})"),
              "input[0].call_id: expected a string");
    EXPECT_EQ(error_of(chat, R"([{"role":"user","content":"a","content":"b"}])"),
              "invalid JSON at byte 1: the object has the key \"content\" twice");
}

TEST(fingerprint, is_blind_to_what_does_not_say_anything) {
    const auto same = [](FormatId format, std::string a, std::string b) {
        return read(format, std::move(a)).fingerprint == read(format, std::move(b)).fingerprint;
    };
    EXPECT_TRUE(same(chat, R"({"role":"user","content":"ab"})",
                     R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],
                         "name":"x","role":"user"})"));
    EXPECT_TRUE(same(chat,
                     R"({"role":"assistant","content":null,"tool_calls":[{"id":"c",
                         "type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":2}"}}]})",
                     R"({"role":"assistant","refusal":null,"tool_calls":[{"id":"c",
                         "type":"function","function":{"name":"f","arguments":"{ \"b\": 2, \"a\": 1}"}}]})"));
    EXPECT_TRUE(same(anthropic, R"({"role":"assistant","content":[{"type":"text","text":"x"}]})",
                     R"({"role":"assistant","content":[{"type":"thinking","thinking":"t",
                         "signature":"s"},{"type":"text","text":"x","citations":null,
                         "cache_control":{"type":"ephemeral"}}]})"));
    EXPECT_TRUE(same(chat, R"({"role":"tool","tool_call_id":"c","content":"long"})",
                     R"({"role":"tool","tool_call_id":"c","content":"[cleared]"})"));
    EXPECT_TRUE(same(responses, R"({"role":"assistant","content":"x"})",
                     R"({"id":"msg_1","type":"message","status":"completed","role":"assistant",
                         "content":[{"type":"output_text","text":"x","annotations":[]}]})"));
}

TEST(fingerprint, differs_where_something_else_was_said) {
    const auto print = [](std::string json) { return read(chat, std::move(json)).fingerprint; };
    const Fingerprint base = print(R"({"role":"user","content":"ab"})");
    EXPECT_NE(base, print(R"({"role":"assistant","content":"ab"})"));
    EXPECT_NE(base, print(R"({"role":"user","content":"abc"})"));
    EXPECT_NE(base, print(R"({"role":"user","content":[{"type":"text","text":"ab"},
        {"type":"image_url","image_url":{"url":"http://x/y.png"}}]})"));
    EXPECT_NE(print(R"({"role":"tool","tool_call_id":"c","content":""})"),
              print(R"({"role":"tool","tool_call_id":"d","content":""})"));
    EXPECT_NE(read(responses, R"({"type":"web_search_call","id":"1","action":{"query":"a"}})")
                  .fingerprint,
              read(responses, R"({"type":"web_search_call","id":"1","action":{"query":"b"}})")
                  .fingerprint);
}

TEST(read_parts, gives_the_parts_of_a_chat_message_in_order) {
    Parts parts;
    {
        const Message message = read(chat, R"({"role":"assistant","content":"line\nbreak",
            "tool_calls":[{"id":"c1","type":"function",
                           "function":{"name":"f","arguments":"{\"a\": 1}"}}]})");
        auto result = read_parts(message);
        ASSERT_TRUE(result);
        parts = std::move(*result);
    }
    ASSERT_EQ(parts.parts.size(), 2u);
    EXPECT_EQ(std::get<Text>(parts.parts[0]).text, "line\nbreak");
    const auto& call = std::get<ToolCall>(parts.parts[1]);
    EXPECT_EQ(call.id, "c1");
    EXPECT_EQ(call.name, "f");
    EXPECT_EQ(call.arguments, R"({"a": 1})");
}

TEST(read_parts, joins_the_texts_of_a_result_and_keeps_its_raw_content) {
    const Message message = read(anthropic, R"({"role":"user","content":[{"type":"tool_result",
        "tool_use_id":"t","is_error":true,
        "content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]},
        {"type":"image","source":{"type":"url","url":"http://x"}},
        {"type":"container_upload","file_id":"f"}]})");
    const auto parts = read_parts(message);
    ASSERT_TRUE(parts);
    const auto& result = std::get<ToolResult>(parts->parts[0]);
    EXPECT_EQ(result.text, "a\nb");
    EXPECT_TRUE(result.is_error);
    EXPECT_EQ(result.content, R"([{"type":"text","text":"a\n"},{"type":"text","text":"b"}])");
    EXPECT_EQ(std::get<Media>(parts->parts[1]).source, "http://x");
    EXPECT_EQ(std::get<Opaque>(parts->parts[2]).json,
              R"({"type":"container_upload","file_id":"f"})");
}

TEST(read_parts, reads_reasoning_with_what_binds_it) {
    const auto thinking = read_parts(read(anthropic, R"({"role":"assistant","content":[
        {"type":"thinking","thinking":"hm","signature":"sig"},
        {"type":"redacted_thinking","data":"xyz"}]})"));
    ASSERT_TRUE(thinking);
    EXPECT_EQ(std::get<Reasoning>(thinking->parts[0]).text, "hm");
    EXPECT_EQ(std::get<Reasoning>(thinking->parts[1]).signature, "xyz");
    const auto item = read_parts(read(responses, R"({"type":"reasoning","id":"rs",
        "summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"e"})"));
    ASSERT_TRUE(item);
    EXPECT_EQ(std::get<Reasoning>(item->parts[0]).text, "why");
    EXPECT_EQ(std::get<Reasoning>(item->parts[0]).signature, "e");
}

TEST(make_message, writes_a_plain_text_message_in_every_format) {
    for (const FormatId format : {chat, responses, anthropic})
        for (const Role role : {Role::system, Role::user, Role::assistant}) {
            const auto message = make_message(format, role, "a \"b\"\n");
            ASSERT_TRUE(message) << message.error().message;
            EXPECT_EQ(message->shape, (Shape{.role = role, .text = true}));
            EXPECT_EQ(std::get<Text>(read_parts(*message)->parts[0]).text, "a \"b\"\n");
        }
    EXPECT_FALSE(make_message(chat, Role::tool, "x"));
}

TEST(scrubbed_message, keeps_role_and_pairing_and_nothing_else) {
    const std::string secret = "secret";
    const std::pair<FormatId, std::string> messages[] = {
        {chat, R"({"role":"user","content":"secret","name":"secret"})"},
        {chat, R"({"role":"system","content":"secret"})"},
        {chat, R"({"role":"tool","tool_call_id":"c1","content":"secret"})"},
        {chat, R"({"role":"assistant","content":"secret","tool_calls":[{"id":"c1","type":"function",
                 "function":{"name":"secret","arguments":"{\"a\":\"secret\"}"}}]})"},
        {anthropic, R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",
                 "content":"secret"},{"type":"text","text":"secret"}]})"},
        {anthropic, R"({"role":"assistant","content":[{"type":"text","text":"secret"},
                 {"type":"tool_use","id":"c1","name":"secret","input":{"a":"secret"}}]})"},
        {responses,
         R"({"type":"custom_tool_call","call_id":"c1","name":"secret","input":"secret"})"},
        {responses, R"({"type":"custom_tool_call_output","call_id":"c1","output":"secret"})"},
        {responses,
         R"({"type":"reasoning","id":"secret","summary":[],"encrypted_content":"secret"})"},
    };
    for (const auto& [format, json] : messages) {
        const Message message = read(format, json);
        const auto left = scrubbed_message(message);
        ASSERT_TRUE(left) << json;
        EXPECT_EQ((*left)->find(secret), std::string::npos) << **left;
        const Message again = read(format, std::string(**left));
        EXPECT_EQ(again.shape.role, message.shape.role) << **left;
        EXPECT_EQ(again.shape.calls, message.shape.calls) << **left;
        EXPECT_EQ(again.shape.results, message.shape.results) << **left;
        EXPECT_EQ((*left)->find("custom_tool_call") != std::string::npos,
                  json.find("custom_tool_call") != std::string::npos)
            << **left;
    }
}

TEST(format_names, are_three_and_unknown_ones_are_refused_with_the_list) {
    for (const FormatId format : {chat, responses, anthropic})
        EXPECT_EQ(format_by_name(format_name(format)), format);
    EXPECT_FALSE(format_by_name("gemini"));
    EXPECT_EQ(
        parse_format_name("gemini").error().message,
        "unknown format \"gemini\": expected one of openai_chat, openai_responses, anthropic");
}

TEST(read_messages, shares_the_memory_of_what_it_reads) {
    const std::string bodies[] = {
        R"([ {"role":"user","content":"a"} , {"role":"assistant","content":null,"tool_calls":[)"
        R"({"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}])",
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]})",
        R"( {"role":"user","content":"a\u0041"} )", R"([])"};
    for (const std::string& body : bodies) {
        const Bytes json = make_bytes(body);
        const auto messages = read_messages(FormatId::openai_chat, json);
        ASSERT_TRUE(messages);
        for (const Message& message : *messages) {
            EXPECT_GE(message.raw->data(), json->data());
            EXPECT_LE(message.raw->data() + message.raw->size(), json->data() + json->size());
            EXPECT_TRUE(message.raw.shares_memory(json));
            EXPECT_FALSE(message.raw.own().shares_memory(json));
            const auto alone = read_message(FormatId::openai_chat, message.raw.own());
            EXPECT_EQ(alone->shape, message.shape);
            EXPECT_EQ(alone->fingerprint, message.fingerprint);
        }
        const auto plain = read_messages(FormatId::openai_chat, json, Fingerprints::left_out);
        for (std::size_t i = 0; i < messages->size(); ++i) {
            EXPECT_EQ(plain->at(i).shape, messages->at(i).shape);
            EXPECT_EQ(plain->at(i).fingerprint, Fingerprint{});
        }
    }
}

TEST(write_list, is_the_same_whether_messages_share_memory_or_not) {
    const std::string one = R"({"role":"user","content":"1"})", two = R"({"role":"user"})";
    const Bytes close = make_bytes("[" + one + "," + two + "," + one + "]");
    const Bytes loose = make_bytes("[" + one + " ,\n" + two + " , " + one + "]");
    const std::string wanted = "[" + one + "," + two + "," + one + "]";
    for (const Bytes& json : {close, loose}) {
        auto messages = *read_messages(FormatId::openai_chat, json);
        EXPECT_EQ(write_list(messages), wanted);
        messages[1].raw = messages[1].raw.own();
        EXPECT_EQ(write_list(messages), wanted);
        std::swap(messages[0], messages[1]);
        EXPECT_EQ(write_list(messages), "[" + two + "," + one + "," + one + "]");
        messages.erase(messages.begin());
        EXPECT_EQ(write_list(messages), "[" + one + "," + one + "]");
    }
    EXPECT_EQ(write_list({}), "[]");
}

TEST(fingerprint, is_the_same_for_arguments_that_mean_the_same) {
    const auto of = [](const std::string& arguments) {
        std::string raw = R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":)";
        raw += R"("function","function":{"name":"f","arguments":)" + json_string(arguments);
        const auto message = read_message(FormatId::openai_chat, make_bytes(raw + "}}]}"));
        return message->fingerprint;
    };
    // The first of each pair is a flat object, the second is not read as one.
    EXPECT_EQ(of(R"({"b":"x","a":10,"ab":true})"),
              of("{\"a\":10,\r\"ab\":true,\"b\":\"\\u0078\"}"));
    EXPECT_EQ(of(R"({ "a!":null, "a":false })"), of("{\"a\":false,\t\"a!\":null}"));
    EXPECT_EQ(of(R"({"a":0})"), of("{\"\\u0061\":0}"));
    EXPECT_NE(of(R"({"a":1})"), of(R"({"a":"1"})"));
    EXPECT_NE(of(R"({"a":1})"), of(R"({"a":1.0})"));
    EXPECT_NE(of(R"({"a":01})"), of(R"({"a":1})"));  // no JSON: taken as it is
    EXPECT_NE(of(R"({"a":1)"), of(R"({"a":1})"));
}

TEST(fingerprint, joins_texts_that_follow_each_other_and_no_others) {
    const auto of = [](const std::string& content) {
        return read_message(FormatId::anthropic,
                            make_bytes(R"({"role":"user","content":)" + content + "}"))
            ->fingerprint;
    };
    const std::string image = R"({"type":"image","source":{"type":"url","url":"u"}})";
    EXPECT_EQ(of(R"("ab")"), of(R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"));
    EXPECT_NE(of(R"([{"type":"text","text":"a"},)" + image + R"(,{"type":"text","text":"b"}])"),
              of(R"([{"type":"text","text":"ab"},)" + image + "]"));
}
