// What a model spoke (`audio` of an answer) and the calls from before there were tools
// (`function_call`): fields of a chat message that has no content beside them.
#include <gtest/gtest.h>

#include "format/content.h"
#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

constexpr FormatId chat = FormatId::openai_chat;

const std::string answered =
    R"({"role":"assistant","content":null,"refusal":null,"audio":{"id":"audio_1","data":"AAAA",)"
    R"("transcript":"Hello","expires_at":99}})";
const std::string referred = R"({"role":"assistant","audio":{"id":"audio_1"}})";

Message said(const std::string& raw) {
    auto message = read_message(chat, make_bytes(raw));
    EXPECT_TRUE(message) << message.error().message;
    return message.value_or(Message{});
}

// As it goes out between two words of a user.
std::string sent(FormatId to, const std::string& answer, const CheckOptions& options = {}) {
    const std::vector<Message> view = {*make_message(chat, Role::user, "hi"), said(answer),
                                       *make_message(chat, Role::user, "go on")};
    const auto rendered = render(to, view, options);
    EXPECT_TRUE(rendered) << rendered.error().message;
    if (!rendered) return {};
    return rendered->messages.size() < 3 ? "left out"
                                         : std::string(view_of(rendered->messages[1].raw));
}

}  // namespace

TEST(speech, goes_back_as_its_id) {
    EXPECT_EQ(sent(chat, answered),
              R"({"role":"assistant","content":null,"refusal":null,"audio":{"id":"audio_1"}})");
    EXPECT_EQ(sent(chat, referred), referred);
}

TEST(speech, is_known_again_by_its_id) {
    EXPECT_EQ(said(answered).fingerprint, said(referred).fingerprint);
    EXPECT_NE(said(answered).fingerprint,
              said(R"({"role":"assistant","audio":{"id":"audio_2"}})").fingerprint);
}

TEST(speech, is_its_transcript_for_whoever_hears_nothing) {
    for (const FormatId to : {FormatId::openai_responses, FormatId::anthropic})
        EXPECT_TRUE(sent(to, answered).contains("Hello")) << sent(to, answered);
    EXPECT_EQ(sent(chat, answered, {.model = "gpt-5-mini"}),
              R"({"role":"assistant","content":"Hello","refusal":null,"audio":null})");
    EXPECT_EQ(sent(chat, R"({"role":"assistant","audio":{"transcript":"Hello"}})"),
              R"({"role":"assistant","audio":null,"content":"Hello"})");
    EXPECT_EQ(sent(chat, referred, {.model = "gpt-5-mini"}), "left out");
    const auto parts = read_parts(said(answered));
    ASSERT_EQ(parts->parts.size(), 1u);
    EXPECT_EQ(std::get<Text>(parts->parts[0]).text, "Hello");
    const auto reply =
        convert_reply(chat, FormatId::anthropic,
                      R"({"choices":[{"finish_reason":"stop","message":)" + answered + "}]}");
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->body.contains(R"({"type":"text","text":"Hello"})")) << reply->body;
}

TEST(speech, that_has_expired_is_its_transcript) {
    EXPECT_EQ(view_of(without_expired(said(answered), 98)->raw), answered);
    EXPECT_EQ(view_of(without_expired(said(answered), 99)->raw),
              R"({"role":"assistant","content":"Hello","refusal":null,"audio":null})");
}

TEST(speech, can_be_shortened) {
    const PartChange change{0, "Hel[...]"};
    const auto changed = change_content(
        said(referred.substr(0, referred.size() - 2) + R"(,"transcript":"Hello"}})"), {&change, 1});
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(view_of(*changed), R"({"role":"assistant","audio":null,"content":"Hel[...]"})");
}

TEST(speech, a_call_of_the_old_kind_stays_in_front_of_its_result) {
    const std::string call =
        R"({"role":"assistant","content":null,"function_call":{"name":"w","arguments":"{}"}})";
    EXPECT_EQ(sent(chat, call), call);
    EXPECT_NE(said(call).fingerprint, said(R"({"role":"assistant","content":null})").fingerprint);
    EXPECT_EQ(
        said(call).fingerprint,
        said(R"({"role":"assistant","function_call":{"arguments":"{}","name":"w"}})").fingerprint);
}
