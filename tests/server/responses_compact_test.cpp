// What /v1/responses/compact gives, and what it becomes when it comes back.
#include "server/responses.h"

namespace palimpsest {
namespace {

TEST(responses_compact, gives_what_the_user_said_and_one_compaction) {
    Behind site;
    const Told told =
        site.ask("POST", root + "/compact",
                 R"({"model":"m","input":[{"role":"user","content":"My cat is Tom."},)"
                 R"({"role":"assistant","content":"A fine name for a cat is Tom."},)"
                 R"({"role":"user","content":"And my dog is Rex."},)"
                 R"({"role":"assistant","content":"Rex is a fine dog."}]})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.text("object"), "response.compaction");
    std::string types;
    for (const JsonValue item : told.json().find("output")->elements())
        types += std::string(item.find("type")->string()) + " ";
    EXPECT_EQ(types, "message message compaction ");
    site.upstream.add(chat_reply("Tom"));
    const std::string output(told.json().find("output")->raw());
    const Told next = site.say("\"input\":" + output.substr(0, output.size() - 1) +
                               R"(,{"role":"user","content":"My cat?"}])");
    EXPECT_EQ(output_text(next), "Tom") << next.response.body;
    const std::string sent = site.upstream.requests().at(0).body;
    EXPECT_NE(sent.find("Rex is a fine dog."), sent.npos) << sent;
    EXPECT_EQ(site.ask("GET", conversations).json().find("data")->size(), 1U) << "no scratch stays";
}

std::string words(const std::string& role, const std::string& text) {
    return R"({"role":")" + role + R"(","content":")" + text + "\"}";
}

// What the last request said to a model of Chat Completions.
std::string heard(Behind& site) {
    const std::string body = site.upstream.requests().back().body;
    const auto request = parse_json(body);
    std::string all;
    for (const JsonValue message : request->root().find("messages")->elements())
        all += std::string(message.find("role")->string()) + ": " +
               std::string(message.find("content")->string()) + "|";
    return all;
}

std::vector<std::string> compacted(Behind& site, const std::string& items) {
    const Told told = site.ask("POST", root + "/compact", "{\"input\":[" + items + "]}");
    EXPECT_EQ(told.status(), 200) << told.response.body;
    std::vector<std::string> output;
    for (const JsonValue item : told.json().find("output")->elements())
        output.emplace_back(item.raw());
    return output;
}

TEST(responses_compact, has_what_the_user_said_also_for_a_client_that_cuts_it_off) {
    Behind site;
    const std::vector<std::string> output =
        compacted(site, words("user", "My door code is 4711.") + "," +
                            words("user", "My cat is Tom.") + "," + words("assistant", "ok"));
    ASSERT_EQ(output.size(), 3U);
    const std::string all = output[0] + "," + output[1] + "," + output[2];
    for (const std::string& back : {all, output[1] + "," + output[2], output[2]})
        for (const char* more : {"", R"(,"store":false)"}) {
            site.upstream.add(chat_reply("4711"));
            site.say("\"input\":[" + back + "," + words("user", "What is it?") + "]" + more);
            EXPECT_EQ(heard(site),
                      "user: My door code is 4711.|user: My cat is Tom.|assistant: ok|"
                      "user: What is it?|");
        }
}

TEST(responses_compact, tells_the_same_words_said_twice_as_often_as_they_were_said) {
    Behind site;
    const std::vector<std::string> output =
        compacted(site, words("user", "yes") + "," + words("assistant", "Sure?") + "," +
                            words("user", "yes") + "," + words("assistant", "done"));
    for (const std::string& back : {output[0] + "," + output[1] + "," + output[2], output[2]}) {
        site.upstream.add(chat_reply("ok"));
        site.say("\"input\":[" + back + "," + words("user", "yes") + "]");
        const std::string all = heard(site);
        EXPECT_TRUE(all.starts_with("user: yes|user: yes|")) << all;
        EXPECT_TRUE(all.ends_with("assistant: done|user: yes|")) << all;
    }
}

TEST(responses_compact, folds_what_was_compacted_before) {
    Behind site;
    const std::vector<std::string> first =
        compacted(site, words("user", "one") + "," + words("assistant", "ok"));
    const std::vector<std::string> second =
        compacted(site, first.back() + "," + words("user", "two") + "," + words("assistant", "so"));
    site.upstream.add(chat_reply("three"));
    site.say("\"input\":[" + second.back() + "," + words("user", "three") + "]");
    const std::string all = heard(site);
    EXPECT_TRUE(all.starts_with("user: one|")) << all;
    EXPECT_TRUE(all.contains("|user: two|") && all.ends_with("|user: three|")) << all;
}

}  // namespace
}  // namespace palimpsest
