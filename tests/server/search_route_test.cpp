// GET /api/v1/search from outside: rows as the contract says, nothing of the query is syntax.
#include <gtest/gtest.h>

#include "running.h"

namespace palimpsest {
namespace {

class SearchRoute : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(client
                      .ask("POST", "/api/v1/conversations/a/messages",
                           R"({"messages":[{"role":"user","content":"The gate for Oslo is 12"},)"
                           R"({"role":"assistant","content":"Noted, gate 12."}]})")
                      .status(),
                  201);
    }
    Running client;
};

TEST_F(SearchRoute, gives_rows_best_first) {
    const Told told = client.ask("GET", "/api/v1/search?q=oslo+gates");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const auto rows = told.json().find("data");
    ASSERT_TRUE(rows && rows->size() == 2);
    for (const JsonValue row : rows->elements()) {
        EXPECT_EQ(row.find("conversation_id")->string(), "a");
        EXPECT_EQ(row.find("seq")->integer(), 1);
        EXPECT_EQ(row.find("snippet")->string(), "The \u00abgate\u00bb for \u00abOslo\u00bb is 12");
        EXPECT_EQ(row.find("message")->raw(),
                  R"({"role":"user","content":"The gate for Oslo is 12"})");
        EXPECT_EQ(row.find("in_view")->boolean(), true);
        break;
    }
    EXPECT_EQ(told.text("first_id"), "a:1");
}

TEST_F(SearchRoute, pages_and_explains) {
    const Told told = client.ask("GET", "/api/v1/search?q=gate&limit=1&explain=1");
    ASSERT_EQ(told.status(), 200);
    EXPECT_EQ(told.json().find("has_more")->boolean(), true);
    EXPECT_NE(told.response.body.find("\"explain\":{\"own\":"), std::string::npos);
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=gate&limit=0").json().find("data")->size(), 0u);
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=").json().find("data")->size(), 0u);
}

TEST_F(SearchRoute, refuses_what_it_does_not_know) {
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=x&mode=magic").status(), 400);
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=x&after=yesterday").status(), 400);
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=x&conversation_id=absent").status(), 404);
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=x&mode=vector").status(), 422);
}

TEST_F(SearchRoute, warns_of_a_query_that_is_cut) {
    std::string words;
    for (int i = 0; i < 300; ++i) words += "x" + std::to_string(i) + "+";
    const Told told = client.ask("GET", "/api/v1/search?q=" + words + "oslo");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_TRUE(told.header("x-warnings").contains("the query is too long"));
    EXPECT_EQ(told.text("first_id"), "a:1");
    EXPECT_EQ(client.ask("GET", "/api/v1/search?q=oslo").header("x-warnings"), "");
}

TEST_F(SearchRoute, takes_operators_as_text) {
    for (const std::string_view query : {"%22%22%22", "NEAR(a%20b)", "%27%3BDROP%20TABLE", "%00",
                                         "*%20OR%20*", "col%3Agate", "%ff%fe"})
        EXPECT_EQ(
            client.ask("GET", "/api/v1/search?q=" + std::string(query)).status() / 100 * 100 >= 500,
            false)
            << query;
}

}  // namespace
}  // namespace palimpsest
