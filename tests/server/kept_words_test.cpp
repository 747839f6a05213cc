// What was scrubbed or erased is not told by anything that the server keeps beside the log, and no
// byte of it stays in the store.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "server/gateway.h"
#include "server/kept_words.h"
#include "server/responses.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;
const std::string completions = "/v1/chat/completions";

std::string records_of(Store& store) {
    std::string all;
    for (const std::string_view space :
         {event_space, completion_space, log_completion_space, std::string_view("idempotency")}) {
        const auto records = store.list_records({"default", std::string(space)});
        for (const Record& record : *records) all += record.key.key + " " + record.value + "\n";
    }
    return all;
}

std::string id_in_stream(const Told& told) {
    const auto events = events_of(told.response.body);
    const auto first = parse_json(events.front().data);
    return std::string(first->root().find("response")->find("id")->string());
}

// A streamed response whose answer is a secret; its id, once its events are kept.
std::string told_secret(Gateway& gateway) {
    gateway.upstream.add(tells(chat_format, "the secret word"));
    const Told told =
        gateway.post(root, R"({"model":"m","input":"tell me the secret","stream":true})");
    const std::string id = id_in_stream(told);
    for (int i = 0; i < 1000 && !records_of(gateway.memory.store()).contains("completed"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(gateway.get(root + "/" + id + "?stream=true").response.body.contains("secret"));
    return id;
}

std::string conversation_of_response(const Gateway& gateway, const std::string& id) {
    return conversation_of(gateway.get(root + "/" + id));
}

TEST(kept_words, the_events_of_a_response_go_with_a_scrub) {
    Gateway gateway(chat_format);
    const std::string id = told_secret(gateway);
    const std::string name = conversation_of_response(gateway, id);
    EXPECT_EQ(gateway.post(conversations + "/" + name + "/scrub", R"({"seqs":[1,3]})").status(),
              200);
    const Told again = gateway.get(root + "/" + id + "?stream=true");
    EXPECT_EQ(again.status(), 200);
    EXPECT_FALSE(again.response.body.contains("secret")) << again.response.body;
    EXPECT_TRUE(again.response.body.contains("response.completed"));
    EXPECT_FALSE(records_of(gateway.memory.store()).contains("secret"));
}

TEST(kept_words, the_events_of_a_response_are_not_told_after_a_scrub_by_the_library) {
    Gateway gateway(chat_format);
    const std::string id = told_secret(gateway);
    const std::string name = conversation_of_response(gateway, id);
    ASSERT_TRUE(gateway.memory.scrub({"default", name}, {Seq{1}, Seq{3}}));
    EXPECT_FALSE(gateway.get(root + "/" + id + "?stream=true").response.body.contains("secret"));
}

TEST(kept_words, the_events_of_the_last_response_go_with_it_however_soon) {
    Gateway gateway(chat_format);
    gateway.upstream.add(tells(chat_format, "the secret word"));
    const Told told = gateway.post(root, R"({"model":"m","input":"tell","stream":true})");
    const std::string id = id_in_stream(told);
    HttpClient client = gateway.client();
    EXPECT_EQ(Running::ask(client, "DELETE", root + "/" + id).status(), 200);
    gateway.server->stop(std::chrono::milliseconds(0));  // The keeper has written all it will.
    EXPECT_FALSE(records_of(gateway.memory.store()).contains("secret"))
        << records_of(gateway.memory.store());
}

// A completion that was asked in a conversation; its id.
std::string stored_secret(Gateway& gateway, const HeaderFields& headers = in_alice) {
    gateway.upstream.add(says(chat_format, "the secret word"));
    return gateway
        .chat(R"({"role":"user","content":"tell me the secret"})", headers, R"("store":true)")
        .text("id");
}

TEST(kept_words, a_stored_completion_goes_with_a_scrub_of_its_conversation) {
    Gateway gateway(chat_format);
    const std::string id = stored_secret(gateway);
    EXPECT_EQ(gateway.get(completions + "/" + id).status(), 200);
    EXPECT_EQ(gateway.post(conversations + "/alice/scrub", R"({"seqs":[1,3]})").status(), 200);
    EXPECT_EQ(gateway.get(completions + "/" + id).status(), 404);
    EXPECT_EQ(gateway.get(completions + "/" + id + "/messages").status(), 404);
    EXPECT_EQ(gateway.get(completions).json().find("data")->size(), 0u);
    EXPECT_EQ(records_of(gateway.memory.store()), "");
}

TEST(kept_words, a_stored_completion_goes_with_its_conversation) {
    Gateway gateway(chat_format);
    const std::string id = stored_secret(gateway);
    HttpClient client = gateway.client();
    EXPECT_EQ(Running::ask(client, "DELETE", conversations + "/alice").status(), 200);
    EXPECT_EQ(gateway.get(completions + "/" + id).status(), 404);
    EXPECT_EQ(records_of(gateway.memory.store()), "");
}

TEST(kept_words, a_stored_completion_is_not_told_after_the_library_has_erased_its_conversation) {
    Gateway gateway(chat_format);
    const std::string id = stored_secret(gateway);
    ASSERT_TRUE(gateway.memory.erase({"default", "alice"}));
    EXPECT_EQ(gateway.get(completions).json().find("data")->size(), 0u);
    EXPECT_EQ(gateway.get(completions + "/" + id).status(), 404);
    EXPECT_EQ(records_of(gateway.memory.store()), "");
}

// Expiry tells nobody whose words went.
TEST(kept_words, a_stored_completion_of_a_conversation_that_is_gone_is_found_by_who_sweeps) {
    Gateway gateway(chat_format);
    stored_secret(gateway);
    const std::string bob = stored_secret(gateway, {{"X-Conversation-Id", "bob"}});
    ASSERT_TRUE(gateway.memory.store().erase({"default", "alice"}));
    ASSERT_TRUE(purge_gone(gateway.memory.store()));
    const auto left = gateway.memory.store().list_records({"default", "chat_completions"});
    ASSERT_EQ(left->size(), 1U);
    EXPECT_EQ(left->front().key.key, bob);
}

TEST(kept_words, a_scrub_in_a_fork_reaches_what_is_kept_of_the_conversation_before_it) {
    Gateway gateway(chat_format);
    const std::string id = stored_secret(gateway);
    ASSERT_EQ(gateway.post(conversations + "/alice/fork", R"({"id":"child"})").status(), 201);
    EXPECT_EQ(gateway.post(conversations + "/child/scrub", R"({"seqs":[1]})").status(), 200);
    EXPECT_EQ(gateway.get(completions + "/" + id).status(), 404);
    EXPECT_EQ(records_of(gateway.memory.store()), "");
}

TEST(kept_words, completions_of_other_conversations_and_of_none_stay) {
    Gateway gateway(chat_format);
    const std::string bob = stored_secret(gateway, {{"X-Conversation-Id", "bob"}});
    const std::string none = stored_secret(gateway, {});
    stored_secret(gateway);
    EXPECT_EQ(gateway.post(conversations + "/alice/scrub", R"({"seqs":[1]})").status(), 200);
    EXPECT_EQ(gateway.get(completions + "/" + bob).status(), 200);
    EXPECT_EQ(gateway.get(completions + "/" + none).status(), 200);
    EXPECT_EQ(gateway.get(completions).json().find("data")->size(), 2u);
}

TEST(kept_words, no_byte_of_a_stored_completion_stays_in_the_file) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/s.db";
    {
        Gateway gateway(chat_format, {}, {}, "sqlite:" + file);
        stored_secret(gateway);
        EXPECT_EQ(gateway.post(conversations + "/alice/scrub", R"({"seqs":[1,3]})").status(), 200);
    }
    std::ostringstream bytes;
    for (const std::string& one : {file, file + "-wal"})
        bytes << std::ifstream(one, std::ios::binary).rdbuf();
    EXPECT_FALSE(bytes.str().contains("secret"));
}

TEST(stored_completions, a_repeat_by_its_key_has_the_first_ones_name_and_is_kept_once) {
    Gateway gateway(chat_format, {says(chat_format, "yes")});
    const HeaderFields keyed = {{"X-Conversation-Id", "alice"}, {"Idempotency-Key", "k"}};
    const std::string question = R"({"role":"user","content":"a"})";
    const Told first = gateway.chat(question, keyed, R"("store":true)");
    const Told again = gateway.chat(question, keyed, R"("store":true)");
    EXPECT_EQ(chat_text(again), "yes");
    for (const std::string_view field : {"id", "model"})
        EXPECT_EQ(again.text(field), first.text(field));
    EXPECT_EQ(again.number("created"), first.number("created"));
    EXPECT_EQ(gateway.get(completions).json().find("data")->size(), 1u);
}

TEST(stored_completions, are_listed_by_the_name_that_was_asked_for_too) {
    Gateway gateway(chat_format, {says(chat_format, "yes")});
    gateway.chat(R"({"role":"user","content":"a"})", {}, R"("store":true)");
    for (const std::string name : {"m", "upstream-model"})
        EXPECT_EQ(gateway.get(completions + "?model=" + name).json().find("data")->size(), 1u);
    EXPECT_EQ(gateway.get(completions + "?model=other").json().find("data")->size(), 0u);
}

}  // namespace
}  // namespace palimpsest
