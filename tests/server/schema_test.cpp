// What the checker says about values that do not fit.
#include <gtest/gtest.h>

#include "server/schema.h"

namespace palimpsest {
namespace {

struct Case {
    std::string_view schema, body, param, message;
};

constexpr Case refused[] = {
    {"NewConversation", R"({"ownr":"a"})", "ownr",
     "'ownr' is an unknown field; known are: id, owner, title, system_prompt, metadata, policy, "
     "ttl"},
    {"NewConversation", R"({"owner":5})", "owner", "'owner' must be of type string, not number"},
    {"NewConversation", R"({"id":""})", "id", "'id' must be at least 1 characters long"},
    {"NewConversation", R"({"ttl":0})", "ttl", "'ttl' must be at least 1"},
    {"NewConversation", R"([])", "", "the body must be of type object, not array"},
    {"NewMessages", R"({})", "messages", "'messages' is required"},
    {"NewMessages", R"({"messages":[]})", "messages", "'messages' must be at least 1 items long"},
    {"NewMessages", R"({"messages":[{},7]})", "messages[1]",
     "'messages[1]' must be of type object, not number"},
    {"NewMessages", R"({"messages":[{}],"format":"openai"})", "format",
     R"('format' must be one of "openai_chat", "openai_responses", "anthropic")"},
    {"Pin", R"({"seq":"first"})", "seq", R"('seq' must be one of "last")"},
    {"Pin", R"({"seq":true})", "seq", "'seq' must be of type integer or string, not boolean"},
    {"Pin", R"({"seq":-1})", "seq", "'seq' must be at least 0"},
    {"Retract", R"({"from":1.5})", "from",
     "'from' must be of type integer, not a number with a fraction"},
    {"Retract", R"({"from":1e999})", "from",
     "'from' must be of type integer, not a number with a fraction"},
    {"Scrub", R"({"seqs":[99999999999999999999]})", "seqs[0]",
     "'seqs[0]' must be at most 9007199254740991"},
    {"Finish", R"({"turn_id":"t","message":{},"usage":{"input":1}})", "usage.input",
     "'usage.input' is an unknown field; known are: input_tokens, cached_tokens, "
     "cache_write_tokens, output_tokens, reasoning_tokens"},
};

TEST(schema_check, names_the_field_and_what_is_expected) {
    const SchemaSet set;
    for (const Case& one : refused) {
        const JsonDocument document = parse_json(one.body).value();
        const Result<void> fits = set.check(one.schema, document.root());
        ASSERT_FALSE(fits) << one.body;
        EXPECT_EQ(fits.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(fits.error().param, one.param) << one.body;
        EXPECT_EQ(fits.error().message, one.message);
    }
}

TEST(schema_check, takes_null_where_a_field_may_be_cleared) {
    const SchemaSet set;
    const JsonDocument document = parse_json(R"({"policy":null,"ttl":null})").value();
    EXPECT_TRUE(set.check("ConversationPatch", document.root()));
}

TEST(schema_check, counts_characters_not_bytes) {
    const SchemaSet set;
    std::string id;
    for (int i = 0; i < 255; ++i) id += "é";
    const std::string fits = R"({"id":")" + id + R"("})";
    const std::string longer = R"({"id":")" + id + R"(é"})";
    EXPECT_TRUE(set.check("NewConversation", parse_json(fits).value().root()));
    EXPECT_FALSE(set.check("NewConversation", parse_json(longer).value().root()));
}

}  // namespace
}  // namespace palimpsest
