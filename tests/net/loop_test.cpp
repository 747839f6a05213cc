// The event loop: what is called when, on which thread, and what becomes of it in the end.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/loop.h"

namespace palimpsest {
namespace {

// Two ends of a connection.
struct Pair {
    Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
    ~Pair() {
        for (const int end : ends) ::close(end);
    }
    void say(char c) const { EXPECT_EQ(::write(ends[1], &c, 1), 1); }
    std::string hear() const {
        char buffer[16];
        const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
        return std::string(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    void hang_up() { ::shutdown(ends[1], SHUT_RDWR); }
    int ends[2] = {-1, -1};
};

// A loop, and one end of a connection that it looks at.
class watched_pair : public testing::Test {
protected:
    Loop loop;
    Pair pair;
    Watch watch{loop, pair.ends[0]};
};

TEST(loop, runs_what_other_threads_post_in_their_order) {
    Loop loop;
    std::string order;
    std::thread poster([&] {
        for (const char c : {'a', 'b', 'c'}) loop.post([&order, c] { order += c; });
        loop.post([&] { loop.stop(); });
    });
    loop.run();
    poster.join();
    EXPECT_EQ(order, "abc");
}

TEST(loop, what_is_posted_inside_comes_behind_what_is_ready) {
    Loop loop;
    Pair one, two;
    Watch first(loop, one.ends[0]), second(loop, two.ends[0]);
    std::string order;
    const auto tell = [&](char c) {
        order += c;
        loop.post([&order, c] { order += static_cast<char>(c - 'a' + 'A'); });
    };
    first.wait(Readiness::read, [&] { tell('a'); });
    second.wait(Readiness::read, [&] { tell('a'); });
    one.say('x');
    two.say('x');
    loop.after_ms(20, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(order, "aaAA");
}

TEST(loop, what_is_posted_last_ends_the_turn_and_what_that_posts_has_the_next) {
    Loop loop;
    Pair one, two;
    Watch first(loop, one.ends[0]), second(loop, two.ends[0]);
    std::string order;
    const auto tell = [&] {
        order += 'r';
        loop.post([&order] { order += 'p'; });
        loop.post_last([&] {
            order += 'l';
            loop.post_last([&order] { order += 'L'; });
        });
    };
    first.wait(Readiness::read, tell);
    second.wait(Readiness::read, tell);
    one.say('x');
    two.say('x');
    loop.after_ms(20, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(order, "rrllppLL");
}

TEST_F(watched_pair, what_others_post_comes_before_what_gets_ready_behind_it) {
    std::string order;
    watch.wait(Readiness::read, [&] {
        order += 'r';
        loop.stop();
    });
    std::thread poster([&] {
        loop.post([&] { order += 'p'; });
        pair.say('x');
    });
    loop.run();
    poster.join();
    EXPECT_EQ(order, "pr");
}

TEST(loop, timers_come_in_the_order_of_their_times) {
    Loop loop;
    std::string order;
    loop.after_ms(20, [&] { order += 'c'; });
    loop.after_ms(0, [&] { order += 'a'; });
    loop.after_ms(10, [&] { order += 'b'; });
    loop.after_ms(30, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(order, "abc");
}

TEST(loop, a_callback_that_throws_stops_nobody) {
    Loop loop;
    loop.post([] { throw std::bad_alloc(); });
    loop.post([&] { loop.stop(); });
    loop.run();
}

TEST_F(watched_pair, tells_of_each_byte_also_when_it_came_before_the_wait) {
    std::string heard;
    std::function<void()> listen = [&] {
        watch.wait(Readiness::read, [&] {
            heard += pair.hear();
            if (heard == "abc") return loop.stop();
            listen();
            pair.say(heard == "a" ? 'b' : 'c');
        });
    };
    pair.say('a');
    listen();
    loop.run();
    EXPECT_EQ(heard, "abc");
}

TEST_F(watched_pair, tells_later_of_what_came_when_nobody_waited) {
    std::string heard;
    watch.wait(Readiness::read, [&] {
        heard += pair.hear();
        pair.say('b');  // Nobody waits for it yet.
        loop.after_ms(10, [&] {
            watch.wait(Readiness::read, [&] {
                heard += pair.hear();
                loop.stop();
            });
        });
    });
    pair.say('a');
    loop.run();
    EXPECT_EQ(heard, "ab");
}

TEST_F(watched_pair, both_directions_are_waited_for_at_once) {
    std::string order;
    watch.wait(Readiness::read, [&] {
        order += 'r';
        loop.stop();
    });
    watch.wait(Readiness::write, [&] {
        order += 'w';
        pair.say('x');
    });
    loop.run();
    EXPECT_EQ(order, "wr");
}

TEST_F(watched_pair, two_who_wait_for_the_same_are_both_told) {
    int told = 0;
    for (int i = 0; i < 2; ++i)
        watch.wait(Readiness::read, [&] {
            if (++told == 2) loop.stop();
        });
    pair.say('x');
    loop.run();
    EXPECT_EQ(told, 2);
}

TEST_F(watched_pair, the_end_of_a_connection_is_told_and_told_again) {
    int told = 0;
    watch.wait(Readiness::read, [&] {
        ++told;
        // Nobody waits for a moment: what is broken is told of in any case.
        loop.after_ms(10, [&] {
            watch.wait(Readiness::read, [&] {
                ++told;
                loop.stop();
            });
        });
    });
    pair.hang_up();
    loop.run();
    EXPECT_EQ(told, 2);
}

TEST(watch, one_that_goes_calls_back_later) {
    Loop loop;
    Pair pair;
    auto watch = std::make_unique<Watch>(loop, pair.ends[0]);
    bool called = false;
    watch->wait(Readiness::read, [&] {
        called = true;
        loop.stop();
    });
    watch.reset();
    EXPECT_FALSE(called);
    loop.run();
    EXPECT_TRUE(called);
}

TEST(watch, one_that_nobody_waits_for_may_go_on_any_thread) {
    Loop loop;
    std::thread runner([&] { loop.run(); });
    for (int i = 0; i < 50; ++i) {
        Pair pair;
        std::unique_ptr<Watch> watch;
        std::atomic<bool> heard = false;
        loop.post([&] {
            watch = std::make_unique<Watch>(loop, pair.ends[0]);
            watch->wait(Readiness::read, [&] { heard = true; });
        });
        pair.say('x');
        while (!heard) std::this_thread::yield();
        watch.reset();  // What was said was not read: the loop may be told of it just now.
    }
    loop.post([&] { loop.stop(); });
    runner.join();
}

TEST(watch, a_loop_that_ends_forgets_who_waits) {
    const auto held = std::make_shared<int>(1);
    Pair pair;
    std::unique_ptr<Watch> watch;
    {
        Loop loop;
        watch = std::make_unique<Watch>(loop, pair.ends[0]);
        watch->wait(Readiness::read, [held] {});
        loop.post([held] {});
        loop.after_ms(1000, [held] {});
        EXPECT_EQ(held.use_count(), 4);
    }
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace palimpsest
