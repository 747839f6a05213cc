// Marks for Anthropic's prompt cache: where they stand, that there are never more than four, and
// that nothing else of the request changes.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/cache_marks.h"
#include "format/own_marks.h"
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

TEST(cache_marks, do_not_stand_at_a_tool_that_is_loaded_later) {
    const auto tools = [](const std::string& list) {
        return *with_cache_marks(R"({"tools":[)" + list +
                                     R"(],"messages":[{"role":"user","content":"q"}]})",
                                 0);
    };
    const std::string now = R"({"name":"f"})", later = R"({"name":"g","defer_loading":true})";
    EXPECT_TRUE(tools(now + "," + later).contains(R"({"name":"f",)" + std::string(mark)));
    EXPECT_TRUE(tools(now + "," + later).contains(later));
    EXPECT_EQ(marks(tools(later)), 1u);
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

// ---- marks of the caller ------------------------------------------------------------------------

namespace {

Message said(std::string raw) {
    return read_message(FormatId::anthropic, make_bytes(std::move(raw))).value();
}

std::vector<Message> six_marked_turns() {
    std::vector<Message> messages;
    for (int i = 1; i <= 6; ++i) {
        messages.push_back(said(R"({"role":"user","content":[{"type":"text","text":"q)" +
                                std::to_string(i) +
                                R"(", "cache_control" : {"type":"ephemeral"} }]})"));
        messages.push_back(said(R"({"role":"assistant","content":"a"})"));
    }
    return messages;
}

}  // namespace

TEST(own_marks, of_many_requests_only_the_newest_four_are_sent) {
    const std::vector<Message> messages = six_marked_turns();
    const auto rendered = render(FormatId::anthropic, messages);
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_TRUE(rendered->notes.empty());
    for (int turn = 0; turn < 6; ++turn) {
        const std::string_view raw = view_of(rendered->messages[2 * turn].raw);
        if (turn >= 2)
            EXPECT_EQ(raw, view_of(messages[2 * turn].raw));
        else
            EXPECT_EQ(raw, R"({"role":"user","content":[{"type":"text","text":"q)" +
                               std::to_string(turn + 1) + R"(" }]})");
    }
}

TEST(own_marks, of_the_system_prompt_go_out_in_their_blocks_and_take_the_place_of_older_ones) {
    std::vector<Message> messages = six_marked_turns();
    const std::string prompt = R"([{"type":"text","text":"one"},{"type":"text","text":"two",)"
                               R"("cache_control":{"type":"ephemeral","ttl":"1h"}}])";
    messages.insert(messages.begin(), said(R"({"role":"system","content":)" + prompt + "}"));
    const auto rendered = render(FormatId::anthropic, messages, {.marks_beside = 1});
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_EQ(system_json(*rendered), prompt);
    EXPECT_TRUE(rendered->lost.empty()) << rendered->lost.front();
    std::size_t left = 0;
    for (const Message& message : rendered->messages)
        left += view_of(message.raw).contains("cache_control") ? 1 : 0;
    EXPECT_EQ(left, 2u);
}

TEST(own_marks, in_results_count_and_what_only_looks_like_one_does_not) {
    const std::string result =
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[)"
        R"({"type":"text","cache_control":{"type":"ephemeral"},"text":"r"}],)"
        R"("cache_control":{"type":"ephemeral"}}]})";
    const std::string call = R"({"role":"assistant","content":[{"type":"tool_use","id":"t",)"
                             R"("name":"f","input":{"cache_control":{"type":"ephemeral"}}}]})";
    std::vector<Message> messages = {said(call), said(result)};
    EXPECT_EQ(drop_older_marks(messages, 2), std::vector<std::size_t>{});
    EXPECT_EQ(drop_older_marks(messages, 1), std::vector<std::size_t>{1});
    EXPECT_EQ(view_of(messages[1].raw),
              R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[)"
              R"({"type":"text","text":"r"}],"cache_control":{"type":"ephemeral"}}]})");
    EXPECT_EQ(view_of(messages[0].raw), call);
}

TEST(own_marks, of_minutes_do_not_stay_before_one_of_an_hour) {
    std::vector<Message> messages = {said(R"({"role":"user","content":[{"type":"text","text":"a",)"
                                          R"("cache_control":{"type":"ephemeral"}}]})"),
                                     said(R"({"role":"user","content":[{"type":"text","text":"b",)"
                                          R"("cache_control":{"type":"ephemeral","ttl":"1h"}}]})")};
    EXPECT_EQ(drop_older_marks(messages, 4), std::vector<std::size_t>{0});
    EXPECT_EQ(view_of(messages[0].raw),
              R"({"role":"user","content":[{"type":"text","text":"a"}]})");
}
