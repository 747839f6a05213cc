// The echo model: same request, same answer; pieces add up; it stops when told to.
#include <gtest/gtest.h>

#include "palimpsest/format.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

std::vector<Message> said(std::initializer_list<std::pair<Role, std::string_view>> lines) {
    std::vector<Message> messages;
    for (const auto& [role, text] : lines)
        messages.push_back(make_message(FormatId::openai_chat, role, text).value());
    return messages;
}

std::string text_of(const Reply& answer) {
    const Parts parts = read_parts(answer.messages.at(0)).value();
    return std::string(std::get<Text>(parts.parts.at(0)).text);
}

TEST(echo_model, repeats_the_latest_user_message_and_counts_what_it_was_sent) {
    std::vector<Message> messages = said({{Role::user, "first"},
                                          {Role::assistant, "reply"},
                                          {Role::user, "second  question\nhere"},
                                          {Role::assistant, "later"}});
    for (Message& message : messages) message.count = {.scheme = 1, .tokens = 10};
    const Reply answer = make_echo_model()->call({.messages = messages}, {}).value();
    EXPECT_EQ(text_of(answer), "second  question\nhere\n\n[echo: sent 4 messages, 40 tokens]");
    EXPECT_EQ(answer.usage->input_tokens, 40u);
    EXPECT_FALSE(answer.interrupted);
    EXPECT_EQ(answer.messages.at(0).shape.role, Role::assistant);
}

TEST(echo_model, counts_four_bytes_as_a_token_where_nobody_counted) {
    const std::vector<Message> messages = said({{Role::user, "hello"}});
    const Reply answer = make_echo_model()->call({.messages = messages}, {}).value();
    EXPECT_EQ(answer.usage->input_tokens, (messages[0].raw->size() + 3) / 4);
}

TEST(echo_model, tells_word_by_word_and_the_pieces_are_the_answer) {
    const std::vector<Message> messages = said({{Role::user, "  één tweeë\t drie "}});
    std::vector<std::string> pieces;
    const Reply answer = make_echo_model()
                             ->call({.messages = messages},
                                    [&](const StreamDelta& piece) {
                                        pieces.emplace_back(piece.text);
                                        return true;
                                    })
                             .value();
    ASSERT_GE(pieces.size(), 4u);
    EXPECT_EQ(pieces[0], "  één ");
    EXPECT_EQ(pieces[1], "tweeë\t ");
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    EXPECT_EQ(all, text_of(answer));
}

TEST(echo_model, stops_when_told_to_and_keeps_what_was_told) {
    const std::vector<Message> messages = said({{Role::user, "one two three four"}});
    int heard = 0;
    const Reply answer =
        make_echo_model()
            ->call({.messages = messages}, [&](const StreamDelta&) { return ++heard < 2; })
            .value();
    EXPECT_EQ(heard, 2);
    EXPECT_TRUE(answer.interrupted);
    EXPECT_EQ(text_of(answer), "one two ");
}

TEST(echo_model, has_an_answer_when_no_user_has_spoken) {
    const std::vector<Message> messages = said({{Role::system, "be brief"}});
    const Reply answer = make_echo_model()->call({.messages = messages}, {}).value();
    EXPECT_TRUE(text_of(answer).starts_with("There is no user message to repeat."));
}

TEST(echo_model, gives_the_same_answer_to_the_same_request) {
    const std::vector<Message> messages = said({{Role::user, "again"}});
    const auto model = make_echo_model();
    EXPECT_EQ(*model->call({.messages = messages}, {})->messages.at(0).raw,
              *model->call({.messages = messages}, {})->messages.at(0).raw);
}

}  // namespace
}  // namespace palimpsest
