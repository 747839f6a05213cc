// Replies in another format: what was said, why it ended, what it cost, and what was lost.
#include <gtest/gtest.h>

#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

constexpr FormatId chat = FormatId::openai_chat;
constexpr FormatId responses = FormatId::openai_responses;
constexpr FormatId anthropic = FormatId::anthropic;

const std::string chat_reply =
    R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[)"
    R"({"index":0,"message":{"role":"assistant","content":"Let me look.","tool_calls":[)"
    R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},)"
    R"({"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
    R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":70,"completion_tokens":30,)"
    R"("total_tokens":100,"prompt_tokens_details":{"cached_tokens":20}}})";

// Texts and calls, in order.
std::string said(const Reply& reply) {
    std::string out;
    for (const Message& message : reply.messages) {
        const auto parts = read_parts(message);
        for (const Part& part : parts->parts) {
            if (const auto* text = std::get_if<Text>(&part)) out += "T:" + std::string(text->text);
            if (const auto* call = std::get_if<ToolCall>(&part))
                out += "|C:" + std::string(call->id) + " " + std::string(call->name) +
                       std::string(call->arguments);
        }
    }
    return out;
}

}  // namespace

TEST(convert_reply, keeps_texts_calls_stop_and_usage_between_any_two_formats) {
    const std::string whole = "T:Let me look.|C:c1 f{\"a\": 1}|C:c2 g{}";
    for (const FormatId from : {chat, responses, anthropic}) {
        const auto source = convert_reply(chat, from, chat_reply);
        ASSERT_TRUE(source) << source.error().message;
        EXPECT_TRUE(source->lost.empty());
        for (const FormatId to : {chat, responses, anthropic}) {
            const auto converted = convert_reply(from, to, source->body);
            ASSERT_TRUE(converted) << converted.error().message;
            const auto reply = read_reply(to, converted->body);
            ASSERT_TRUE(reply) << reply.error().message;
            EXPECT_EQ(said(*reply), whole) << converted->body;
            EXPECT_EQ(reply->stop, StopReason::tool_calls);
            ASSERT_TRUE(reply->usage);
            EXPECT_EQ(reply->usage->input_tokens, 70u);
            EXPECT_EQ(reply->usage->output_tokens, 30u);
            EXPECT_EQ(reply->usage->cached_tokens, 20u);
            EXPECT_NE(converted->body.find("\"chatcmpl-1\""), std::string::npos);
        }
    }
}

TEST(convert_reply, says_in_chat_whether_the_model_refused) {
    const auto converted = [](const std::string& part) {
        const std::string reply =
            R"({"id":"resp_1","object":"response","status":"completed","model":"m","output":[)"
            R"({"type":"message","role":"assistant","content":[)" +
            part + "]}]}";
        const auto chat_body = convert_reply(responses, chat, reply);
        return chat_body ? chat_body->body : chat_body.error().message;
    };
    const std::string said = converted(R"({"type":"output_text","text":"yes"})");
    EXPECT_TRUE(said.contains(R"("content":"yes","refusal":null)")) << said;
    const std::string refused = converted(R"({"type":"refusal","refusal":"no"})");
    EXPECT_TRUE(refused.contains(R"("refusal":"no")")) << refused;
}

TEST(convert_reply, says_why_it_ended_in_the_words_of_the_target) {
    const std::string body =
        R"({"id":"m","type":"message","role":"assistant","model":"x","content":[)"
        R"({"type":"text","text":"cut"}],"stop_reason":"max_tokens",)"
        R"("usage":{"input_tokens":1,"output_tokens":2}})";
    const auto to_chat = convert_reply(anthropic, chat, body);
    ASSERT_TRUE(to_chat);
    EXPECT_NE(to_chat->body.find(R"("finish_reason":"length")"), std::string::npos);
    const auto to_items = convert_reply(anthropic, responses, body);
    ASSERT_TRUE(to_items);
    EXPECT_NE(to_items->body.find(R"("status":"incomplete")"), std::string::npos);
    EXPECT_NE(to_items->body.find(R"("reason":"max_output_tokens")"), std::string::npos);
}

TEST(convert_reply, names_what_is_lost_and_takes_the_identity_that_is_given) {
    const std::string body =
        R"({"id":"m","type":"message","role":"assistant","model":"x","content":[)"
        R"({"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"}],)"
        R"("stop_reason":"end_turn"})";
    const auto converted =
        convert_reply(anthropic, chat, body, {.id = "r9", .model = "y", .created = 5});
    ASSERT_TRUE(converted);
    EXPECT_EQ(converted->lost,
              (std::vector<std::string>{"redacted_thinking: reasoning is not carried over",
                                        "usage: the reply has none, zeros are written"}));
    EXPECT_TRUE(converted->body.starts_with(
        R"({"id":"r9","object":"chat.completion","created":5,"model":"y")"))
        << converted->body;
    EXPECT_EQ(convert_reply(anthropic, anthropic, body)->body, body);
    EXPECT_EQ(convert_reply(chat, anthropic, R"({"error":{"message":"no"}})").error().code,
              ErrorCode::upstream_failed);
}

TEST(convert_reply, shows_reasoning_where_clients_of_the_target_look_for_it) {
    const std::string body =
        R"({"id":"m","type":"message","role":"assistant","model":"x","content":[)"
        R"({"type":"thinking","thinking":"let me see","signature":"s"},)"
        R"({"type":"text","text":"a"}],"stop_reason":"end_turn",)"
        R"("usage":{"input_tokens":1,"output_tokens":2}})";
    const auto to_chat = convert_reply(anthropic, chat, body);
    ASSERT_TRUE(to_chat);
    EXPECT_NE(to_chat->body.find(R"("reasoning_content":"let me see")"), std::string::npos)
        << to_chat->body;
    EXPECT_TRUE(to_chat->lost.empty());
    const auto to_items = convert_reply(anthropic, responses, body);
    ASSERT_TRUE(to_items);
    EXPECT_NE(to_items->body.find(R"({"type":"summary_text","text":"let me see"})"),
              std::string::npos)
        << to_items->body;
    const auto back = convert_reply(chat, anthropic, to_chat->body);
    ASSERT_TRUE(back);
    EXPECT_NE(back->body.find(R"("thinking":"let me see")"), std::string::npos) << back->body;
}

TEST(convert_reply, shows_links_where_clients_of_the_target_look_for_them) {
    const std::string body =
        R"({"id":"m","type":"message","role":"assistant","model":"x","content":[)"
        R"({"type":"text","text":"Größe: "},{"type":"text","text":"two.","citations":[)"
        R"({"type":"web_search_result_location","url":"https://e.org/a","title":"A",)"
        R"("cited_text":"two","encrypted_index":"i"}]}],"stop_reason":"end_turn",)"
        R"("usage":{"input_tokens":1,"output_tokens":2}})";
    const std::string link =
        R"("start_index":7,"end_index":11,"title":"A","url":"https://e.org/a"})";
    const auto to_chat = convert_reply(anthropic, chat, body);
    ASSERT_TRUE(to_chat);
    EXPECT_TRUE(to_chat->lost.empty());
    EXPECT_NE(to_chat->body.find(R"([{"type":"url_citation","url_citation":{)" + link + "}]"),
              std::string::npos)
        << to_chat->body;
    EXPECT_TRUE(read_reply(chat, to_chat->body)) << to_chat->body;
    const auto to_items = convert_reply(anthropic, responses, body);
    ASSERT_TRUE(to_items);
    EXPECT_NE(to_items->body.find(R"([{"type":"url_citation",)" + link + "]"), std::string::npos)
        << to_items->body;
    const auto items_to_chat = convert_reply(responses, chat, to_items->body);
    ASSERT_TRUE(items_to_chat);
    EXPECT_NE(items_to_chat->body.find("https://e.org/a"), std::string::npos)
        << items_to_chat->body;
}

TEST(convert_reply, names_citations_that_are_no_links_as_lost) {
    const std::string body =
        R"({"id":"m","type":"message","role":"assistant","model":"x","content":[)"
        R"({"type":"text","text":"two.","citations":[{"type":"char_location",)"
        R"("document_index":0,"cited_text":"two"}]}],"stop_reason":"end_turn",)"
        R"("usage":{"input_tokens":1,"output_tokens":2}})";
    EXPECT_EQ(convert_reply(anthropic, chat, body)->lost,
              std::vector<std::string>{"text: citations are not carried over"});
}

TEST(convert_json, names_cache_marks_image_detail_and_speakers_that_are_lost) {
    const auto marked = convert_json(
        anthropic, chat,
        R"({"model":"m","max_tokens":5,"system":[{"type":"text","text":"s","cache_control":{}}],)"
        R"("messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":)"
        R"({"type":"ephemeral"}}]}]})");
    ASSERT_TRUE(marked);
    EXPECT_EQ(marked->lost, std::vector<std::string>(2, "cache_control: is not carried over"));
    const auto close = convert_json(chat, responses,
                                    R"([{"role":"user","content":[{"type":"image_url","image_url":)"
                                    R"({"url":"https://x/y.png","detail":"low"}}]}])");
    ASSERT_TRUE(close);
    EXPECT_TRUE(close->lost.empty());
    EXPECT_TRUE(close->json.contains(R"("detail":"low")")) << close->json;
    const auto named =
        convert_json(chat, anthropic,
                     R"([{"role":"user","name":"Ann","content":[{"type":"image_url","image_url":)"
                     R"({"url":"https://x/y.png","detail":"high"}}]}])");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->lost,
              (std::vector<std::string>{"name: Ann of a message is not carried over",
                                        "detail: high of an image is not carried over"}));
}
