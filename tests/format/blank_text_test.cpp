// Texts of nothing but white space, which Messages refuses: a model says them before its calls.
#include <gtest/gtest.h>

#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

constexpr FormatId anthropic = FormatId::anthropic;

const std::string asked = R"({"role":"user","content":"go"})";
const std::string used = R"({"role":"assistant","content":[{"type":"text","text":"\n\n"},)"
                         R"({"type":"tool_use","id":"t1","name":"f","input":{}}]})";
const std::string done =
    R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":" "}]})";

}  // namespace

TEST(blank_text, is_refused_as_a_block_and_as_a_message) {
    const std::pair<std::string, std::size_t> lists[] = {
        {"[" + asked + "," + used + "," + done + "]", 1},
        {R"([{"role":"user","content":" \t"},)" + asked + "]", 0},
        {"[" + asked + R"(,{"role":"assistant","content":" "},)" + asked + "]", 1}};
    for (const auto& [list, at] : lists) {
        const auto violations = validate_json(anthropic, list);
        ASSERT_TRUE(violations) << list;
        ASSERT_EQ(violations->size(), 1u) << list;
        EXPECT_EQ(violations->front().rule, "empty");
        EXPECT_EQ(violations->front().at, at);
    }
}

TEST(blank_text, is_left_out_beside_others_and_with_its_message_alone) {
    const auto mended = repair_json(
        anthropic, "[" + asked +
                       R"(,{"role":"assistant","content":" "},{"role":"user","content":"  "},)" +
                       used + "," + done + "]");
    ASSERT_TRUE(mended) << mended.error().message;
    EXPECT_EQ(
        mended->json,
        "[" + asked +
            R"(,{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},)" +
            done + "]");
    EXPECT_EQ(mended->notes.size(), 5u);
}

TEST(blank_text, of_another_format_is_not_carried_over) {
    const auto made = convert_json(
        FormatId::openai_chat, anthropic,
        R"([{"role":"user","content":"go"},{"role":"user","content":"  "},)"
        R"({"role":"assistant","content":"\n\n","tool_calls":[{"id":"t1","type":"function",)"
        R"("function":{"name":"f","arguments":"{}"}}]},)"
        R"({"role":"tool","tool_call_id":"t1","content":"one"}])");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_FALSE(made->json.contains(R"(\n)")) << made->json;
    const auto violations = validate_json(anthropic, made->json);
    EXPECT_TRUE(violations && violations->empty()) << made->json;
}
