// Several of our servers on one store: they see one another's writes, in one order, and nothing is
// lost while it is paused.
#include <thread>

#include "live/live.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

namespace palimpsest::testing_support {
namespace {

TEST(live, two_servers_serve_the_same_conversations_without_losing_or_reordering) {
    const std::string url = unique(running().url());
    Memory first(open_good(url)), second(open_good(url));
    const ConversationId names[] = {{"t", "a"}, {"t", "b"}};
    constexpr int threads = 6, each = 20;
    std::vector<std::jthread> all;
    for (int me = 0; me < threads; ++me)
        all.emplace_back([&, me] {
            for (int i = 0; i < each; ++i) {
                Memory& memory = i % 2 == 0 ? first : second;
                const std::string said = user(std::to_string(me) + ":" + std::to_string(i));
                const auto done = memory.append(names[me % 2], {.messages = said});
                EXPECT_TRUE(done.has_value()) << done.error().message;
            }
        });
    all.clear();
    for (const ConversationId& name : names) {
        const auto one = first.log(name, {.limit = SIZE_MAX});
        const auto two = second.log(name, {.limit = SIZE_MAX});
        ASSERT_TRUE(one && two);
        ASSERT_EQ(one->size(), threads / 2 * each);
        std::map<std::string, int> next;
        for (std::size_t i = 0; i < one->size(); ++i) {
            const std::string text = text_of(std::get<MessageEntry>((*one)[i].body).message);
            EXPECT_EQ(text, text_of(std::get<MessageEntry>((*two)[i].body).message));
            EXPECT_EQ((*one)[i].seq, Seq{i + 1});
            const std::string who = text.substr(0, text.find(':'));
            EXPECT_EQ(std::stoi(text.substr(text.find(':') + 1)), next[who]++) << "of " << who;
        }
        const auto view = first.view(name), other = second.view(name);
        ASSERT_TRUE(view && other);
        EXPECT_EQ(view->items.size(), other->items.size());
    }
}

TEST(live, turns_that_wait_for_each_other_never_mix_over_two_servers) {
    const std::string url = unique(running().url());
    Memory first(open_good(url), {.turns = Turns::wait}),
        second(open_good(url), {.turns = Turns::wait});
    std::vector<std::jthread> all;
    for (int me = 0; me < 8; ++me)
        all.emplace_back([&, me] {
            Memory& memory = me % 2 == 0 ? first : second;
            const std::string said = user("q" + std::to_string(me));
            const auto begun = memory.begin(alice, {.messages = said});
            ASSERT_TRUE(begun) << begun.error().message;
            const auto answer =
                make_message(FormatId::openai_chat, Role::assistant, "a" + std::to_string(me));
            const auto done = memory.finish(*begun, {.message = *answer});
            ASSERT_TRUE(done) << done.error().message;
        });
    all.clear();
    const auto view = first.view(alice);
    ASSERT_TRUE(view) << view.error().message;
    ASSERT_EQ(view->items.size(), 16u);
    for (std::size_t i = 0; i < 16; i += 2)
        EXPECT_EQ(text_of(view->items[i].message).substr(1),
                  text_of(view->items[i + 1].message).substr(1));
    const auto held = first.begin(alice, {.messages = user("x"), .turns = Turns::refuse});
    ASSERT_TRUE(held) << held.error().message;
    const auto refused = second.begin(alice, {.messages = user("y"), .turns = Turns::refuse});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
}

TEST(live, sixteen_clients_of_two_servers_see_no_anomaly) {
    const std::string url = unique(running().url());
    const auto result =
        run_list_append({.urls = {url, url}, .operations = setting("PAL_LIST_APPEND_OPS", 3000)});
    std::cout << running().kind << " list-append: " << result.text() << std::endl;
    EXPECT_EQ(result.anomalies, std::vector<std::string>{});
    EXPECT_GT(result.acknowledged, 1000U);
}

TEST(live, a_server_that_stands_still_for_a_while_loses_and_doubles_nothing) {
    const std::string url = unique(running().url()) + "&timeout=300ms";
    RunningServers& servers = running();
    int n = 0;
    const auto pause = [&] {
        ServerProcess& process =
            servers.postgres ? servers.postgres->process()
            : servers.redis
                ? servers.redis->process()
                : servers.cluster->nodes()[static_cast<std::size_t>(n++ % 3)]->process();
        process.pause();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        process.resume();
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
    };
    const auto result = run_list_append(
        {.urls = {url, url}, .operations = setting("PAL_PAUSE_OPS", 2000), .disturb = pause});
    std::cout << running().kind << " with pauses: " << result.text() << std::endl;
    EXPECT_EQ(result.anomalies, std::vector<std::string>{});
}

TEST(live, the_check_finds_what_is_planted) {
    const auto append = [](std::int64_t at, std::int64_t value, Outcome outcome = Outcome::ok) {
        return Operation{
            .invoked = at, .returned = at + 1, .appends = true, .value = value, .outcome = outcome};
    };
    const auto read = [](std::int64_t at, std::vector<std::int64_t> values) {
        return Operation{.invoked = at, .returned = at + 1, .values = std::move(values)};
    };
    const auto found = [](std::vector<Operation> history) {
        const auto anomalies = ListAppendCheck(std::move(history)).run();
        return anomalies.empty() ? std::string()
                                 : anomalies.front().substr(0, anomalies.front().find(" in"));
    };
    EXPECT_EQ(found({append(1, 1), append(3, 2), read(5, {1, 2})}), "");
    EXPECT_EQ(found({append(1, 1), append(3, 2), read(5, {2})}), "lost");
    EXPECT_EQ(found({append(1, 1), append(3, 2), read(5, {2, 1})}), "real-time order");
    EXPECT_EQ(found({append(1, 1), read(3, {1, 1})}), "duplicate");
    EXPECT_EQ(found({append(1, 1), read(3, {1, 7})}), "phantom");
    EXPECT_EQ(found({append(1, 1, Outcome::failed), read(3, {1})}), "aborted read");
    EXPECT_EQ(found({append(1, 1, Outcome::unknown), read(3, {1})}), "");
    EXPECT_EQ(found({append(1, 1), append(3, 2), read(5, {1}), read(7, {1, 2})}), "stale read");
    EXPECT_EQ(found({append(1, 1, Outcome::unknown), read(3, {1}), read(5, {})}),
              "non-monotonic read");
}

}  // namespace
}  // namespace palimpsest::testing_support
