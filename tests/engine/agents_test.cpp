// Agents: what their conversations have where nothing else is said.
#include "support/engine.h"
#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view trim = R"({"mode":"trim","max_user_turns":1,"keep_last_user_turns":1})";

AgentSpec support_agent() {
    return {.key = "support",
            .model = "gpt-4o",
            .system_prompt = "You help customers.",
            .policy = std::string(trim)};
}

Result<Begun> say(Memory& memory, std::string_view text, BeginRequest request = {}) {
    const std::string said = user(text);
    request.messages = said;
    return memory.begin(alice, request);
}

}  // namespace

TEST(agents, are_kept_found_listed_and_removed) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.put_agent("t", support_agent()));
    ASSERT_TRUE(memory.put_agent("t", {.key = "billing"}));
    const auto found = memory.find_agent("t", "support");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->model, "gpt-4o");
    EXPECT_EQ(found->system_prompt, "You help customers.");
    EXPECT_EQ(found->policy, trim);
    const auto all = memory.agents("t");
    ASSERT_EQ(all->size(), 2u);
    EXPECT_EQ(all->front().key, "billing");
    EXPECT_TRUE(memory.agents("other")->empty());
    ASSERT_TRUE(memory.remove_agent("t", "support"));
    EXPECT_EQ(memory.find_agent("t", "support").error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.remove_agent("t", "support").error().code, ErrorCode::not_found);
}

TEST(agents, a_bad_policy_or_key_is_refused) {
    Memory memory = open_memory();
    EXPECT_FALSE(memory.put_agent("t", {.key = "a", .policy = R"({"mode":"no"})"}));
    EXPECT_FALSE(memory.put_agent("t", {.key = ""}));
}

TEST(agents, of_the_settings_stand_below_those_of_the_store) {
    Memory memory(memory_store(), {.agents = {{.key = "support", .model = "a"}, {.key = "x"}}});
    EXPECT_EQ(memory.find_agent("t", "support")->model, "a");
    ASSERT_TRUE(memory.put_agent("t", {.key = "support", .model = "b"}));
    EXPECT_EQ(memory.find_agent("t", "support")->model, "b");
    EXPECT_EQ(memory.find_agent("other", "support")->model, "a");
    EXPECT_EQ(memory.agents("t")->size(), 2u);
    ASSERT_TRUE(memory.remove_agent("t", "support"));
    EXPECT_EQ(memory.find_agent("t", "support")->model, "a");
    const auto refused = memory.remove_agent("t", "support");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("settings"), std::string::npos);
}

TEST(agents, give_prompt_model_and_policy) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.put_agent("t", support_agent()));
    const auto begun = say(memory, "hello", {.agent = "support"});
    ASSERT_TRUE(begun) << begun.error().message;
    ASSERT_EQ(begun->preamble.size(), 1u);
    EXPECT_EQ(text_of(begun->preamble[0]), "You help customers.");
    EXPECT_EQ(begun->model, "gpt-4o");
    EXPECT_EQ(begun->policy, trim);
}

TEST(agents, an_unknown_one_is_an_error_and_nothing_is_stored) {
    Memory memory = open_memory();
    const auto begun = say(memory, "hello", {.agent = "nobody"});
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::not_found);
    EXPECT_EQ(begun.error().param, "agent");
    EXPECT_FALSE(memory.head(alice));
}

TEST(agents, the_conversation_remembers_the_one_that_it_began_with) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.put_agent("t", support_agent()));
    ASSERT_TRUE(say(memory, "one", {.agent = "support"}));
    EXPECT_EQ(memory.head(alice)->metadata, R"({"agent_type":"support"})");
    EXPECT_EQ(say(memory, "two")->model, "gpt-4o");
    ASSERT_TRUE(memory.remove_agent("t", "support"));
    const auto later = say(memory, "three");
    ASSERT_TRUE(later) << later.error().message;
    EXPECT_EQ(later->model, "");
}

TEST(agents, request_beats_conversation_beats_agent_beats_server) {
    const std::string own = R"({"mode":"trim","max_user_turns":2})";
    const std::string asked = R"({"mode":"trim","max_user_turns":3})";
    Memory memory(memory_store(), {.policy = "balanced"});
    EXPECT_EQ(say(memory, "server")->policy, "balanced");
    ASSERT_TRUE(memory.put_agent("t", support_agent()));
    EXPECT_EQ(say(memory, "agent", {.agent = "support"})->policy, trim);
    ASSERT_TRUE(memory.patch(alice, {.system_prompt = "Be short.", .policy = own}));
    const auto conversation = say(memory, "conversation", {.agent = "support"});
    EXPECT_EQ(conversation->policy, own);
    EXPECT_EQ(text_of(conversation->preamble[0]), "Be short.");
    const auto request =
        say(memory, "request", {.model = "gpt-4.1", .policy = asked, .agent = "support"});
    EXPECT_EQ(request->policy, asked);
    EXPECT_EQ(request->model, "gpt-4.1");
}

TEST(agents, serve_the_whole_tool_loop) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.put_agent("t", {.key = "support", .system_prompt = "You help."}));
    ScriptedModel model;
    model.asks_for({{"look", "{}"}}).says("found");
    const std::string said = user("where is it?");
    const auto done = chat(memory, alice, {.messages = said, .agent = "support"}, model,
                           {.tools = {make_tool("look", [](auto) { return "there"; })}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(model.sent[0], "You help. where is it?");
    EXPECT_EQ(model.sent[1], "You help. where is it? call:c1 there");
}
