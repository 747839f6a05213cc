// OpenAI's Conversations over our logs: what the official clients send and what they get back.
#include <set>

#include "server/running.h"

namespace palimpsest {
namespace {

const std::string root = "/v1/conversations";

std::string made(Running& site, const std::string& body = "{}") {
    const Told told = site.ask("POST", root, body);
    EXPECT_EQ(told.status(), 200) << told.response.body;
    return told.text("id");
}

std::string user(const std::string& text) {
    return R"({"type":"message","role":"user","content":")" + text + "\"}";
}

// "text text ..." of the data of a list, in its order.
std::string texts(const Told& list) {
    std::string all;
    const auto data = list.document ? list.json().find("data") : std::nullopt;
    if (!data) return list.response.body;
    for (const JsonValue item : data->elements()) {
        const auto content = item.find("content");
        if (!content) {
            all += std::string(item.find("type")->string()) + " ";
            continue;
        }
        for (const JsonValue part : content->elements())
            all += std::string(part.find("text")->string()) + " ";
    }
    return all;
}

std::string first_id(const Told& list) {
    return list.text("first_id");
}

TEST(openai_conversations, are_created_with_items_read_updated_and_erased) {
    Running site;
    const std::string id =
        made(site, R"({"metadata":{"topic":"a","old":"b"},"items":[)" + user("Hello") + "]}");
    EXPECT_TRUE(id.starts_with("conv_"));
    const Told got = site.ask("GET", root + "/" + id);
    EXPECT_EQ(got.text("object"), "conversation");
    EXPECT_GT(got.number("created_at"), 1'700'000'000);
    const Told updated = site.ask("POST", root + "/" + id, R"({"metadata":{"topic":"c"}})");
    EXPECT_EQ(updated.json().find("metadata")->raw(), R"({"topic":"c"})");
    EXPECT_EQ(site.ask("GET", conversations + "/" + id).number("messages"), 1)
        << "one id space with /api/v1";
    const Told gone = site.ask("DELETE", root + "/" + id);
    EXPECT_EQ(gone.text("object"), "conversation.deleted");
    EXPECT_EQ(gone.text("id"), id);
    EXPECT_EQ(site.ask("GET", root + "/" + id).status(), 404);
    EXPECT_EQ(site.ask("GET", conversations + "/" + id).status(), 404);
}

TEST(openai_conversations, refuse_fields_that_they_do_not_know_by_name) {
    Running site;
    const Told told = site.ask("POST", root, R"({"colour":"red"})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "colour");
}

TEST(openai_conversations, name_the_item_that_cannot_be_read) {
    Running site;
    const std::string items = root + "/" + made(site) + "/items";
    const std::string good = user("a"), bad = R"({"role":"user"})";
    EXPECT_EQ(site.ask("POST", items, R"({"items":[]})").error("param"), "items");
    EXPECT_EQ(site.ask("POST", items, "{\"items\":[" + bad + "]}").error("param"),
              "items[0].content");
    const Told second = site.ask("POST", root, "{\"items\":[" + good + "," + bad + "]}");
    EXPECT_EQ(second.error("param"), "items[1].content");
    EXPECT_TRUE(second.error("message").starts_with("items[1].content")) << second.response.body;
}

TEST(openai_conversations, a_repeat_with_the_same_key_makes_one_conversation) {
    Running site;
    const std::string body = "{\"items\":[" + user("once") + "]}";
    const Told first = site.ask("POST", root, body, {{"Idempotency-Key", "k"}});
    const Told again = site.ask("POST", root, body, {{"Idempotency-Key", "k"}});
    EXPECT_EQ(first.text("id"), again.text("id"));
    EXPECT_EQ(texts(site.ask("GET", root + "/" + first.text("id") + "/items")), "once ");
}

TEST(openai_conversations, are_listed_in_pages) {
    Running site;
    std::set<std::string> wanted{made(site), made(site), made(site)}, seen;
    const Told page = site.ask("GET", root + "?limit=2&sort=created");
    EXPECT_EQ(page.text("object"), "list");
    EXPECT_EQ(page.json().find("has_more")->boolean(), true);
    const Told rest = site.ask("GET", root + "?sort=created&after=" + page.text("last_id"));
    EXPECT_EQ(rest.json().find("has_more")->boolean(), false);
    for (const Told* told : {&page, &rest})
        for (const JsonValue row : told->json().find("data")->elements())
            EXPECT_TRUE(seen.emplace(row.find("id")->string()).second);
    EXPECT_EQ(seen, wanted);
}

TEST(openai_items, come_back_with_ids_and_parts_and_the_newest_first) {
    Running site;
    const std::string id = made(site);
    const Told added =
        site.ask("POST", root + "/" + id + "/items?include[]=a&include[]=b",
                 R"({"items":[{"role":"user","content":"one"},{"role":"assistant","content":[)"
                 R"({"type":"output_text","text":"two"}]},)"
                 R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
                 R"({"type":"function_call_output","call_id":"c","output":"three"}]})");
    ASSERT_EQ(added.status(), 200) << added.response.body;
    const JsonValue data = *added.json().find("data");
    ASSERT_EQ(data.size(), 4U);
    const JsonValue first = *data.elements().begin();
    EXPECT_EQ(first.find("type")->string(), "message");
    EXPECT_EQ(first.find("status")->string(), "completed");
    EXPECT_EQ(first.find("content")->raw(), R"([{"type":"input_text","text":"one"}])");
    EXPECT_EQ(added.text("first_id"), std::string(first.find("id")->string()));
    const std::string items = root + "/" + id + "/items";
    EXPECT_EQ(texts(site.ask("GET", items)), "function_call_output function_call two one ");
    EXPECT_EQ(texts(site.ask("GET", items + "?order=asc&limit=2")), "one two ");
    const Told one = site.ask("GET", items + "/" + first_id(added));
    EXPECT_EQ(one.response.body, std::string(first.raw()));
}

TEST(openai_items, page_behind_an_item_in_both_orders) {
    Running site;
    const std::string id = made(site);
    const std::string items = root + "/" + id + "/items";
    std::vector<std::string> ids;
    for (const char* text : {"a", "b", "c", "d"})
        ids.push_back(first_id(site.ask("POST", items, "{\"items\":[" + user(text) + "]}")));
    const Told up = site.ask("GET", items + "?order=asc&limit=2&after=" + ids[0]);
    EXPECT_EQ(texts(up), "b c ");
    EXPECT_EQ(up.json().find("has_more")->boolean(), true);
    const Told down = site.ask("GET", items + "?limit=2&after=" + ids[2]);
    EXPECT_EQ(texts(down), "b a ");
    EXPECT_EQ(down.json().find("has_more")->boolean(), false);
    EXPECT_EQ(site.ask("GET", items + "?after=msg_nonsense").error("param"), "after");
}

TEST(openai_items, are_added_only_behind_the_end_that_the_client_saw) {
    Running site;
    const std::string items = root + "/" + made(site) + "/items";
    const std::string body = "{\"items\":[" + user("a") + "]}";
    const std::string end = site.ask("POST", items, body).header("ETag");
    EXPECT_EQ(site.ask("POST", items, body, {{"If-Match", end}}).status(), 200);
    const Told late = site.ask("POST", items, body, {{"If-Match", end}});
    EXPECT_EQ(late.status(), 409) << late.response.body;
    EXPECT_EQ(late.error("param"), "If-Match");
    EXPECT_EQ(texts(site.ask("GET", items)), "a a ");
}

TEST(openai_items, a_deleted_item_is_gone_and_undo_brings_it_back) {
    Running site;
    const std::string id = made(site, "{\"items\":[" + user("keep") + "," + user("drop") + "]}");
    const std::string items = root + "/" + id + "/items";
    const std::string newest = first_id(site.ask("GET", items + "?limit=1"));
    EXPECT_EQ(site.ask("DELETE", items + "/" + newest).text("object"), "conversation");
    EXPECT_EQ(texts(site.ask("GET", items)), "keep ");
    EXPECT_EQ(site.ask("GET", items + "/" + newest).status(), 404);
    EXPECT_EQ(site.ask("DELETE", items + "/" + newest).status(), 404);
    EXPECT_EQ(texts(site.ask("GET", items + "?after=" + newest)), "keep ");
    EXPECT_EQ(site.ask("POST", conversations + "/" + id + "/undo", "{}").status(), 200);
    EXPECT_EQ(texts(site.ask("GET", items)), "drop keep ");
}

TEST(openai_items, of_another_conversation_are_not_found) {
    Running site;
    const std::string a = made(site, "{\"items\":[" + user("a") + "]}");
    const std::string b = made(site, "{\"items\":[" + user("b") + "]}");
    const std::string item = first_id(site.ask("GET", root + "/" + a + "/items"));
    EXPECT_EQ(site.ask("GET", root + "/" + b + "/items/" + item).status(), 404);
    EXPECT_EQ(site.ask("DELETE", root + "/" + b + "/items/" + item).status(), 404);
    EXPECT_EQ(texts(site.ask("GET", root + "/" + b + "/items")), "b ");
}

TEST(openai_items, of_other_formats_are_shown_as_items) {
    Running site;
    const std::string body =
        R"({"format":"anthropic","messages":[{"role":"user","content":"Weather?"},)"
        R"({"role":"assistant","content":[{"type":"text","text":"I look."},)"
        R"({"type":"tool_use","id":"t1","name":"weather","input":{"city":"Oslo"}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Rain"}]}]})";
    ASSERT_EQ(site.ask("POST", conversations + "/mixed/messages", body).status(), 201);
    const Told list = site.ask("GET", root + "/mixed/items?order=asc");
    EXPECT_EQ(texts(list), "Weather? I look. function_call function_call_output ");
    for (const JsonValue item : list.json().find("data")->elements()) {
        const std::string id(item.find("id")->string());
        EXPECT_EQ(site.ask("GET", root + "/mixed/items/" + id).response.body, item.raw());
    }
}

TEST(openai_conversations, fork_at_an_item_and_share_what_is_before_it) {
    Running site;
    const std::string id = made(site, "{\"items\":[" + user("a") + "," + user("b") + "]}");
    const Told list = site.ask("GET", root + "/" + id + "/items?order=asc");
    const Told fork =
        site.ask("POST", root + "/" + id + "/fork", "{\"at\":\"" + first_id(list) + "\"}");
    ASSERT_EQ(fork.status(), 200) << fork.response.body;
    const std::string items = root + "/" + fork.text("id") + "/items";
    site.ask("POST", items, "{\"items\":[" + user("c") + "]}");
    EXPECT_EQ(texts(site.ask("GET", items + "?order=asc")), "a c ");
    EXPECT_EQ(texts(site.ask("GET", root + "/" + id + "/items?order=asc")), "a b ");
    EXPECT_EQ(site.ask("GET", items + "/" + first_id(list)).status(), 200) << "an inherited item";
}

TEST(openai_items, references_to_items_become_those_items) {
    Running site;
    const std::string a = made(site, "{\"items\":[" + user("said once") + "]}");
    const std::string item = first_id(site.ask("GET", root + "/" + a + "/items"));
    const std::string b = made(site);
    const std::string items = root + "/" + b + "/items";
    const auto reference = [](const std::string& id) {
        return R"({"items":[{"type":"item_reference","id":")" + id + "\"}]}";
    };
    EXPECT_EQ(texts(site.ask("POST", items, reference(item))), "said once ");
    const Told unknown = site.ask("POST", items, reference("msg_unknown"));
    EXPECT_EQ(unknown.status(), 404);
    EXPECT_EQ(unknown.error("param"), "input");
}

}  // namespace
}  // namespace palimpsest
