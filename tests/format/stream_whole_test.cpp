// Streams as servers really send them: calls without their end, words outside of deltas, answers
// that fail on the way. What a client is told is what the log gets.
#include <gtest/gtest.h>

#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

constexpr FormatId chat = FormatId::openai_chat;
constexpr FormatId responses = FormatId::openai_responses;
constexpr FormatId anthropic = FormatId::anthropic;

// What a stream told while it came, and what it was at its end.
struct Heard {
    std::string text, refusal, reasoning, calls;
    Result<void> fed = {};
    Result<Reply> reply = Reply{};

    std::string stored() const { return reply ? write_list(reply->messages) : ""; }
};

Heard hear(FormatId format, const std::vector<std::string>& events) {
    using Kind = StreamDelta::Kind;
    Heard heard;
    const auto reader = make_stream_reader(format, [&](const StreamDelta& delta) {
        if (delta.kind == Kind::text) heard.text += delta.text;
        if (delta.kind == Kind::refusal) heard.refusal += delta.text;
        if (delta.kind == Kind::reasoning) heard.reasoning += delta.text;
        if (delta.kind == Kind::call)
            heard.calls += "|" + std::to_string(delta.index) + std::string(delta.id) + " " +
                           std::string(delta.name);
        if (delta.kind == Kind::arguments)
            heard.calls += std::to_string(delta.index) + std::string(delta.text);
    });
    for (const std::string& event : events)
        if (heard.fed) heard.fed = reader->feed("data: " + event + "\n\n");
    heard.reply = reader->finish();
    return heard;
}

const std::string message_start =
    R"({"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{}}})";
const std::string message_stop = R"({"type":"message_stop"})";

std::string block_start(int index, const std::string& block) {
    return R"({"type":"content_block_start","index":)" + std::to_string(index) +
           R"(,"content_block":)" + block + "}";
}
std::string block_delta(int index, const std::string& delta) {
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" +
           delta + "}";
}
std::string block_stop(int index) {
    return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}";
}
std::string stops(const std::string& reason) {
    return R"({"type":"message_delta","delta":{"stop_reason":")" + reason + R"("},"usage":{}})";
}

// "let me", then a call whose input ends inside of a string.
std::vector<std::string> half_a_call(const std::string& reason) {
    return {message_start,
            block_start(0, R"({"type":"text","text":""})"),
            block_delta(0, R"({"type":"text_delta","text":"let me"})"),
            block_stop(0),
            block_start(1, R"({"type":"tool_use","id":"c1","name":"w","input":{}})"),
            block_delta(1, R"({"type":"input_json_delta","partial_json":"{\"city\":\"Os"})"),
            block_stop(1),
            stops(reason),
            message_stop};
}

const std::string created = R"({"type":"response.created","response":{"id":"r","output":[]}})";

std::string item_event(const std::string& kind, int index, const std::string& item) {
    return R"({"type":"response.output_item.)" + kind + R"(","output_index":)" +
           std::to_string(index) + R"(,"item":)" + item + "}";
}
std::string delta_event(const std::string& kind, int index, const std::string& delta) {
    return R"({"type":"response.)" + kind + R"(.delta","output_index":)" + std::to_string(index) +
           R"(,"content_index":0,"delta":")" + delta + R"("})";
}
std::string completed(const std::string& output) {
    return R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[)" +
           output + "]}}";
}
const std::string message_item =
    R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello there"}]})";
const std::string empty_message = R"({"type":"message","role":"assistant","content":[]})";
const std::string call_item =
    R"({"type":"function_call","call_id":"t1","name":"w","arguments":"{\"city\":1}"})";
const std::string failed =
    R"({"type":"response.failed","response":{"status":"failed","output":[],"error":{"code":"server_error","message":"boom"}}})";

std::string chunk(const std::string& delta, const std::string& finish = "null") {
    return R"({"id":"x","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + finish +
           "}]}";
}
std::string call_chunk(const std::string& call) {
    return chunk(R"({"tool_calls":[)" + call + "]}");
}
const std::string chat_stop = chunk("{}", R"("stop")");

const std::vector<std::string> spoken = {
    chunk(R"({"role":"assistant","content":null,"audio":{"id":"audio_1"}})"),
    chunk(R"({"audio":{"transcript":"Hel"}})"), chunk(R"({"audio":{"transcript":"lo"}})"),
    chunk(R"({"audio":{"data":"AAAA"}})"), chunk(R"({"audio":{"data":"BBBB"}})")};

}  // namespace

TEST(stream_whole, a_call_that_a_limit_cut_leaves_the_answer_that_came_with_it) {
    for (const std::string reason : {"max_tokens", "model_context_window_exceeded"}) {
        const Heard heard = hear(anthropic, half_a_call(reason));
        ASSERT_TRUE(heard.reply) << heard.reply.error().message;
        EXPECT_FALSE(heard.reply->interrupted);
        EXPECT_EQ(heard.reply->stop, StopReason::length);
        EXPECT_EQ(heard.stored(),
                  R"([{"role":"assistant","content":[{"type":"text","text":"let me"}],)"
                  R"("_unfinished":[{"type":"tool_use","id":"c1","name":"w",)"
                  R"("input":"{\"city\":\"Os"}]}])");
        EXPECT_TRUE(heard.reply->messages.at(0).shape.calls.empty());
    }
}

TEST(stream_whole, a_call_that_was_made_with_broken_json_is_one_that_can_be_answered) {
    const Heard heard = hear(anthropic, half_a_call("tool_use"));
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.reply->stop, StopReason::tool_calls);
    EXPECT_EQ(heard.stored(), R"([{"role":"assistant","content":[{"type":"text","text":"let me"},)"
                              R"({"type":"tool_use","id":"c1","name":"w",)"
                              R"("input":{"_text_arguments":"{\"city\":\"Os"}}]}])");
    EXPECT_EQ(heard.reply->messages.at(0).shape.calls.size(), 1u);
}

TEST(stream_whole, what_a_block_starts_with_is_told) {
    const Heard heard = hear(
        anthropic,
        {message_start, block_start(0, R"({"type":"thinking","thinking":"Well","signature":""})"),
         block_delta(0, R"({"type":"thinking_delta","thinking":", hm"})"),
         block_delta(0, R"({"type":"signature_delta","signature":"s"})"), block_stop(0),
         block_start(1, R"({"type":"text","text":"Hello "})"),
         block_delta(1, R"({"type":"text_delta","text":"there"})"), block_stop(1),
         block_start(2, R"({"type":"tool_use","id":"t1","name":"w","input":{"city":1}})"),
         block_stop(2), stops("tool_use"), message_stop});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.reasoning, "Well, hm");
    EXPECT_EQ(heard.text, "Hello there");
    EXPECT_EQ(heard.calls, R"(|0t1 w0{"city":1})");
    EXPECT_TRUE(heard.stored().contains(R"("thinking":"Well, hm")")) << heard.stored();
    EXPECT_TRUE(heard.stored().contains(R"("text":"Hello there")")) << heard.stored();
}

TEST(stream_whole, items_without_deltas_are_told_when_they_are_done) {
    const Heard heard = hear(
        responses, {created, item_event("done", 0, message_item), item_event("done", 1, call_item),
                    completed(message_item + "," + call_item)});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.text, "Hello there");
    EXPECT_EQ(heard.calls, R"(|0t1 w0{"city":1})");
}

TEST(stream_whole, items_that_only_the_closing_response_has_are_told_by_it) {
    const Heard heard = hear(responses, {created, completed(message_item + "," + call_item)});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.text, "Hello there");
    EXPECT_EQ(heard.calls, R"(|0t1 w0{"city":1})");
}

TEST(stream_whole, nothing_is_told_twice) {
    const std::vector<std::string> told = {
        created,
        item_event("added", 0, empty_message),
        delta_event("output_text", 0, "Hello "),
        delta_event("output_text", 0, "there"),
        item_event("done", 0, message_item),
        item_event("added", 1, call_item),
        delta_event("function_call_arguments", 1, R"({\"city\":)"),
        item_event("done", 1, call_item)};
    // Some servers close with an item more than they told, and so with other places.
    const std::string thought = R"({"type":"reasoning","id":"rs","summary":[]})";
    for (const std::string& before : {std::string(), thought + ","}) {
        std::vector<std::string> events = told;
        events.push_back(completed(before + message_item + "," + call_item));
        const Heard heard = hear(responses, events);
        EXPECT_EQ(heard.text, "Hello there");
        EXPECT_EQ(heard.calls, R"(|0t1 w0{"city":01})");
    }
    const Heard bare = hear(responses, {created, delta_event("output_text", 0, "Hello there"),
                                        completed(message_item)});
    EXPECT_EQ(bare.text, "Hello there");
}

TEST(stream_whole, a_response_that_fails_on_the_way_keeps_what_came) {
    const Heard heard = hear(responses, {created, item_event("added", 0, empty_message),
                                         delta_event("output_text", 0, "Hello"), failed});
    ASSERT_FALSE(heard.fed);
    EXPECT_EQ(heard.fed.error().code, ErrorCode::upstream_failed);
    EXPECT_EQ(heard.fed.error().message, "the provider broke off: boom");
    EXPECT_EQ(heard.fed.error().param, "server_error");
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_TRUE(heard.reply->interrupted);
    EXPECT_TRUE(heard.stored().contains(R"("text":"Hello")")) << heard.stored();
}

TEST(stream_whole, a_refusal_that_breaks_off_is_kept_as_one) {
    const Heard heard = hear(responses, {created, item_event("added", 0, empty_message),
                                         delta_event("refusal", 0, "I can not")});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_TRUE(heard.reply->interrupted);
    EXPECT_EQ(heard.refusal, "I can not");
    EXPECT_TRUE(heard.stored().contains(R"([{"type":"refusal","refusal":"I can not"}])"))
        << heard.stored();
}

TEST(stream_whole, what_is_spoken_in_pieces_is_stored_as_one) {
    std::vector<std::string> events = spoken;
    events.push_back(chunk(R"({"audio":{"expires_at":99}})"));
    events.push_back(chat_stop);
    const Heard heard = hear(chat, events);
    EXPECT_EQ(heard.text, "Hello");
    EXPECT_EQ(heard.stored(), R"([{"role":"assistant","content":null,"audio":{"id":"audio_1",)"
                              R"("transcript":"Hello","data":"AAAABBBB","expires_at":99}}])");
}

TEST(stream_whole, what_is_spoken_and_breaks_off_leaves_its_words) {
    const Heard heard = hear(chat, spoken);
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_TRUE(heard.reply->interrupted);
    EXPECT_EQ(heard.stored(),
              R"([{"role":"assistant","content":"Hello","_unfinished":[{"audio":{"id":"audio_1",)"
              R"("transcript":"Hello","data":"AAAABBBB"}}]}])");
}

TEST(stream_whole, a_call_of_the_old_kind_grows) {
    const std::vector<std::string> half = {
        chunk(R"({"role":"assistant","function_call":{"name":"w","arguments":""}})"),
        chunk(R"({"function_call":{"arguments":"{\"a\":"}})")};
    std::vector<std::string> events = half;
    events.push_back(chunk(R"({"function_call":{"arguments":"1}"}})"));
    events.push_back(chunk("{}", R"("function_call")"));
    EXPECT_EQ(hear(chat, events).stored(),
              R"([{"content":null,"role":"assistant",)"
              R"("function_call":{"name":"w","arguments":"{\"a\":1}"}}])");
    const Heard cut = hear(chat, half);
    EXPECT_TRUE(cut.stored().contains(R"("_unfinished":[{"function_call":)")) << cut.stored();
}

TEST(stream_whole, calls_under_one_index_are_told_apart_by_their_ids) {
    const Heard heard = hear(
        chat,
        {call_chunk(R"({"index":0,"id":"a1","function":{"name":"w","arguments":"{\"c\":1}"}})"),
         call_chunk(R"({"index":0,"id":"a2","function":{"name":"w","arguments":"{\"c\":"}})"),
         call_chunk(R"({"index":0,"function":{"arguments":"2}"}})"), chat_stop});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.calls, R"(|0a1 w0{"c":1}|1a2 w1{"c":12})");
    ASSERT_EQ(heard.reply->messages.at(0).shape.calls.size(), 2u);
    EXPECT_TRUE(heard.stored().contains(R"({\"c\":2})")) << heard.stored();
}

TEST(stream_whole, an_id_that_changes_with_each_piece_begins_no_call) {
    const Heard heard = hear(
        chat, {call_chunk(R"({"index":0,"id":"a1","function":{"name":"w"}})"),
               call_chunk(R"({"index":0,"id":"zz","function":{"arguments":"{}"}})"), chat_stop});
    ASSERT_TRUE(heard.reply) << heard.reply.error().message;
    EXPECT_EQ(heard.calls, "|0a1 w0{}");
    EXPECT_EQ(heard.reply->messages.at(0).shape.calls, std::vector<std::string>{"a1"});
}
