// A request ends when its time is over, and a server when its grace is, also where a model is
// silent and the turn would go on without its client.
#include <gtest/gtest.h>

#include "server/gateway.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

struct Asked {
    std::string target, body;
    HeaderFields headers;
};

// Every way to ask for something that is stored, and two that are not.
const Asked every_turn[] = {
    {"/v1/chat/completions", R"({"model":"m","messages":[{"role":"user","content":"a"}]})",
     in_alice},
    {"/v1/messages", R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]})",
     in_alice},
    {"/v1/responses", R"({"model":"m","input":"a"})", {}},
    {"/v1/responses", R"({"model":"m","input":"a","stream":true})", {}},
    {"/api/v1/chat", R"({"message":"a","conversation_id":"alice"})", {}},
    {"/api/v1/chat", R"({"message":"a","conversation_id":"alice","stream":true})", {}},
    {"/api/v1/chat", R"({"message":"a","conversation_id":"alice","recall_tools":true})", {}},
    {"/api/v1/state/chat", R"({"message":"a"})", {}},
    // Passed on.
    {"/v1/chat/completions", R"({"model":"m","messages":[{"role":"user","content":"a"}]})", {}},
    {"/v1/messages",
     R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]})",
     {}},
};

bool is_streamed(const Asked& asked) {
    return asked.body.contains(R"("stream":true)");
}

UpstreamReply silent() {
    UpstreamReply reply = says(chat_format, "late");
    reply.hold_at = 0;
    return reply;
}

TEST(halt, a_request_whose_model_is_silent_ends_when_its_time_is_over) {
    ServerOptions options;
    options.terms.limits.request_timeout_ms = 200;
    for (const Asked& asked : every_turn) {
        Gateway gateway(chat_format, {silent()}, options);
        const Told told = gateway.post(asked.target, asked.body, asked.headers);
        const bool failed = told.status() >= 500 || told.response.body.contains("\"error\"");
        EXPECT_TRUE(failed) << asked.target << asked.body << told.response.body;
        EXPECT_TRUE((is_streamed(asked) && asked.target != "/api/v1/chat") ||
                    told.response.body.contains("request_timeout_ms"))
            << asked.target << told.response.body;
        EXPECT_TRUE(is_streamed(asked) || told.status() == 504) << asked.target;
        EXPECT_FALSE(told.response.body.contains("late")) << asked.target << asked.body;
        gateway.upstream.let_go();
    }
}

TEST(halt, a_server_ends_when_its_grace_is_over_though_a_model_is_silent) {
    for (const Asked& asked : every_turn) {
        Gateway gateway(chat_format, {silent()});
        Told told;
        std::thread asking([&] { told = gateway.post(asked.target, asked.body, asked.headers); });
        while (gateway.upstream.requests().empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        gateway.server->stop(std::chrono::milliseconds(300));
        // Had it waited for the model, we would not be here.
        asking.join();
        if (!is_streamed(asked)) {
            EXPECT_EQ(told.status(), 503) << asked.target;
            EXPECT_TRUE(told.response.body.contains("the server is stopping"))
                << asked.target << told.response.body;
        }
        gateway.upstream.let_go();
    }
}

TEST(halt, a_stream_that_is_under_way_when_the_grace_is_over_says_that_it_was_cut) {
    const std::string events = told_events(chat_format, "one two three");
    for (const Asked& asked : std::initializer_list<Asked>{
             {"/v1/chat/completions",
              R"({"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]})",
              in_alice},
             {"/v1/messages",
              R"({"model":"m","stream":true,"max_tokens":9,)"
              R"("messages":[{"role":"user","content":"a"}]})",
              in_alice},
             {"/v1/responses", R"({"model":"m","input":"a","stream":true})", {}},
             {"/api/v1/chat", R"({"message":"a","stream":true})", {}}}) {
        UpstreamReply half = event_stream_reply(events);
        half.piece_bytes = events.find("three") - 100;
        half.hold_at = half.piece_bytes;
        Gateway gateway(chat_format, {half});
        Told told;
        std::thread asking([&] { told = gateway.post(asked.target, asked.body, asked.headers); });
        while (gateway.upstream.requests().empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        gateway.server->stop(std::chrono::milliseconds(300));
        asking.join();
        gateway.upstream.let_go();
        EXPECT_EQ(told.status(), 200) << asked.target << told.response.body;
        const bool says_so =
            told.response.body.contains("error") || told.response.body.contains("\"interrupted\"");
        EXPECT_TRUE(says_so) << asked.target << told.response.body;
        if (asked.target == "/v1/responses") continue;
        EXPECT_TRUE(told.response.body.contains("the server is stopping")) << told.response.body;
        if (asked.headers.empty()) continue;
        EXPECT_TRUE(told.response.body.contains("what came is kept")) << told.response.body;
    }
}

TEST(halt, what_was_said_is_kept_and_the_conversation_goes_on) {
    ServerOptions options;
    options.terms.limits.request_timeout_ms = 200;
    Gateway gateway(chat_format, {silent()}, options);
    EXPECT_GE(gateway.chat(R"({"role":"user","content":"a"})", in_alice).status(), 500);
    EXPECT_EQ(gateway.view("alice"), "a");
    gateway.upstream.let_go();
    gateway.upstream.play({says(chat_format, "yes")});
    options.terms.limits.request_timeout_ms = 0;
    gateway.server->reload(options.terms);
    EXPECT_EQ(chat_text(gateway.chat(R"({"role":"user","content":"b"})", in_alice)), "yes");
}

}  // namespace
}  // namespace palimpsest
