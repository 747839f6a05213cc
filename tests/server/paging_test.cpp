// Which rows of a list in memory are a page, and the lists that are paged so.
#include <gtest/gtest.h>

#include "server/paging.h"
#include "server/running.h"

namespace palimpsest {
namespace {

// Of the rows a to e.
std::string page(const std::string& query) {
    const std::vector<std::string> rows = {"a", "b", "c", "d", "e"};
    const Query asked(*parse_query(query));
    const auto found = find_page(asked, rows.size(),
                                 place_by_id(rows, [](const std::string& row) { return row; }));
    if (!found) return "refused: " + found.error().param;
    std::string text;
    for (const std::size_t i : found->rows) text += rows[i];
    return text + (found->has_more ? "+" : "");
}

TEST(paging, goes_on_behind_a_row_in_both_orders) {
    EXPECT_EQ(page(""), "abcde");
    EXPECT_EQ(page("limit=2"), "ab+");
    EXPECT_EQ(page("limit=2&after=b"), "cd+");
    EXPECT_EQ(page("limit=2&after=d"), "e");
    EXPECT_EQ(page("after=e"), "");
    EXPECT_EQ(page("order=desc&limit=2"), "ed+");
    EXPECT_EQ(page("order=desc&limit=2&after=d"), "cb+");
    EXPECT_EQ(page("order=desc&limit=2&after=b"), "a");
}

TEST(paging, gives_the_page_that_ends_before_a_row) {
    EXPECT_EQ(page("limit=2&before=d"), "bc+");
    EXPECT_EQ(page("limit=2&before=b"), "a");
    EXPECT_EQ(page("order=desc&limit=2&before=b"), "dc+");
    EXPECT_EQ(page("before=a"), "");
}

TEST(paging, leaves_rows_out_first) {
    EXPECT_EQ(page("offset=3"), "de");
    EXPECT_EQ(page("offset=1&limit=2&after=a"), "cd+");
    EXPECT_EQ(page("offset=9"), "");
    EXPECT_EQ(page("order=desc&offset=1&limit=1"), "d+");
}

TEST(paging, refuses_what_contradicts_itself_or_is_not_there) {
    EXPECT_EQ(page("after=a&before=c"), "refused: before");
    EXPECT_EQ(page("before=c&offset=1"), "refused: before");
    EXPECT_EQ(page("after=x"), "refused: after");
    EXPECT_EQ(page("before=x"), "refused: before");
}

TEST(paging, reaches_every_summary_checkpoint_and_agent) {
    const Running running;
    const std::string one = conversations + "/a";
    for (int i = 0; i < 6; ++i)
        running.ask(
            "POST", one + "/messages",
            R"({"messages":[{"role":"user","content":"many words and some more of them, so that what stands in their place is shorter than they are, also with its heading, which takes about a dozen tokens by itself"}]})");
    for (const char* place : {R"("from":1,"to":2)", R"("from":3,"to":4)"})
        EXPECT_EQ(
            running
                .ask("POST", one + "/summaries", "{" + std::string(place) + R"(,"text":"short"})")
                .status(),
            201);
    for (const char* name : {"x", "y"}) {
        running.ask("POST", one + "/checkpoints", R"({"name":")" + std::string(name) + "\"}");
        running.ask("PUT", "/api/v1/agents/" + std::string(name), "{}");
    }
    for (const std::string& list :
         {one + "/summaries", one + "/checkpoints", std::string("/api/v1/agents")}) {
        const Told first = running.ask("GET", list + "?limit=1");
        ASSERT_EQ(first.status(), 200) << first.response.body;
        EXPECT_TRUE(*first.json().find("has_more")->boolean()) << list;
        const Told rest = running.ask("GET", list + "?after=" + first.text("last_id"));
        ASSERT_EQ(rest.status(), 200) << rest.response.body;
        EXPECT_FALSE(*rest.json().find("has_more")->boolean()) << list;
        EXPECT_NE(rest.text("first_id"), first.text("first_id")) << list;
        const Told back = running.ask("GET", list + "?before=" + rest.text("first_id"));
        EXPECT_EQ(back.text("first_id"), first.text("first_id")) << list;
        EXPECT_EQ(running.ask("GET", list + "?order=desc&limit=1").text("first_id"),
                  rest.text("first_id"))
            << list;
    }
}

}  // namespace
}  // namespace palimpsest
