// Streams: read in any pieces, written as the official clients want them.
#include <gtest/gtest.h>

#include "base/json.h"
#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

constexpr FormatId formats[] = {FormatId::openai_chat, FormatId::openai_responses,
                                FormatId::anthropic};

std::string written(FormatId format) {
    const auto writer =
        make_stream_writer(format, {.id = "r1", .model = "m", .created = 1700000000});
    using Kind = StreamDelta::Kind;
    std::string bytes = writer->begin();
    bytes += writer->add({.kind = Kind::text, .text = "Let me \"look\""});
    bytes += writer->add({.kind = Kind::text, .text = "\n€😀."});
    bytes += writer->add({.kind = Kind::call, .index = 0, .id = "c1", .name = "f"});
    bytes += writer->add({.kind = Kind::arguments, .index = 0, .text = "{\"a\":"});
    bytes += writer->add({.kind = Kind::arguments, .index = 0, .text = " 1}"});
    bytes += writer->add({.kind = Kind::call, .index = 1, .id = "c2", .name = "g"});
    bytes += writer->add({.kind = Kind::arguments, .index = 1, .text = "{}"});
    return bytes + writer->end(StopReason::tool_calls, {.input_tokens = 7, .output_tokens = 3});
}

Result<Reply> read_in_pieces(FormatId format, std::string_view bytes, std::size_t piece) {
    const auto reader = make_stream_reader(format);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
        PAL_CHECK(reader->feed(bytes.substr(0, piece)));
    return reader->finish();
}

// Texts and calls, in order.
std::string said(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& message : messages) {
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

// The clients' types require both of them in a part of a text, with the item, before and after.
TEST(stream, a_text_of_responses_has_its_annotations_and_logprobs) {
    const std::string bytes = written(FormatId::openai_responses);
    std::size_t texts = 0;
    for (std::size_t at = 0; (at = bytes.find(R"("type":"output_text")", at)) != bytes.npos; ++at) {
        const std::string part = bytes.substr(at, bytes.find('}', at) - at);
        EXPECT_TRUE(part.ends_with(R"("annotations":[],"logprobs":[])")) << part;
        ++texts;
    }
    EXPECT_EQ(texts, 4u) << "part added and done, item done, response completed";
}

TEST(stream, what_a_writer_writes_a_reader_reads_however_it_is_cut) {
    for (const FormatId format : formats) {
        const std::string bytes = written(format);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
            const auto reply = read_in_pieces(format, bytes, piece);
            ASSERT_TRUE(reply) << reply.error().message;
            EXPECT_EQ(said(reply->messages), "T:Let me \"look\"\n€😀.|C:c1 f{\"a\": 1}|C:c2 g{}");
            EXPECT_FALSE(reply->interrupted);
            EXPECT_EQ(reply->stop, StopReason::tool_calls);
            ASSERT_TRUE(reply->usage);
            EXPECT_EQ(reply->usage->input_tokens, 7u);
            EXPECT_EQ(reply->usage->output_tokens, 3u);
        }
    }
}

TEST(stream, cut_off_anywhere_gives_the_text_so_far_and_whole_calls_only) {
    const std::string whole = "T:Let me \"look\"\n€😀.|C:c1 f{\"a\": 1}|C:c2 g{}";
    for (const FormatId format : formats) {
        const std::string bytes = written(format);
        for (std::size_t end = 0; end < bytes.size(); end += 3) {
            const auto reply = read_in_pieces(format, std::string_view(bytes).substr(0, end), 64);
            if (!reply) continue;  // cut inside an event: a broken tail is an error of its own
            const std::string part = said(reply->messages);
            EXPECT_TRUE(whole.starts_with(part) || reply->interrupted) << part;
            EXPECT_TRUE(reply->interrupted || part == whole) << part;
            for (const Message& message : reply->messages)
                EXPECT_TRUE(read_message(format, message.raw));
        }
    }
}

TEST(stream, deltas_come_as_they_arrive) {
    for (const FormatId format : formats) {
        std::string text, calls;
        const auto reader = make_stream_reader(format, [&](const StreamDelta& delta) {
            if (delta.kind == StreamDelta::Kind::text) text += delta.text;
            if (delta.kind == StreamDelta::Kind::call)
                calls += std::to_string(delta.index) + std::string(delta.id);
            if (delta.kind == StreamDelta::Kind::arguments) calls += delta.text;
        });
        ASSERT_TRUE(reader->feed(written(format)));
        EXPECT_EQ(text, "Let me \"look\"\n€😀.");
        EXPECT_EQ(calls, "0c1{\"a\": 1}1c2{}");
    }
}

TEST(stream, an_error_event_is_the_providers_failure) {
    const std::pair<FormatId, std::string> events[] = {
        {FormatId::anthropic,
         R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"},
        {FormatId::openai_chat, R"({"error":{"message":"Overloaded"}})"},
        {FormatId::openai_responses, R"({"type":"error","message":"Overloaded"})"},
    };
    for (const auto& [format, data] : events) {
        const auto result = make_stream_reader(format)->feed("data: " + data + "\n\n");
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::upstream_failed);
        EXPECT_NE(result.error().message.find("Overloaded"), std::string::npos);
    }
}

TEST(stream, responses_events_carry_what_the_clients_insist_on) {
    const std::string bytes = written(FormatId::openai_responses);
    std::vector<std::string> types;
    std::size_t from = 0;
    for (std::size_t number = 0;; ++number) {
        const std::size_t start = bytes.find("data: ", from);
        if (start == std::string::npos) break;
        from = bytes.find("\n\n", start);
        const std::string data = bytes.substr(start + 6, from - start - 6);
        const auto document = parse_json(data);
        ASSERT_TRUE(document) << data;
        EXPECT_EQ(document->root().find("sequence_number")->integer(), number);
        types.emplace_back(document->root().find("type")->string());
    }
    EXPECT_EQ(types.front(), "response.created");
    EXPECT_EQ(types.back(), "response.completed");
    const std::vector<std::string> text(types.begin() + 2, types.begin() + 9);
    EXPECT_EQ(text,
              (std::vector<std::string>{"response.output_item.added", "response.content_part.added",
                                        "response.output_text.delta", "response.output_text.delta",
                                        "response.output_text.done", "response.content_part.done",
                                        "response.output_item.done"}));
}

TEST(stream, thinking_and_citations_grow_into_their_blocks) {
    const std::string events[] = {
        R"({"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}})",
        R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}})",
        R"({"type":"content_block_stop","index":0})",
        R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}})",
        R"({"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"a":1}}})",
        R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"yes"}})",
        R"({"type":"content_block_stop","index":1})",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}})",
        R"({"type":"message_stop"})"};
    const auto reader = make_stream_reader(FormatId::anthropic);
    for (const std::string& data : events)
        ASSERT_TRUE(reader->feed("event: x\r\ndata: " + data + "\r\n\r\n"));
    const auto reply = reader->finish();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(*reply->messages.at(0).raw,
              R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm",)"
              R"("signature":"sig"},{"type":"text","text":"yes","citations":[{"a":1}]}]})");
    EXPECT_EQ(reply->usage->input_tokens, 5u);
    EXPECT_EQ(reply->usage->output_tokens, 9u);
    EXPECT_EQ(reply->stop, StopReason::end);
}

TEST(stream, what_follows_the_end_of_a_message_is_not_part_of_it) {
    const std::string bytes = written(FormatId::anthropic);
    const auto once = read_in_pieces(FormatId::anthropic, bytes, 64);
    const auto twice = read_in_pieces(FormatId::anthropic, bytes + bytes.substr(0, 900), 64);
    ASSERT_TRUE(once && twice);
    EXPECT_EQ(twice->body, once->body);
    EXPECT_FALSE(twice->interrupted);
}
