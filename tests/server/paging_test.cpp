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

// Rows of a MiB each, a to z and on.
std::string ids_in(ListReply::From from, int rows) {
    ListReply list(from);
    const std::string large(std::size_t{1} << 20, 'x');
    int written = 0;
    for (; written < rows && list.has_room(); ++written)
        list.row(std::to_string(written)).string(large);
    const RouteReply reply = list.end(false);
    const auto document = parse_json(reply.body);
    if (!document) return reply.body.substr(0, 100);
    const JsonValue page = document->root();
    return std::to_string(page.find("data")->size()) + " rows, " +
           std::string(page.find("first_id")->string()) + " to " +
           std::string(page.find("last_id")->string()) +
           (*page.find("has_more")->boolean() ? "+" : "");
}

TEST(paging, a_page_ends_early_when_it_has_its_bytes) {
    EXPECT_EQ(ids_in(ListReply::From::start, 3), "3 rows, 0 to 2");
    EXPECT_EQ(ids_in(ListReply::From::start, 60), "32 rows, 0 to 31+");
    EXPECT_EQ(ids_in(ListReply::From::end, 3), "3 rows, 2 to 0");
    EXPECT_EQ(ids_in(ListReply::From::end, 60), "32 rows, 31 to 0+");
}

TEST(paging, whoever_goes_on_behind_a_page_of_large_messages_gets_them_all) {
    const Running running;
    const std::string list = conversations + "/a/messages";
    const std::string large(std::size_t{9} << 20, 'x');
    for (int i = 0; i < 6; ++i)
        running.ask("POST", list, R"({"messages":[{"role":"user","content":")" + large + R"("}]})");
    const auto walk = [&](const std::string& query, const char* place, const char* id,
                          std::string next = "") {
        std::string pages;
        for (bool more = true; more;) {
            const Told told = running.ask(
                "GET", list + "?" + query + (next.empty() ? "" : "&" + std::string(place) + next));
            if (told.status() != 200) return told.response.body;
            more = *told.json().find("has_more")->boolean();
            pages += "[" + told.text("first_id") + "-" + told.text("last_id") + "]";
            next = told.text(id);
        }
        return pages;
    };
    EXPECT_EQ(walk("", "after=", "last_id"), "[1-4][5-6]");
    EXPECT_EQ(walk("order=desc", "after=", "last_id"), "[6-3][2-1]");
    EXPECT_EQ(walk("", "before=", "first_id", "7"), "[3-6][1-2]");
}

// FIRST-LAST of a page, and + where there is more.
std::string span_of(const Told& told) {
    if (told.status() != 200) return std::to_string(told.status()) + " " + told.error("param");
    const bool more = *told.json().find("has_more")->boolean();
    return told.text("first_id") + "-" + told.text("last_id") + (more ? "+" : "");
}

TEST(paging, a_range_is_recalled_in_pages_that_leave_nothing_out) {
    const Running running;
    const std::string one = conversations + "/a";
    std::string messages;
    for (int i = 1; i <= 150; ++i)
        messages += std::string(i > 1 ? "," : "") + R"({"role":"user","content":"m)" +
                    std::to_string(i) + R"("})";
    running.ask("POST", one + "/messages", "{\"messages\":[" + messages + "]}");
    running.ask("POST", one + "/retract", R"({"from":10,"to":59})");
    const auto page = [&](const std::string& query) {
        return span_of(running.ask("GET", one + "/recall/5..140" + query));
    };
    EXPECT_EQ(page("?limit=4"), "5-8+");
    EXPECT_EQ(page("?limit=4&after=8"), "9-62+") << "what is hidden makes no page shorter";
    EXPECT_EQ(page("?after=62"), "63-140");
    EXPECT_EQ(page("?limit=2&order=desc"), "140-139+");
    EXPECT_EQ(page("?limit=2&order=desc&after=6"), "5-5");
    EXPECT_EQ(page("?limit=3&before=61"), "8-60+");
    EXPECT_EQ(page("?limit=78"), "5-132+");
    EXPECT_EQ(page("?limit=86"), "5-140");
    EXPECT_EQ(page("?after=x"), "400 after");
    EXPECT_EQ(span_of(running.ask("GET", one + "/recall/20..30")), "404 ");
}

TEST(paging, a_list_of_completions_goes_on_behind_one_that_is_gone) {
    const Running running;
    const std::string list = "/v1/chat/completions";
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i)
        ids.push_back(
            running
                .ask("POST", list,
                     R"({"model":"echo","store":true,"messages":[{"role":"user","content":"a"}]})")
                .text("id"));
    const auto span = [&](std::size_t from, std::size_t to, const char* more = "") {
        return ids[from] + "-" + ids[to] + more;
    };
    const auto page = [&](const std::string& query) {
        return span_of(running.ask("GET", list + query));
    };
    EXPECT_EQ(page("?limit=2"), span(0, 1, "+"));
    EXPECT_EQ(page("?limit=2&before=" + ids[4]), span(2, 3, "+"));
    for (const std::size_t gone : {0, 1}) running.ask("DELETE", list + "/" + ids[gone]);
    EXPECT_EQ(page("?limit=2&after=" + ids[1]), span(2, 3, "+"));
    EXPECT_EQ(page("?limit=2&order=desc&after=" + ids[4]), span(3, 2));
    EXPECT_EQ(page("?after=nonsense"), "404 after");
    const std::string messages = "/" + ids[2] + "/messages";
    EXPECT_EQ(page(messages), ids[2] + "-0-" + ids[2] + "-0");
    EXPECT_EQ(page(messages + "?after=" + ids[2] + "-7"), "404 after");
}

TEST(paging, items_usage_and_models_have_pages_too) {
    const Running running;
    const std::string items = "/v1/conversations/a/items";
    running.ask("POST", conversations, R"({"id":"a"})");
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i)
        ids.push_back(running.ask("POST", items, R"({"items":[{"role":"user","content":"x"}]})")
                          .text("first_id"));
    EXPECT_EQ(span_of(running.ask("GET", items + "?limit=2&before=" + ids[0])),
              ids[2] + "-" + ids[1] + "+");
    EXPECT_EQ(span_of(running.ask("GET", items + "?limit=2&order=asc&before=" + ids[2])),
              ids[0] + "-" + ids[1]);
    EXPECT_EQ(running.ask("GET", items + "?before=" + ids[0] + "&after=" + ids[1]).status(), 400);
    running.ask("POST", "/api/v1/chat", R"({"conversation_id":"a","message":"hello"})");
    for (const std::string& usage : {std::string("/api/v1/usage"), conversations + "/a/usage"}) {
        const Told all = running.ask("GET", usage + "?limit=1&order=desc");
        ASSERT_EQ(all.status(), 200) << all.response.body;
        const std::string day = all.text("first_id");
        EXPECT_EQ(span_of(running.ask("GET", usage + "?after=2001-01-01")), day + "-" + day);
        EXPECT_EQ(span_of(running.ask("GET", usage + "?before=" + day)), "-");
    }
    EXPECT_EQ(span_of(running.ask("GET", "/v1/models?limit=1")), "echo-echo");
    EXPECT_EQ(span_of(running.ask("GET", "/v1/models?after_id=echo")), "-");
    EXPECT_EQ(span_of(running.ask("GET", "/v1/models?before_id=other")), "404 before_id");
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
