// Anthropic's context_management, done here for any model, and what is told of it.
#include <gtest/gtest.h>

#include "server/gateway.h"

namespace palimpsest {
namespace {

using testing_support::assistant;
using testing_support::result;
using testing_support::user;
constexpr FormatId chat_format = FormatId::openai_chat;

TEST(gateway_turn, compacts_by_anthropics_context_management) {
    const std::string use =
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{}}]})";
    const std::string more =
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"look","input":{}}]})";
    const auto result_of = [](const std::string& id) {
        return R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" + id +
               R"(","content":")" + std::string(400, 'x') + R"("}]})";
    };
    const std::string history =
        user("a") + "," + use + "," + result_of("t1") + "," + more + "," + result_of("t2");
    const std::string wish =
        R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919",)"
        R"("trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1}}]})";
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "one"), says(format, "one"), tells(format, "two")});
        for (const HeaderFields& headers : {in_alice, HeaderFields{}}) {
            const Told told = gateway.message(history, headers, wish);
            EXPECT_EQ(message_text(told), "one") << told.response.body;
            EXPECT_TRUE(told.response.body.contains(R"("cleared_tool_uses":1)"))
                << told.response.body;
        }
        for (const std::size_t i : {0u, 1u}) {
            const std::string sent = gateway.upstream.requests().at(i).body;
            EXPECT_TRUE(sent.contains("removed: tool output")) << sent;
            EXPECT_FALSE(sent.contains("context_management")) << sent;
        }
        const Told streamed = gateway.message(history, {}, wish + R"(,"stream":true)");
        EXPECT_TRUE(streamed.response.body.contains(R"("cleared_tool_uses":1)"))
            << streamed.response.body;
    }
}

TEST(gateway_turn, tells_how_many_messages_a_compaction_folded) {
    const auto talk = [](int turns) {
        std::string history;
        for (int n = 0; n < turns; ++n) {
            std::string question = "What of order " + std::to_string(n) + "?";
            while (question.size() < 40'000) question += " It was sent from Oslo, then from Rome.";
            history += user(question) + R"(,{"role":"assistant","content":"It came."},)";
        }
        return history + user("And now?");
    };
    const std::string wish = R"("context_management":{"edits":[{"type":"compact_20260112",)"
                             R"("trigger":{"type":"input_tokens","value":50000}}]})";
    Gateway gateway(FormatId::anthropic,
                    {says(FormatId::anthropic, "one"), says(FormatId::anthropic, "one")}, {},
                    "memory:", {.models = {{.name = "m", .window_tokens = 200'000}}});
    // Without a conversation what the fifth question would have folded.
    const std::pair<HeaderFields, std::string> ways[] = {{in_alice, "6"}, {HeaderFields{}, "4"}};
    for (const auto& [headers, folded] : ways) {
        const Told told = gateway.message(talk(6), headers, wish);
        EXPECT_TRUE(told.response.body.contains("\"compacted_messages\":" + folded + ","))
            << told.response.body;
        EXPECT_FALSE(told.response.body.contains("cleared_tool_uses")) << told.response.body;
    }
}

TEST(gateway_turn, what_had_to_go_for_the_window_is_no_tool_use_that_was_cleared) {
    const std::string large(40'000, 'x');
    const std::string wish = R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919",)"
                             R"("trigger":{"type":"input_tokens","value":100000}}]})";
    Gateway gateway(FormatId::anthropic, {says(FormatId::anthropic, "one")}, {}, "memory:",
                    {.models = {{.name = "m", .window_tokens = 4000, .output_tokens = 100}}});
    const Told told = gateway.message(
        user(large) + R"(,{"role":"assistant","content":"b"},)" + user("c"), in_alice, wish);
    EXPECT_EQ(gateway.view("alice"), "c one") << "the rest had to go";
    EXPECT_TRUE(told.response.body.contains(R"("applied_edits":[])")) << told.response.body;
}

TEST(gateway_turn, a_tool_use_counts_once_when_its_input_and_its_output_are_cleared) {
    const std::string large = std::string(400, 'x');
    const std::string history =
        user("a") +
        R"(,{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{"q":")" +
        large +
        R"("}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":")" +
        large + R"("}]},{"role":"assistant","content":"b"},)" + user("c");
    const std::string wish =
        R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919",)"
        R"("trigger":{"type":"input_tokens","value":1},"keep":{"type":"tool_uses","value":0},)"
        R"("clear_tool_inputs":true}]})";
    Gateway gateway(FormatId::anthropic, {says(FormatId::anthropic, "one")});
    const Told told = gateway.message(history, {}, wish);
    EXPECT_TRUE(told.response.body.contains(R"("cleared_tool_uses":1,)")) << told.response.body;
    EXPECT_TRUE(gateway.upstream.requests().at(0).body.contains("removed: tool input"));
}

TEST(gateway_turn, thinking_that_was_cleared_is_counted_by_turns_and_not_by_messages) {
    const std::string thought =
        R"({"type":"thinking","thinking":"Where could it be? In the list.","signature":"s"})";
    const auto looks = [&](const std::string& id) {
        return R"(,{"role":"assistant","content":[)" + thought + R"(,{"type":"tool_use","id":")" +
               id + R"(","name":"look","input":{}}]},{"role":"user","content":[{"type":)" +
               R"("tool_result","tool_use_id":")" + id + R"(","content":"nothing"}]})";
    };
    const std::string answers =
        R"(,{"role":"assistant","content":[)" + thought + R"(,{"type":"text","text":"No."}]},)";
    const std::string history = user("a") + looks("t1") + looks("t2") + answers + user("b") +
                                looks("t3") + answers + user("c") + looks("t4") + answers +
                                user("d");
    Gateway gateway(FormatId::anthropic,
                    {says(FormatId::anthropic, "one"), says(FormatId::anthropic, "one")});
    for (const HeaderFields& headers : {in_alice, HeaderFields{}}) {
        const Told told = gateway.message(
            history, headers,
            R"("context_management":{"edits":[{"type":"clear_thinking_20251015"}]})");
        EXPECT_TRUE(told.response.body.contains(R"("cleared_thinking_turns":2,)"))
            << told.response.body;
    }
}

TEST(gateway_turn, refuses_an_unknown_edit_by_its_name) {
    Gateway gateway(chat_format);
    const Told told =
        gateway.message(user("a"), {}, R"("context_management":{"edits":[{"type":"shrink"}]})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_TRUE(told.error("message").contains("shrink")) << told.response.body;
}

}  // namespace
}  // namespace palimpsest
