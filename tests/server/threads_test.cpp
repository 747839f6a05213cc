// Message threads are Anthropic's: it keeps what was said, and a client sends only what is new.
#include "server/gateway.h"

namespace palimpsest {
namespace {

const std::string hello = R"({"role":"user","content":"hello"})";
const std::string create = R"("thread":{"type":"create"})";
const std::string go_on = R"("thread":{"type":"continue","previous_message_id":"msg_1"})";

// As the clients look for it before they send all without a thread.
void expect_refused(const Told& told) {
    EXPECT_EQ(told.status(), 400) << told.response.body;
    const auto error = told.json().find("error");
    EXPECT_EQ(told.json().find("type")->string(), "error");
    EXPECT_EQ(error->find("type")->string(), "invalid_request_error");
    EXPECT_EQ(error->find("details")->raw(),
              R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})");
}

TEST(threads, are_refused_in_front_of_a_model_of_another_format) {
    for (const FormatId format : {FormatId::openai_chat, FormatId::openai_responses}) {
        Gateway gateway(format);
        for (const std::string& thread : {create, go_on})
            for (const char* more : {"", R"(,"stream":true)"})
                expect_refused(gateway.message(hello, {}, thread + more));
        EXPECT_TRUE(gateway.upstream.requests().empty());
    }
}

TEST(threads, are_refused_in_a_conversation_which_then_takes_the_whole_history) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "yes")});
        expect_refused(gateway.message(hello, in_alice, create));
        EXPECT_EQ(gateway.get("/api/v1/conversations/alice").status(), 404);
        EXPECT_EQ(message_text(gateway.message(hello, in_alice)), "yes");
        EXPECT_EQ(gateway.view("alice"), "hello yes");
    }
}

TEST(threads, are_refused_beside_context_editing_which_is_done_here) {
    Gateway gateway(FormatId::anthropic);
    expect_refused(gateway.message(hello, {}, create + R"(,"context_management":{"edits":[]})"));
    EXPECT_TRUE(gateway.upstream.requests().empty());
}

TEST(threads, are_passed_on_to_the_provider_that_keeps_them) {
    const UpstreamReply yes = says(FormatId::anthropic, "yes");
    Gateway gateway(FormatId::anthropic, {yes, yes, yes});
    EXPECT_EQ(message_text(gateway.message(hello, {}, create)), "yes");
    EXPECT_EQ(message_text(gateway.message(hello, {}, go_on)), "yes");
    EXPECT_EQ(message_text(gateway.message("", {}, go_on)), "yes");  // an answer that had paused
    EXPECT_EQ(gateway.sent(0).root().find("thread")->raw(), R"({"type":"create"})");
    EXPECT_EQ(gateway.sent(2).root().find("messages")->size(), 0U);
}

TEST(threads, without_one_something_must_be_said) {
    Gateway gateway(FormatId::anthropic);
    for (const char* none : {"", R"("thread":null)"}) {
        const Told told = gateway.message("", {}, none);
        EXPECT_EQ(told.status(), 400);
        EXPECT_TRUE(told.response.body.contains("messages: say something")) << told.response.body;
    }
}

}  // namespace
}  // namespace palimpsest
