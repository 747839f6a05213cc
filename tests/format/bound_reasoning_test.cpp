// What another model is told of an answer whose reasoning is bound to the model that wrote it.
#include "format/bound_reasoning.h"

#include <gtest/gtest.h>

#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr bool foreign = true, own = false;

std::string told(FormatId format, const std::string& list, const std::vector<bool>& marks) {
    return write_list(without_bound_reasoning(*read_messages(format, make_bytes(list)), marks));
}

const std::string signed_thought = R"({"type":"thinking","thinking":"deep","signature":"S"})";
const std::string hidden_thought = R"({"type":"redacted_thinking","data":"R"})";
const std::string tool_use = R"({"type":"tool_use","id":"t1","name":"w","input":{}})";
const std::string go = R"({"role":"user","content":"go"})";

std::string said(const std::string& blocks) {
    return R"({"role":"assistant","content":[)" + blocks + "]}";
}

TEST(bound_reasoning, of_another_model_goes_and_all_else_keeps_its_bytes) {
    const FormatId format = FormatId::anthropic;
    const std::string all =
        "[" + go + "," + said(signed_thought + "," + hidden_thought + "," + tool_use) + "]";
    EXPECT_EQ(told(format, all, {foreign, foreign}), "[" + go + "," + said(tool_use) + "]");
    EXPECT_EQ(told(format, all, {own, own}), all);
    EXPECT_EQ(told(format, "[" + go + "," + said(signed_thought) + "]", {own, foreign}),
              "[" + go + "]");
    const std::string free = R"({"type":"thinking","thinking":"deep","signature":""})";
    EXPECT_EQ(told(format, "[" + said(free) + "]", {foreign}), "[" + said(free) + "]");
}

TEST(bound_reasoning, that_is_an_item_takes_along_the_ids_of_what_it_led_to) {
    const FormatId format = FormatId::openai_responses;
    const std::string thought =
        R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"})";
    const std::string call =
        R"({"type":"function_call","id":"fc_1","call_id":"t1","name":"w","arguments":"{}"})";
    const std::string bare_call =
        R"({"type":"function_call","call_id":"t1","name":"w","arguments":"{}"})";
    const std::string output = R"({"type":"function_call_output","call_id":"t1","output":"x"})";
    const std::string text = R"({"type":"message","id":"msg_1","role":"assistant",)"
                             R"("content":[{"type":"output_text","text":"done"}]})";
    const std::string all = "[" + go + "," + thought + "," + call + "," + output + "," + text + "]";
    EXPECT_EQ(told(format, all, {own, foreign, foreign, foreign, foreign}),
              "[" + go + "," + bare_call + "," + output + "," + text + "]");
    EXPECT_EQ(told(format, all, {own, own, own, own, foreign}), all);
}

TEST(bound_reasoning, takes_along_what_its_provider_ran_behind_it) {
    const FormatId format = FormatId::openai_responses;
    const std::string thought = R"({"type":"reasoning","id":"rs_1","summary":[]})";
    const std::string search =
        R"({"type":"web_search_call","id":"ws_1","status":"completed","action":{}})";
    const std::string text = R"({"type":"message","id":"msg_1","role":"assistant",)"
                             R"("content":[{"type":"output_text","text":"done"}]})";
    const std::string bare_text = R"({"type":"message","role":"assistant",)"
                                  R"("content":[{"type":"output_text","text":"done"}]})";
    const std::string all = "[" + go + "," + thought + "," + search + "," + text + "]";
    EXPECT_EQ(told(format, all, {own, foreign, foreign, foreign}),
              "[" + go + "," + bare_text + "]");
    const std::string alone = "[" + go + "," + search + "," + text + "]";
    EXPECT_EQ(told(format, alone, {own, foreign, foreign}), alone);
}

TEST(bound_reasoning, and_audio_are_of_the_model_that_spoke_others_are_told_the_words) {
    const std::string spoken =
        R"([{"role":"assistant","content":null,"audio":{"id":"audio_1","transcript":"Hello"}}])";
    const std::string words = told(FormatId::openai_chat, spoken, {foreign});
    EXPECT_NE(words.find(R"("content":"Hello")"), words.npos) << words;
    EXPECT_EQ(words.find("audio_1"), words.npos) << words;
    EXPECT_EQ(told(FormatId::openai_chat, spoken, {own}), spoken);
}

TEST(bound_reasoning, that_is_plain_text_stays) {
    const std::string list =
        R"([{"role":"assistant","content":"done","reasoning_content":"because"}])";
    EXPECT_EQ(told(FormatId::openai_chat, list, {foreign}), list);
}

}  // namespace
}  // namespace palimpsest
