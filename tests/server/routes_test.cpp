// Every route of the table is called, over each store, and answers as its row describes: status,
// content type, headers, and a body that fits the schema. A route without a line here fails the
// test.
#include <gtest/gtest.h>

#include <set>

#include "server/route.h"
#include "server/running.h"
#include "server/schema.h"

namespace palimpsest {
namespace {

struct Step {
    std::string_view method, target, body;
};

// In this order, over one store. PLACES in capitals are filled in from the answer before.
constexpr Step steps[] = {
    {"GET", "/healthz", ""},
    {"GET", "/readyz", ""},
    {"GET", "/openapi.json", ""},
    {"GET", "/", ""},
    {"GET", "/metrics", ""},
    {"GET", "/api/v1/recall-tool?format=anthropic", ""},
    {"POST", "/api/v1/conversations", R"({"id":"a/b","owner":"ann","metadata":{"n":1}})"},
    {"GET", "/api/v1/conversations?owner=ann&metadata.n=1&sort=created&limit=5", ""},
    {"GET", "/api/v1/conversations/a%2Fb", ""},
    {"PATCH", "/api/v1/conversations/a%2Fb", R"({"title":"T"})"},
    {"POST", "/api/v1/conversations/a%2Fb/messages",
     R"({"messages":[{"role":"user","content":"one"},{"role":"assistant","content":)"
     R"("two, counted by the one who has counted all of them before, and by nobody else in this whole room"},)"
     R"({"role":"user","content":"three"}]})"},
    {"GET", "/api/v1/conversations/a%2Fb/messages?last=2", ""},
    {"GET", "/api/v1/search?q=three&role=user&in_view=true&explain=1&limit=5", ""},
    {"POST", "/api/v1/conversations/a%2Fb/checkpoints", R"({"name":"here","metadata":{"k":"v"}})"},
    {"GET", "/api/v1/checkpoints/CHECKPOINT", ""},
    {"GET", "/api/v1/conversations/a%2Fb/checkpoints", ""},
    {"POST", "/api/v1/conversations/a%2Fb/pins", R"({"seq":"last"})"},
    {"DELETE", "/api/v1/conversations/a%2Fb/pins?seq=3", ""},
    {"POST", "/api/v1/conversations/a%2Fb/retract", R"({"from":1,"reason":"noise"})"},
    {"POST", "/api/v1/conversations/a%2Fb/undo", ""},
    {"POST", "/api/v1/conversations/a%2Fb/compact?preview=1",
     R"({"policy":{"passes":[{"pass":"keep_last","messages":1}]}})"},
    {"POST", "/api/v1/conversations/a%2Fb/compact",
     R"({"policy":{"passes":[{"pass":"keep_last","messages":1}]}})"},
    {"GET", "/api/v1/conversations/a%2Fb/view?explain=1", ""},
    {"GET", "/api/v1/conversations/a%2Fb/view?window=4000&policy=balanced", ""},
    {"PATCH", "/api/v1/conversations/a%2Fb/memory", R"({"mode":"compact","compact_keep":3})"},
    {"GET", "/api/v1/conversations/a%2Fb/memory?expand=1", ""},
    {"GET", "/api/v1/conversations/a%2Fb/recall/1", ""},
    {"GET", "/api/v1/conversations/a%2Fb/diff?at=3", ""},
    {"GET", "/api/v1/conversations/a%2Fb/breakdown?model=gpt-4o", ""},
    {"POST", "/api/v1/conversations/a%2Fb/undo", ""},
    {"POST", "/api/v1/conversations/a%2Fb/summaries", R"({"from":1,"to":2,"text":"one two"})"},
    {"GET", "/api/v1/conversations/a%2Fb/summaries", ""},
    {"GET", "/api/v1/conversations/a%2Fb/view?at=3&format=openai_chat", ""},
    {"POST", "/api/v1/conversations/a%2Fb/fork", R"({"id":"child","at":"here"})"},
    {"POST", "/api/v1/conversations/a%2Fb/scrub", R"({"seqs":[2]})"},
    {"POST", "/api/v1/conversations/a%2Fb/begin", R"({"message":"and now?"})"},
    {"GET", "/api/v1/conversations/a%2Fb/calls/CALL", ""},
    {"POST", "/api/v1/conversations/a%2Fb/finish",
     R"({"turn_id":"TURN","message":{"role":"assistant","content":"this"},)"
     R"("usage":{"input_tokens":7}})"},
    {"POST", "/api/v1/chat", R"({"message":"hello","conversation_id":"a/b"})"},
    {"PUT", "/api/v1/agents/support", R"({"system_prompt":"Help.","memory_strategy":"balanced"})"},
    {"GET", "/api/v1/agents/support", ""},
    {"GET", "/api/v1/agents", ""},
    {"POST", "/api/v1/chat", R"({"message":"hi","conversation_id":"s","agent_type":"support"})"},
    {"DELETE", "/api/v1/agents/support", ""},
    {"GET", "/api/v1/audit?limit=2", ""},
    {"POST", "/api/v1/state/chat", R"({"state":"","message":"hello"})"},
    {"POST", "/api/v1/state/append", R"({"state":null,"message":"hello","shape":"ailoop"})"},
    {"GET", "/api/v1/conversations/a%2Fb/usage", ""},
    {"GET", "/api/v1/usage", ""},
    {"GET", "/api/v1/conversations/a%2Fb/log?order=desc", ""},
    {"POST", "/api/v1/conversations/a%2Fb/rewind", R"({"to":3})"},
    {"DELETE", "/api/v1/conversations/child", ""},
    {"POST", "/v1/chat/completions",
     R"({"store":true,"messages":[{"role":"user","content":"hi"}]})"},
    {"POST", "/v1/chat/completions",
     R"({"conversation":"a/b","messages":[{"role":"user","content":"hi"}]})"},
    {"GET", "/v1/chat/completions?limit=3&order=desc", ""},
    {"GET", "/v1/chat/completions/COMPLETION", ""},
    {"GET", "/v1/chat/completions/COMPLETION/messages", ""},
    {"POST", "/v1/chat/completions/COMPLETION", R"({"metadata":{"k":"v"}})"},
    {"DELETE", "/v1/chat/completions/COMPLETION", ""},
    {"POST", "/v1/messages", R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"}]})"},
    {"POST", "/v1/messages",
     R"({"conversation":"a/b","max_tokens":9,"messages":[{"role":"user","content":"hi"}]})"},
    {"POST", "/v1/messages/count_tokens", R"({"messages":[{"role":"user","content":"hi"}]})"},
    {"GET", "/v1/models", ""},
    {"GET", "/v1/models/echo", ""},
    {"POST", "/v1/conversations", R"({"metadata":{"k":"v"},"items":[]})"},
    {"GET", "/v1/conversations?limit=5", ""},
    {"GET", "/v1/conversations/a%2Fb", ""},
    {"POST", "/v1/conversations/a%2Fb", R"({"metadata":{"k":"w"}})"},
    {"POST", "/v1/conversations/a%2Fb/items",
     R"({"items":[{"type":"message","role":"user","content":"four"}]})"},
    {"GET", "/v1/conversations/a%2Fb/items/ITEM", ""},
    {"DELETE", "/v1/conversations/a%2Fb/items/ITEM", ""},
    {"GET", "/v1/conversations/a%2Fb/items?order=asc&limit=2", ""},
    {"POST", "/v1/conversations/a%2Fb/fork", R"({"id":"child2"})"},
    {"DELETE", "/v1/conversations/child2", ""},
    {"POST", "/v1/responses", R"({"input":"five","conversation":"a/b","background":true})"},
    {"GET", "/v1/responses/RESPONSE", ""},
    {"GET", "/v1/responses/RESPONSE/input_items", ""},
    {"POST", "/v1/responses/RESPONSE/cancel", ""},
    {"DELETE", "/v1/responses/RESPONSE", ""},
    {"POST", "/v1/responses/input_tokens", R"({"input":"six","conversation":"a/b"})"},
    {"POST", "/v1/responses/compact", R"({"input":"seven"})"},
};

std::string filled(std::string_view text, std::string_view place, const std::string& value) {
    std::string out(text);
    if (const std::size_t at = out.find(place); at != out.npos)
        out.replace(at, place.size(), value);
    return out;
}

// The row that a step is about, found without the router: as many segments, the fixed ones equal.
const Route* row_of(const Step& step) {
    const auto split = [](std::string_view path) {
        std::vector<std::string_view> words;
        path = path.substr(0, path.find('?'));
        while (!path.empty()) {
            path.remove_prefix(1);
            words.push_back(path.substr(0, path.find('/')));
            path.remove_prefix(words.back().size());
        }
        return words;
    };
    for (const Route& route : routes()) {
        const auto pattern = split(route.pattern);
        const auto words = split(step.target);
        bool same = route.method == step.method && pattern.size() == words.size();
        for (std::size_t i = 0; same && i < words.size(); ++i)
            same = pattern[i].starts_with('{') || pattern[i] == words[i];
        if (same) return &route;
    }
    return nullptr;
}

void call_every_route(std::string_view store) {
    const Running running(store);
    const SchemaSet schemas;
    std::set<const Route*> called, told_end;
    std::string turn, checkpoint, call, item, response, completion;
    for (const Step& step : steps) {
        const Route* const row = row_of(step);
        ASSERT_TRUE(row) << step.method << " " << step.target;
        called.insert(row);
        std::string target = filled(step.target, "CHECKPOINT", checkpoint);
        target = filled(filled(target, "CALL", call), "ITEM", item);
        target = filled(target, "RESPONSE", response);
        target = filled(target, "COMPLETION", completion);
        const Told told =
            running.ask(std::string(step.method), target, filled(step.body, "TURN", turn));
        const std::string what =
            std::string(step.method) + " " + std::string(step.target) + ": " + told.response.body;
        EXPECT_EQ(told.status(), row->status) << what;
        EXPECT_EQ(told.header("Content-Type"), row->type) << what;
        EXPECT_TRUE(told.header("x-request-id").starts_with("req_")) << what;
        if (!told.header("ETag").empty()) told_end.insert(row);
        EXPECT_TRUE(row->named_by_header || told.header("X-Conversation-Id").empty()) << what;
        if (row->type != "application/json") continue;
        ASSERT_TRUE(told.document) << what;
        const Result<void> fits = schemas.check(row->reply, told.json());
        EXPECT_TRUE(fits) << (fits ? "" : fits.error().message) << what;
        if (told.json().find("turn_id")) turn = told.text("turn_id");
        if (step.target.ends_with("/begin")) call = std::to_string(told.number("seq"));
        if (step.target.ends_with("/responses")) response = told.text("id");
        if (step.target.ends_with("/items")) item = told.text("first_id");
        if (told.text("id").starts_with("ckpt_")) checkpoint = told.text("id");
        if (step.target.ends_with("completions?limit=3&order=desc"))
            completion = told.text("first_id");
    }
    // The echo model makes no embeddings: gateway_test.cpp asks one that does.
    for (const Route& route : routes())
        EXPECT_TRUE(called.contains(&route) || route.body == BodyKind::bytes ||
                    route.pattern == "/v1/embeddings")
            << route.method << " " << route.pattern << " is called by no step";
    for (const Route& route : routes())
        EXPECT_EQ(route.tells_end, told_end.contains(&route))
            << route.method << " " << route.pattern;
}

TEST(every_route, answers_as_described_over_the_memory_store) {
    call_every_route("memory:");
}

TEST(every_route, answers_as_described_over_sqlite) {
    const TemporaryFolder folder;
    call_every_route("sqlite:" + folder.path() + "/test.db");
}

// Without the conversation every route below it says so, and creates nothing by asking.
TEST(every_route, says_not_found_for_a_conversation_that_is_not_there) {
    const Running running;
    const SchemaSet schemas;
    for (const Step& step : steps) {
        if (step.target.find("a%2Fb") == step.target.npos) continue;
        const std::string_view word = step.target.substr(step.target.rfind('/') + 1);
        if (step.method == "POST" && (word == "messages" || word == "begin")) continue;
        const std::string turn = "turn_0f8fad5bd9cb469fa16570867728950e1";
        const Told told = running.ask(std::string(step.method), filled(step.target, "CALL", "1"),
                                      filled(step.body, "TURN", turn));
        EXPECT_EQ(told.status(), 404) << step.method << " " << step.target << told.response.body;
        EXPECT_EQ(told.error("code"), "not_found") << step.target;
        EXPECT_EQ(told.header("x-should-retry"), "false") << step.target;
        EXPECT_TRUE(schemas.check("Error", told.json())) << told.response.body;
    }
    EXPECT_EQ(running.ask("GET", conversations).json().find("data")->size(), 0u);
}

}  // namespace
}  // namespace palimpsest
