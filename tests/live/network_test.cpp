// Connections that are cut, at every byte, and replies that come late: nothing is doubled, nothing
// acknowledged is lost, what is not known is said to be not known, and no reply reaches another.
#include <map>
#include <thread>

#include "live/live.h"
#include "support/fault_proxy.h"

namespace palimpsest::testing_support {
namespace {

// The store of the running server, through the proxy. In a cluster nodes name one another, so there
// is nothing that a proxy could stand in front of.
std::string through(const FaultProxy& proxy) {
    RunningServers& servers = running();
    std::string url = unique(servers.url());
    const std::string real =
        std::to_string(servers.postgres ? servers.postgres->port() : servers.redis->port());
    return url.replace(url.find(real), real.size(), std::to_string(proxy.port())) +
           "&pool=2&timeout=2s";
}

struct Counts {
    std::map<ErrorCode, int> errors;
    int acknowledged = 0;
};

// Appends `n` under a key while a fault is armed, then again without; both must leave one copy.
void append_through_fault(Store& store, FaultProxy& proxy, int n, Counts& counts) {
    const std::string text = std::to_string(n);
    const auto done = store.append({"t", "a"}, says(text, "k" + text));
    proxy.heal();
    if (done) ++counts.acknowledged;
    if (!done) ++counts.errors[done.error().code];
    const bool sure = !done && done.error().code != ErrorCode::outcome_unknown;
    Result<Appended> again = store.append({"t", "a"}, says(text, "k" + text));
    for (int i = 0; i < 100 && !again; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        again = store.append({"t", "a"}, says(text, "k" + text));
    }
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_FALSE(sure && again->again) << "said to have failed, and was there: " << n;
    EXPECT_TRUE(!done || again->again) << "acknowledged and lost: " << n;
}

void cut_everywhere(bool replies, int bytes, int step) {
    RunningServers& servers = running();
    if (servers.cluster) GTEST_SKIP() << "a node of a cluster cannot stand behind a proxy";
    FaultProxy proxy(servers.postgres ? servers.postgres->port() : servers.redis->port());
    const auto store = open_good(through(proxy));
    ASSERT_TRUE(store->append({"t", "a"}, says("0", "k0")).has_value());
    Counts counts;
    int n = 0;
    for (int at = 0; at <= bytes; at += step) {
        replies ? proxy.cut_replies_after(at) : proxy.cut_requests_after(at);
        append_through_fault(*store, proxy, ++n, counts);
    }
    const auto texts = texts_of(*store, {"t", "a"});
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(n) + 1);
    for (int i = 0; i <= n; ++i) EXPECT_EQ(texts[static_cast<std::size_t>(i)], std::to_string(i));
    EXPECT_GT(counts.errors[ErrorCode::outcome_unknown], n / 4);
    std::cout << servers.kind << (replies ? " replies" : " requests") << " cut at " << n
              << " places: " << counts.acknowledged << " acknowledged, "
              << counts.errors[ErrorCode::outcome_unknown] << " unknown, "
              << counts.errors[ErrorCode::unavailable] << " refused" << std::endl;
}

TEST(live, a_reply_that_is_cut_anywhere_is_unknown_and_its_key_resolves_it) {
    running().postgres ? cut_everywhere(true, 900, 12) : cut_everywhere(true, 260, 4);
}

TEST(live, a_request_that_is_cut_anywhere_leaves_one_copy_or_none) {
    cut_everywhere(false, 900, 15);
}

TEST(live, late_replies_never_reach_another_request) {
    RunningServers& servers = running();
    if (servers.cluster) GTEST_SKIP() << "a node of a cluster cannot stand behind a proxy";
    FaultProxy proxy(servers.postgres ? servers.postgres->port() : servers.redis->port());
    std::string url = through(proxy);
    url.replace(url.find("timeout=2s"), 10, "timeout=40ms");
    auto opened = open_store(url);
    for (int i = 0; i < 50 && !opened; ++i) opened = open_store(url);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    Store& store = **opened;
    const ConversationId names[] = {{"t", "a"}, {"u", "b"}};
    for (const ConversationId& name : names)
        for (int i = 0; i < 100 && !store.append(name, says(name.id, "k")); ++i) {
        }
    std::atomic<int> crossed = 0, answered = 0, late = 0;
    const int rounds = static_cast<int>(setting("PAL_CANCELS", 150));
    std::vector<std::jthread> threads;
    for (int me = 0; me < 4; ++me)
        threads.emplace_back([&, me] {
            const ConversationId& name = names[me % 2];
            // On a machine so busy that nothing is in time it goes on until something is.
            for (int i = 0; i < rounds || (answered == 0 && i < 100 * rounds); ++i) {
                if (me == 0) proxy.delay_replies(i % 3 == 0 ? 60 : 0);
                const auto header = store.head(name);
                if (!header) {
                    ++late;
                    if (i >= rounds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    continue;
                }
                ++answered;
                if (header->name != name) ++crossed;
            }
        });
    threads.clear();
    EXPECT_EQ(crossed, 0);
    EXPECT_GT(answered, 0);
    std::cout << servers.kind << " late replies: " << answered << " answered, " << late
              << " given up, " << crossed << " crossed" << std::endl;
}

}  // namespace
}  // namespace palimpsest::testing_support
