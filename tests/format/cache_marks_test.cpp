// Marks for Anthropic's prompt cache: where they stand, that there are never more than four, and
// that nothing else of the request changes.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/cache_marks.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"})";

std::size_t marks(std::string_view json) {
    std::size_t count = 0;
    for (std::size_t at = json.find(mark); at != json.npos; at = json.find(mark, at + 1)) ++count;
    return count;
}

std::string body(int turns) {
    std::string list;
    for (int i = 0; i < turns; ++i)
        list += std::string(i ? "," : "") + R"({"role":"user","content":"q)" + std::to_string(i) +
                R"("},{"role":"assistant","content":[{"type":"text","text":"a)" +
                std::to_string(i) + R"("}]})";
    return R"({"model":"claude","system":"Be brief.","tools":[{"name":"f","input_schema":{}}],)"
           R"("max_tokens":9,"messages":[)" +
           list + R"(,{"role":"user","content":"last"}]})";
}

}  // namespace

TEST(cache_marks, stand_at_tools_system_the_last_edit_and_the_end) {
    const auto marked = with_cache_marks(body(3), 3);
    ASSERT_TRUE(marked.has_value());
    EXPECT_EQ(marks(*marked), 4u);
    EXPECT_NE(marked->find(R"({"name":"f","input_schema":{},)" + std::string(mark) + "}"),
              std::string::npos);
    EXPECT_NE(marked->find(R"("system":[{"type":"text","text":"Be brief.",)" + std::string(mark)),
              std::string::npos);
    EXPECT_NE(marked->find(R"("text":"a1",)" + std::string(mark)), std::string::npos) << *marked;
    EXPECT_NE(marked->find(R"([{"type":"text","text":"last",)" + std::string(mark)),
              std::string::npos);
    EXPECT_TRUE(is_sendable(*validate_json(FormatId::anthropic, *marked)));
}

TEST(cache_marks, of_the_caller_are_left_alone) {
    const std::string own = R"({"messages":[{"role":"user","content":[{"type":"text","text":"x",)"
                            R"("cache_control":{"type":"ephemeral","ttl":"1h"}}]}]})";
    EXPECT_EQ(*with_cache_marks(own, 0), own);
    const std::string talk =
        R"({"messages":[{"role":"user","content":"what is \"cache_control\"?"}]})";
    EXPECT_EQ(marks(*with_cache_marks(talk, 0)), 1u);
}

TEST(cache_marks, are_never_more_than_four_and_reach_back_over_a_long_end) {
    for (const int turns : {0, 1, 5, 10, 40})
        for (const std::size_t behind : {0u, 1u, 7u, 1000u}) {
            const auto marked = with_cache_marks(body(turns > 0 ? turns : 1), behind);
            ASSERT_TRUE(marked.has_value());
            EXPECT_TRUE(parse_json(*marked).has_value());
            EXPECT_LE(marks(*marked), 4u);
            EXPECT_GE(marks(*marked), 3u);
        }
    // Without tools and system prompt the marks go to the messages, 15 blocks apart.
    std::string many = R"({"messages":[{"role":"user","content":"q"})";
    for (int i = 0; i < 60; ++i)
        many += R"(,{"role":"assistant","content":"a"},{"role":"user","content":"q"})";
    EXPECT_EQ(marks(*with_cache_marks(many + "]}", 0)), 4u);
}

TEST(cache_marks, never_stand_on_thinking_or_on_nothing) {
    const std::string thinking =
        R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":)"
        R"([{"type":"text","text":"a"},{"type":"thinking","thinking":"t","signature":"s"}]}]})";
    EXPECT_NE(with_cache_marks(thinking, 0)->find(R"("text":"a",)" + std::string(mark)),
              std::string::npos);
    const std::string empty = R"({"messages":[{"role":"user","content":""}]})";
    EXPECT_EQ(*with_cache_marks(empty, 0), empty);
}
