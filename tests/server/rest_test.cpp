// What clients rely on: errors that help, repeats that are harmless, pages that do not skip.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "server/running.h"

namespace palimpsest {
namespace {

const std::string hello = R"({"messages":[{"role":"user","content":"hello"}]})";

std::vector<std::string> ids_of(const Told& told) {
    std::vector<std::string> ids;
    if (!told.document) return ids;
    for (const JsonValue row : told.json().find("data")->elements())
        ids.emplace_back(row.find("id") ? row.find("id")->string() : row.find("seq")->raw());
    return ids;
}

using Ids = std::vector<std::string>;

TEST(rest, names_how_durable_its_store_is) {
    const TemporaryFolder folder;
    const Running running("sqlite:" + folder.path() + "/a.db");
    const Told ready = running.ask("GET", "/readyz");
    const auto store = ready.json().find("store");
    ASSERT_TRUE(store);
    EXPECT_EQ(store->find("survives_power_cut")->boolean(), true);
    EXPECT_EQ(ready.text("model"), "echo");
}

TEST(rest, gives_a_conversation_without_an_id_one) {
    const Running running;
    const Told made = running.ask("POST", conversations, R"({"owner":"ann"})");
    EXPECT_EQ(made.status(), 201);
    EXPECT_TRUE(made.text("id").starts_with("conv_"));
    EXPECT_EQ(made.text("id").size(), 5u + 32u);
    EXPECT_EQ(running.ask("GET", conversations + "/" + made.text("id")).text("owner"), "ann");
}

TEST(rest, refuses_to_create_what_is_there) {
    const Running running;
    running.ask("POST", conversations, R"({"id":"a"})");
    const Told again = running.ask("POST", conversations, R"({"id":"a"})");
    EXPECT_EQ(again.status(), 409);
    EXPECT_EQ(again.error("param"), "id");
    EXPECT_EQ(again.header("x-should-retry"), "false");
}

TEST(rest, a_page_behind_a_conversation_that_is_gone_names_next_which_stays_good) {
    const Running running;
    for (const char* id : {"a", "b", "c"})
        running.ask("POST", conversations, R"({"id":")" + std::string(id) + R"("})");
    const Told page = running.ask("GET", conversations + "?limit=1&sort=created");
    running.ask("DELETE", conversations + "/" + page.text("last_id"));
    const Told told =
        running.ask("GET", conversations + "?sort=created&after=" + page.text("last_id"));
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "after");
    EXPECT_NE(told.error("message").find("`next`"), std::string::npos) << told.error("message");
    const Told rest =
        running.ask("GET", conversations + "?sort=created&after=" + page.text("next"));
    EXPECT_EQ(ids_of(rest).size(), 2U);
}

TEST(rest, refuses_to_recall_a_range_that_ends_before_it_begins) {
    const Running running;
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"x"}]})");
    const Told told = running.ask("GET", conversations + "/a/recall/5..1");
    EXPECT_EQ(told.status(), 400) << told.response.body;
    EXPECT_EQ(told.error("param"), "call_id");
}

TEST(rest, keeps_messages_byte_for_byte) {
    const Running running;
    const std::string message = R"({ "role":"user" , "content":"caf\u00e9 \ud83d", "x":1.50e1 })";
    const Told written =
        running.ask("POST", conversations + "/a/messages", "{\"messages\":[" + message + "]}");
    EXPECT_EQ(written.status(), 201) << written.response.body;
    const Told read = running.ask("GET", conversations + "/a/messages");
    EXPECT_NE(read.response.body.find(message), std::string::npos) << read.response.body;
}

TEST(rest, pages_through_conversations_both_ways) {
    const Running running;
    for (const char* id : {"a", "b", "c", "d", "e"}) {
        running.ask("POST", conversations, std::string(R"({"id":")") + id + "\"}");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // times have milliseconds
    }
    const std::string base = conversations + "?sort=created&order=asc&limit=2";
    const Told first = running.ask("GET", base);
    EXPECT_EQ(ids_of(first), (Ids{"a", "b"}));
    EXPECT_EQ(first.json().find("has_more")->boolean(), true);
    EXPECT_EQ(first.text("first_id"), "a");
    EXPECT_EQ(first.text("last_id"), "b");
    const Told second = running.ask("GET", base + "&after=" + first.text("last_id"));
    EXPECT_EQ(ids_of(second), (Ids{"c", "d"}));
    EXPECT_EQ(ids_of(running.ask("GET", base + "&after=" + percent_encode(first.text("next")))),
              (Ids{"c", "d"}));
    const Told last = running.ask("GET", base + "&after=d");
    EXPECT_EQ(ids_of(last), (Ids{"e"}));
    EXPECT_EQ(last.json().find("has_more")->boolean(), false);
    EXPECT_EQ(ids_of(running.ask("GET", base + "&before=e")), (Ids{"c", "d"}));
    EXPECT_EQ(running.ask("GET", base + "&after=nowhere").status(), 400);
}

TEST(rest, filters_conversations_by_owner_and_metadata) {
    const Running running;
    running.ask("POST", conversations, R"({"id":"a","owner":"ann","metadata":{"t":"x"}})");
    running.ask("POST", conversations, R"({"id":"b","owner":"bob","metadata":{"t":"x"}})");
    running.ask("POST", conversations, R"({"id":"c","owner":"ann","metadata":{"t":"y"}})");
    EXPECT_EQ(ids_of(running.ask("GET", conversations + "?owner=ann&metadata.t=x")), (Ids{"a"}));
    EXPECT_TRUE(ids_of(running.ask("GET", conversations + "?metadata.t=%27%20OR%201")).empty());
}

TEST(rest, merges_metadata_and_clears_with_null) {
    const Running running;
    running.ask("POST", conversations, R"({"id":"a","metadata":{"x":1,"y":2},"ttl":"1h"})");
    const Told patched =
        running.ask("PATCH", conversations + "/a", R"({"metadata":{"x":null,"z":3},"ttl":null})");
    EXPECT_EQ(patched.json().find("metadata")->raw(), R"({"y":2,"z":3})");
    EXPECT_TRUE(patched.json().find("ttl_ms")->is_null());
}

TEST(rest, patches_only_the_revision_or_the_end_that_was_seen) {
    const Running running;
    running.ask("POST", conversations + "/a/messages", hello);
    const std::string one = conversations + "/a";
    EXPECT_EQ(running.ask("PATCH", one, R"({"title":"1"})", {{"If-Match", "\"1\""}}).status(), 200);
    const Told stale = running.ask("PATCH", one, R"({"title":"2"})", {{"If-Match", "\"0\""}});
    EXPECT_EQ(stale.status(), 409);
    EXPECT_EQ(stale.error("param"), "If-Match");
    const auto refused = [&](const Told& told) {
        EXPECT_EQ(told.status(), 409) << told.response.body;
        EXPECT_EQ(told.error("param"), "If-Match") << told.response.body;
    };
    const std::vector<std::pair<std::string, std::string>> old = {{"If-Match", "\"0\""}};
    refused(running.ask("PATCH", one, "{}", old));
    refused(running.ask("PATCH", one + "/memory", R"({"mode":"trim"})", old));
    refused(running.ask("POST", one + "/compact?preview=1", R"({"policy":"balanced"})", old));
    refused(running.ask("POST", one + "/fork", R"({"id":"late"})", old));
    EXPECT_EQ(running.ask("GET", conversations + "/late").status(), 404);
    EXPECT_EQ(
        running.ask("PATCH", one + "/memory", R"({"mode":"trim"})", {{"If-Match", "1"}}).status(),
        200);
    EXPECT_EQ(running.ask("POST", one + "/fork", R"({"id":"now"})", {{"If-Match", "1"}}).status(),
              201);
    const std::int64_t revision = running.ask("GET", one).number("revision");
    const std::string body = R"({"title":"3","revision":)" + std::to_string(revision) + "}";
    EXPECT_EQ(running.ask("PATCH", one, body).status(), 200);
    EXPECT_EQ(running.ask("PATCH", one, body).status(), 409);
    EXPECT_EQ(running.ask("GET", one).text("title"), "3");
}

TEST(rest, pages_through_a_log) {
    const Running running;
    for (int i = 1; i <= 5; ++i) running.ask("POST", conversations + "/a/messages", hello);
    const std::string list = conversations + "/a/messages";
    EXPECT_EQ(ids_of(running.ask("GET", list + "?last=2")), (Ids{"4", "5"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?limit=2&after=2")), (Ids{"3", "4"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?limit=2&before=4")), (Ids{"2", "3"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?limit=2&order=desc")), (Ids{"5", "4"}));
    const Told newest = running.ask("GET", list + "?limit=2&order=desc&after=4");
    EXPECT_EQ(ids_of(newest), (Ids{"3", "2"}));
    EXPECT_TRUE(*newest.json().find("has_more")->boolean());
    EXPECT_EQ(ids_of(running.ask("GET", list + "?limit=2&order=desc&after=2")), (Ids{"1"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?limit=2&order=desc&before=2")), (Ids{"4", "3"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?order=desc&after=5&before=2")), (Ids{"4", "3"}));
    EXPECT_EQ(ids_of(running.ask("GET", list + "?order=desc&last=2")), (Ids{"5", "4"}));
    EXPECT_TRUE(ids_of(running.ask("GET", list + "?last=0")).empty());
    EXPECT_TRUE(ids_of(running.ask("GET", list + "?after=5")).empty());
    EXPECT_TRUE(ids_of(running.ask("GET", list + "?after=9007199254740991")).empty());
    EXPECT_EQ(running.ask("GET", list + "?after=x").status(), 400);
    EXPECT_EQ(ids_of(running.ask("GET", conversations + "/a/log?kind=pin")), Ids{});
    EXPECT_EQ(running.ask("GET", conversations + "/a/log?kind=pni").status(), 400);
}

TEST(rest, compares_the_end_that_the_client_saw) {
    const Running running;
    const std::string list = conversations + "/a/messages";
    const Told first = running.ask("POST", list, hello, {{"If-Match", "0"}});
    EXPECT_EQ(first.status(), 201);
    EXPECT_EQ(first.header("ETag"), "\"1\"");
    const Told late = running.ask("POST", list, hello, {{"If-Match", "\"0\""}});
    EXPECT_EQ(late.status(), 409);
    EXPECT_EQ(late.error("param"), "If-Match");
    EXPECT_EQ(late.header("x-should-retry"), "false");
    EXPECT_EQ(running.ask("POST", list, hello, {{"If-Match", first.header("ETag")}}).status(), 201);
    EXPECT_EQ(running.ask("GET", conversations + "/a").header("ETag"), "\"2\"");
    EXPECT_EQ(running.ask("POST", list, hello, {{"If-Match", "x"}}).status(), 400);
    EXPECT_EQ(running.ask("DELETE", conversations + "/a", "", {{"If-Match", "2"}}).status(), 400);
}

TEST(rest, repeats_an_append_with_the_same_key_without_writing_twice) {
    const Running running;
    const std::string list = conversations + "/a/messages";
    const Told first = running.ask("POST", list, hello, {{"Idempotency-Key", "k1"}});
    const Told again = running.ask("POST", list, hello, {{"Idempotency-Key", "k1"}});
    EXPECT_EQ(again.status(), 201);
    EXPECT_EQ(again.response.body, first.response.body);
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    const Told other = running.ask("POST", list, R"({"messages":[{"role":"user","content":"x"}]})",
                                   {{"Idempotency-Key", "k1"}});
    EXPECT_EQ(other.status(), 422);
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 1);
    for (const std::string& bad : {std::string("a b"), std::string(300, 'k')})
        EXPECT_EQ(running.ask("POST", list, hello, {{"Idempotency-Key", bad}}).status(), 400);
}

struct Post {
    std::string_view path, body, other;
};
constexpr Post edits[] = {
    {"/a/checkpoints", R"({"name":"n"})", R"({"name":"m"})"},
    {"/a/pins", R"({"seq":"last"})", R"({"seq":1})"},
    {"/a/retract", R"({"from":2})", R"({"from":3})"},
    {"/a/undo", "", R"({"seq":1})"},
    {"/a/rewind", R"({"to":3})", R"({"to":2})"},
    {"/a/compact", R"({"policy":{"passes":[{"pass":"keep_last","messages":1}]}})",
     R"({"policy":{"passes":[{"pass":"keep_last","messages":2}]}})"},
    {"/a/fork", R"({})", R"({"at":1})"},
    {"/a/scrub", R"({"seqs":[1]})", R"({"seqs":[2]})"},
    {"", R"({"owner":"x"})", R"({"owner":"y"})"},
};

void repeat_every_edit(std::string_view store) {
    const Running running(store);
    for (int i = 0; i < 4; ++i) running.ask("POST", conversations + "/a/messages", hello);
    for (const Post& post : edits) {
        const std::string path = conversations + std::string(post.path);
        const HeaderFields key = {{"Idempotency-Key", "key-1"}};
        const Told first = running.ask("POST", path, std::string(post.body), key);
        EXPECT_LT(first.status(), 300) << path << first.response.body;
        const std::int64_t end = running.ask("GET", conversations + "/a").number("seq");
        const Told again = running.ask("POST", path, std::string(post.body), key);
        EXPECT_EQ(again.status(), first.status()) << path;
        EXPECT_EQ(again.response.body, first.response.body) << path;
        EXPECT_EQ(again.header("Idempotent-Replayed"), "true") << path;
        EXPECT_EQ(running.ask("GET", conversations + "/a").number("seq"), end) << path;
        const Told other = running.ask("POST", path, std::string(post.other), key);
        EXPECT_EQ(other.status(), 422) << path << other.response.body;
        EXPECT_EQ(other.error("param"), "Idempotency-Key") << path;
    }
}

TEST(rest, repeats_every_edit_with_the_same_key_without_doing_it_twice) {
    repeat_every_edit("memory:");
}

TEST(rest, repeats_every_edit_also_over_sqlite) {
    const TemporaryFolder folder;
    repeat_every_edit("sqlite:" + folder.path() + "/a.db");
}

TEST(rest, does_not_tell_again_what_was_scrubbed) {
    const Running running;
    const std::string secret =
        R"({"messages":[{"role":"user","content":"s3cret"},{"role":"user","content":"b"}]})";
    running.ask("POST", conversations + "/a/messages", secret, {{"Idempotency-Key", "k"}});
    const HeaderFields key = {{"Idempotency-Key", "c"}};
    const std::string policy = R"({"policy":{"passes":[{"pass":"keep_last","messages":1}]}})";
    running.ask("POST", conversations + "/a/compact", policy, key);
    running.ask("POST", conversations + "/a/scrub", R"({"seqs":[1]})");
    for (const Told& told : {running.ask("GET", conversations + "/a/log"),
                             running.ask("GET", conversations + "/a/view"),
                             running.ask("POST", conversations + "/a/compact", policy, key)})
        EXPECT_EQ(told.response.body.find("s3cret"), std::string::npos) << told.response.body;
}

TEST(rest, gives_the_view_as_a_list_to_send_in_each_format) {
    const Running running;
    const std::string said =
        R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]})";
    running.ask("POST", conversations + "/a/messages", said);
    const std::string view = conversations + "/a/view?format=";
    EXPECT_EQ(running.ask("GET", view + "openai_chat").response.body,
              R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
    const Told anthropic = running.ask("GET", view + "anthropic");
    EXPECT_EQ(anthropic.status(), 200) << anthropic.response.body;
    EXPECT_EQ(anthropic.text("system"), "Be brief.");
    EXPECT_EQ(anthropic.json().find("messages")->size(), 1u);
    EXPECT_EQ(running.ask("GET", view + "openai_responses").json().size(), 2u);
    EXPECT_EQ(running.ask("GET", view + "openai").status(), 400);
    running.ask("POST", conversations, R"({"id":"empty"})");
    EXPECT_EQ(running.ask("GET", conversations + "/empty/view?format=anthropic").response.body,
              "[]");
}

TEST(rest, explains_what_a_view_leaves_out) {
    const Running running;
    for (int i = 0; i < 3; ++i) running.ask("POST", conversations + "/a/messages", hello);
    running.ask("POST", conversations + "/a/retract", R"({"from":2,"reason":"off topic"})");
    const Told told = running.ask("GET", conversations + "/a/view?explain=1");
    const auto left_out = told.json().find("left_out");
    ASSERT_TRUE(left_out && left_out->size() == 1) << told.response.body;
    const JsonValue part = *left_out->elements().begin();
    EXPECT_EQ(part.find("from")->integer(), 2);
    EXPECT_EQ(part.find("by")->integer(), 4);
    EXPECT_FALSE(running.ask("GET", conversations + "/a/view").json().find("left_out"));
}

TEST(rest, reports_what_it_repaired_to_make_a_view_sendable) {
    const Running running;
    running.ask("POST", conversations + "/a/messages",
                R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant",)"
                R"("content":null,"tool_calls":[{"id":"c1","type":"function","function":)"
                R"({"name":"f","arguments":"{}"}}]},{"role":"user","content":"well?"}]})");
    const Told told = running.ask("GET", conversations + "/a/view?format=openai_chat");
    EXPECT_EQ(told.status(), 200) << told.response.body;
    EXPECT_NE(told.header("x-warnings"), "");
    EXPECT_EQ(told.json().size(), 4u) << told.response.body;
}

TEST(rest, finishes_a_turn_once) {
    const Running running;
    const Told begun = running.ask("POST", conversations + "/a/begin", R"({"message":"hi"})");
    EXPECT_EQ(begun.json().find("view")->find("items")->size(), 1u);
    const auto finish = [&](std::string_view answer) {
        return running.ask("POST", conversations + "/a/finish",
                           R"({"turn_id":")" + begun.text("turn_id") +
                               R"(","message":{"role":"assistant","content":")" +
                               std::string(answer) + "\"}}");
    };
    const Told first = finish("yes");
    EXPECT_EQ(first.status(), 200) << first.response.body;
    EXPECT_EQ(finish("yes").response.body, first.response.body);
    EXPECT_EQ(finish("no").status(), 422);
    EXPECT_EQ(running.ask("GET", conversations + "/a").number("messages"), 2);
}

}  // namespace
}  // namespace palimpsest
