// What an interrupted reply leaves unfinished stays in the bytes and is never sent.
#include <gtest/gtest.h>

#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

constexpr FormatId formats[] = {FormatId::openai_chat, FormatId::openai_responses,
                                FormatId::anthropic};

// A stream that breaks off after these pieces.
Reply cut_off(FormatId format, const std::vector<StreamDelta>& deltas) {
    const auto writer = make_stream_writer(format, {.id = "r1", .model = "m", .created = 1});
    std::string bytes = writer->begin();
    for (const StreamDelta& delta : deltas) bytes += writer->add(delta);
    const auto reader = make_stream_reader(format);
    EXPECT_TRUE(reader->feed(bytes));
    auto reply = reader->finish();
    EXPECT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->interrupted);
    return *reply;
}

using Kind = StreamDelta::Kind;
const StreamDelta text{.kind = Kind::text, .text = "Let me look."};
const StreamDelta call{.kind = Kind::call, .index = 0, .id = "c1", .name = "search"};
const StreamDelta half{.kind = Kind::arguments, .index = 0, .text = "{\"query\":\"sea"};
const StreamDelta thought{.kind = Kind::reasoning, .text = "He wants a seat."};

Result<Rendered> rendered(FormatId to, FormatId from, const std::vector<Message>& said) {
    std::vector<Message> view{*make_message(from, Role::user, "hi")};
    view.insert(view.end(), said.begin(), said.end());
    view.push_back(*make_message(from, Role::user, "go on"));
    return render(to, view);
}

}  // namespace

TEST(interrupted, an_incomplete_call_stays_in_the_bytes_and_is_not_rendered) {
    for (const FormatId format : formats) {
        const Reply reply = cut_off(format, {text, call, half});
        const std::string raw = write_list(reply.messages);
        EXPECT_NE(raw.find(R"("{\"query\":\"sea")"), std::string::npos) << raw;
        for (const Message& message : reply.messages) EXPECT_TRUE(message.shape.calls.empty());
        for (const FormatId to : formats) {
            const auto view = rendered(to, format, reply.messages);
            ASSERT_TRUE(view) << view.error().message;
            const std::string sent = write_list(view->messages);
            EXPECT_EQ(sent.find("query"), std::string::npos) << sent;
            EXPECT_EQ(sent.find("_unfinished"), std::string::npos) << sent;
            EXPECT_NE(sent.find("Let me look."), std::string::npos) << sent;
        }
    }
}

TEST(interrupted, with_nothing_finished_there_is_nothing_to_render) {
    for (const FormatId format : formats) {
        const Reply reply = cut_off(format, {call, half});
        EXPECT_NE(write_list(reply.messages).find("query"), std::string::npos);
        const auto view = rendered(format, format, reply.messages);
        ASSERT_TRUE(view) << view.error().message;
        for (const Message& message : view->messages)
            EXPECT_EQ(message.shape.role, Role::user) << *message.raw;
    }
}

TEST(interrupted, unsigned_thinking_stays_in_the_bytes_and_is_not_rendered) {
    for (const FormatId format : {FormatId::anthropic, FormatId::openai_responses}) {
        const Reply reply = cut_off(format, {thought});
        EXPECT_NE(write_list(reply.messages).find("He wants a seat."), std::string::npos);
        for (const Message& message : reply.messages) EXPECT_FALSE(message.shape.reasoning);
        const auto view = rendered(format, format, reply.messages);
        ASSERT_TRUE(view) << view.error().message;
        EXPECT_EQ(write_list(view->messages).find("He wants"), std::string::npos);
    }
}

TEST(interrupted, a_field_of_that_name_in_what_others_said_is_theirs) {
    const std::string raw = R"({ "role":"user", "content":"_unfinished", "_unfinished":[1] })";
    const std::vector<Message> view{*read_message(FormatId::openai_chat, make_bytes(raw))};
    const auto sent = render(FormatId::openai_chat, view);
    ASSERT_TRUE(sent);
    EXPECT_EQ(*sent->messages.at(0).raw, raw);
}
