// A policy that was stored when larger ones were allowed goes on; what is given is checked.
#include "engine/policies.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

// That many passes that do nothing, and one that keeps the last message.
std::string policy_of(std::size_t passes) {
    std::string json = R"({"triggers":{"messages":3},"passes":[)";
    for (std::size_t n = 1; n < passes; ++n) json += R"({"pass":"clear_media"},)";
    return json + R"({"pass":"keep_last","messages":1}]})";
}

Memory talk_under(const std::string& policy) {
    auto store = memory_store();
    EXPECT_TRUE(store->append(alice, {.patch = {.policy = policy}}));
    return Memory(std::move(store));
}

Result<Begun> say(Memory& memory, const std::string& policy = {}) {
    const std::string said = "[" + user("one") + "," + assistant("two") + "," + user("three") +
                             "," + assistant("four") + "," + user("five") + "]";
    return memory.begin(alice, {.messages = said, .policy = policy});
}

TEST(policy_size, of_a_stored_policy_stops_neither_its_conversation_nor_its_replacement) {
    Memory memory = talk_under(policy_of(70));
    const auto begun = say(memory);
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(texts(begun->view), "five");
    EXPECT_TRUE(memory.compact(alice, {.preview = true}));
    EXPECT_TRUE(memory.fork(alice, bob));
    EXPECT_TRUE(memory.patch(alice, {.title = "still here"}));
    EXPECT_FALSE(memory.patch(alice, {.policy = policy_of(71)})) << "larger than before";
    EXPECT_TRUE(memory.patch(alice, {.policy = policy_of(69)}));
    EXPECT_TRUE(memory.patch(alice, {.policy = policy_of(2)}));
    EXPECT_FALSE(memory.patch(alice, {.policy = policy_of(69)}));
}

TEST(policy_size, of_a_request_that_names_what_stands_is_that_of_what_stands) {
    Policies policies({}, {});
    const std::string large = policy_of(70);
    EXPECT_FALSE(policies.choose({.request = large}));
    EXPECT_FALSE(policies.choose({.request = large, .conversation = "balanced"}));
    EXPECT_TRUE(policies.choose({.request = large, .conversation = large}));
    EXPECT_TRUE(policies.choose({.request = large, .agent = large}));
    EXPECT_TRUE(policies.choose({.conversation = large}));
    EXPECT_TRUE(policies.choose({.agent = large}));
}

// One that an agent has, that the conversation had at the begin, or that the settings have.
TEST(policy_size, of_the_policy_that_a_turn_began_with_is_not_asked_for_at_its_end) {
    const std::string large = R"({"triggers":{"soft":{"messages":3},"hard":{"messages":90}},)" +
                              policy_of(70).substr(policy_of(70).find("\"passes\""));
    const std::vector<MemoryOptions> levels = {
        {.agents = {{.key = "a", .policy = large}}, .background = true},
        {.policy = large, .background = true}};
    for (const MemoryOptions& options : levels) {
        Memory memory(memory_store(), options);
        ASSERT_TRUE(memory.put_agent("t", {.key = "b"}));
        const std::string said = "[" + user("one") + "," + assistant("two") + "]";
        ASSERT_TRUE(memory.append(alice, {.messages = said}));
        const std::string agent = options.agents.empty() ? "b" : "a", more = user("three");
        const auto begun = memory.begin(alice, {.messages = more, .agent = agent});
        ASSERT_TRUE(begun) << begun.error().message;
        const auto finished = memory.finish(
            *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "four")});
        ASSERT_TRUE(finished) << finished.error().message;
        EXPECT_TRUE(finished->summary_due);
        EXPECT_EQ(memory.run_jobs("t").value(), 1u);
        const auto smaller = memory.shrink(*begun);
        ASSERT_FALSE(smaller);
        EXPECT_TRUE(smaller.error().message.contains("nothing could be taken out"))
            << smaller.error().message;
    }
}

TEST(policy_size, of_a_policy_that_is_given_is_checked_wherever_it_is_given) {
    const std::string large = policy_of(65);
    Memory memory = talk_under(policy_of(2));
    const auto param = [](const auto& done) { return done ? "accepted" : done.error().param; };
    EXPECT_EQ(param(say(memory, large)), "passes");
    EXPECT_EQ(param(memory.patch(alice, {.policy = large})), "passes");
    EXPECT_EQ(param(memory.create(bob, {.policy = large})), "passes");
    EXPECT_EQ(param(memory.compact(alice, {.policy = large})), "passes");
    EXPECT_EQ(param(memory.view(alice, {.policy = large})), "passes");
    EXPECT_EQ(param(memory.put_agent("t", {.key = "a", .policy = large})), "passes");
}

}  // namespace
}  // namespace palimpsest
