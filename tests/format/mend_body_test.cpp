#include "format/mend_body.h"

#include <gtest/gtest.h>

#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

// A run of two calls; the second begins what is left of it, with or without thinking.
std::string body(std::string_view thinking, std::string_view first_block) {
    return R"({"model":"m","max_tokens":9000,"thinking":)" + std::string(thinking) +
           R"(,"tools":[{"name":"t","input_schema":{"type":"object"}}],"messages":[)"
           R"({"role":"user","content":"go"},{"role":"assistant","content":[)" +
           std::string(first_block) +
           R"({"type":"tool_use","id":"b","name":"t","input":{}}]},)"
           R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"r"}]}]})";
}

constexpr std::string_view enabled = R"({"type":"enabled","budget_tokens":1024})";
constexpr std::string_view thought = R"({"type":"thinking","thinking":"hm","signature":"s"},)";

}  // namespace

TEST(mend_body, switches_thinking_off_where_a_run_of_calls_lost_its_own) {
    std::vector<std::string> notes;
    const std::string mended = mend_body(FormatId::anthropic, body(enabled, ""), notes);
    EXPECT_EQ(mended, body(R"({"type":"disabled"})", ""));
    EXPECT_EQ(notes.size(), 1u);
    const auto left = validate_json(FormatId::anthropic, mended);
    ASSERT_TRUE(left);
    EXPECT_TRUE(left->empty()) << left->front().message;
    // A whole body is repaired the same way.
    EXPECT_EQ(repair_json(FormatId::anthropic, body(enabled, ""))->json, mended);
}

TEST(mend_body, leaves_alone_what_is_allowed) {
    for (const std::string& good :
         {body(enabled, thought), body(R"({"type":"adaptive"})", ""), std::string("no JSON")}) {
        std::vector<std::string> notes;
        EXPECT_EQ(mend_body(FormatId::anthropic, good, notes), good);
        EXPECT_TRUE(notes.empty());
    }
}
