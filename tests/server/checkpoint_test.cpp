// Checkpoints by id and in lists, going back, and clearing what a header says.
#include <gtest/gtest.h>

#include "server/running.h"

namespace palimpsest {
namespace {

const std::string checkpoints = "/api/v1/checkpoints/";

void say(const Running& running, const std::string& id, int count) {
    for (int i = 0; i < count; ++i)
        running.ask("POST", conversations + "/" + id + "/messages",
                    R"({"messages":[{"role":"user","content":"hello"}]})");
}

TEST(checkpoint, is_found_by_its_id_alone) {
    const Running running;
    say(running, "a", 2);
    const Told made = running.ask("POST", conversations + "/a/checkpoints",
                                  R"({"name":"here","metadata":{"k":"v"}})");
    const Told found = running.ask("GET", checkpoints + made.text("id"));
    ASSERT_EQ(found.status(), 200) << found.response.body;
    EXPECT_EQ(found.text("conversation_id"), "a");
    EXPECT_EQ(found.text("name"), "here");
    EXPECT_EQ(found.number("seq"), 3);
    EXPECT_EQ(found.json().find("metadata")->raw(), R"({"k":"v"})");
    const std::string log = made.text("id").substr(0, made.text("id").size() - 1);
    for (const std::string& id : {log + "1", log + "9", std::string("ckpt_"), std::string("here"),
                                  "ckpt_" + std::string(32, '0') + "3"})
        EXPECT_EQ(running.ask("GET", checkpoints + id).status(), 404) << id;
}

TEST(checkpoint, of_another_tenant_is_not_there) {
    Running running;
    const ConversationId theirs{"other", "a"};
    ASSERT_TRUE(running.memory().append(theirs, {.messages = R"({"role":"user","content":"x"})"}));
    const Result<Checkpoint> made = running.memory().checkpoint(theirs, "secret");
    ASSERT_TRUE(made);
    EXPECT_EQ(running.ask("GET", checkpoints + made->id).status(), 404);
}

TEST(checkpoint, outlives_its_conversation_where_a_fork_shares_it) {
    const Running running;
    say(running, "a", 1);
    const std::string id =
        running.ask("POST", conversations + "/a/checkpoints", R"({"name":"here"})").text("id");
    running.ask("POST", conversations + "/a/fork", R"({"id":"b"})");
    running.ask("DELETE", conversations + "/a");
    const Told found = running.ask("GET", checkpoints + id);
    ASSERT_EQ(found.status(), 200) << found.response.body;
    EXPECT_TRUE(found.json().find("conversation_id")->is_null());
    running.ask("DELETE", conversations + "/b");
    EXPECT_EQ(running.ask("GET", checkpoints + id).status(), 404);
}

TEST(checkpoint_list, filters_by_metadata_and_turns_round) {
    const Running running;
    say(running, "a", 1);
    const std::string path = conversations + "/a/checkpoints";
    running.ask("POST", path, R"({"name":"one","metadata":{"by":"ann"}})");
    running.ask("POST", path, R"({"name":"two","metadata":{"by":"bob"}})");
    running.ask("POST", path, R"({"name":"three","metadata":{"by":"ann"}})");
    const auto names = [&](const std::string& query) {
        std::string all;
        const Told told = running.ask("GET", path + query);
        if (told.status() != 200) return told.response.body;
        for (const JsonValue row : told.json().find("data")->elements())
            all += std::string(row.find("name")->string()) + " ";
        return all;
    };
    EXPECT_EQ(names(""), "one two three ");
    EXPECT_EQ(names("?order=desc"), "three two one ");
    EXPECT_EQ(names("?metadata.by=ann"), "one three ");
    EXPECT_EQ(names("?metadata.by=ann&order=desc&limit=1"), "three ");
}

TEST(rewind, hides_what_came_after_and_can_be_undone) {
    const Running running;
    say(running, "a", 4);
    const auto shown = [&] {
        return running.ask("GET", conversations + "/a/view").json().find("items")->size();
    };
    const Told told = running.ask("POST", conversations + "/a/rewind", R"({"to":2,"reason":"r"})");
    EXPECT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.number("seq"), 5);
    EXPECT_EQ(shown(), 2u);
    running.ask("POST", conversations + "/a/undo");
    EXPECT_EQ(shown(), 4u);
    EXPECT_EQ(running.ask("POST", conversations + "/a/rewind", "{}").error("param"), "to");
    EXPECT_GE(running.ask("POST", conversations + "/a/rewind", R"({"to":99})").status(), 400);
}

TEST(patch, clears_with_null) {
    const Running running;
    running.ask("POST", conversations,
                R"({"id":"a","owner":"ann","title":"T","system_prompt":"S","metadata":{"k":1,)"
                R"("l":2},"policy":{"passes":[{"pass":"keep_last","messages":2}]}})");
    const Told told = running.ask("PATCH", conversations + "/a",
                                  R"({"owner":null,"title":null,"system_prompt":null,)"
                                  R"("policy":null,"metadata":{"k":null}})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    for (const char* field : {"owner", "title", "system_prompt"}) EXPECT_EQ(told.text(field), "");
    EXPECT_TRUE(told.json().find("policy")->is_null());
    EXPECT_EQ(told.json().find("metadata")->raw(), R"({"l":2})");
    const Told bare = running.ask("PATCH", conversations + "/a", R"({"metadata":null})");
    ASSERT_EQ(bare.status(), 200) << bare.response.body;
    EXPECT_EQ(bare.json().find("metadata")->raw(), "{}");
}

}  // namespace
}  // namespace palimpsest
