// Work that waits for other servers without holding a thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/errand.h"
#include "net/http_client.h"
#include "net/stream.h"
#include "net/turnstile.h"
#include "started.h"
#include "wire_client.h"

namespace palimpsest {
namespace {

const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

void wait_until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 4000 && !true_now(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(true_now());
}

Url url_of(std::uint16_t port, std::string host = "127.0.0.1") {
    Url url;
    url.host = std::move(host);
    url.port = port;
    return url;
}

HttpClientOptions parking() {
    HttpClientOptions options;
    options.parks = true;
    return options;
}

// What a client asks for is asked of another server; the answer tells what came of it.
HttpService asks(Url upstream, HttpClientOptions options, Lane lane) {
    return [=](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            HttpClient client(upstream, options);
            const auto response =
                client.send(make_request("GET", exchange.request().path), exchange.stop_token());
            const std::string body = response
                                         ? response->body
                                         : std::string(error_info(response.error().code).name) +
                                               ": " + response.error().message;
            exchange.answer_from_worker(HttpResponse(200, body));
        };
        co_await exchange.run(work, lane);
    };
}

// Answers nobody until so many have asked.
struct Crowd {
    explicit Crowd(int size) : needed(size) {}
    HttpService service() {
        return [this](Exchange& exchange) -> Task<void> {
            ++inside;
            bool open = true;
            while (open && inside < needed) open = co_await exchange.sleep_ms(5);
            exchange.answer(HttpResponse(200, "together"));
        };
    }
    const int needed;
    std::atomic<int> inside = 0;
};

TEST(errand, waits_for_a_server_without_a_thread) {
    constexpr int clients = 60;
    for (const Lane lane : {Lane::slow, Lane::network}) {
        Crowd crowd(clients);
        Started upstream(crowd.service());
        HttpServerOptions options;
        options.slow_threads = 1;
        Started started(asks(url_of(upstream.port), parking(), lane), options);
        std::vector<std::unique_ptr<WireClient>> all;
        for (int i = 0; i < clients; ++i) {
            all.push_back(std::make_unique<WireClient>(started.port));
            all.back()->send(get);
        }
        for (const auto& client : all) EXPECT_EQ(client->receive_answer().body, "together");
        EXPECT_LE(started.server.load(Lane::slow).threads, 1u);
        wait_until([&] { return started.server.errands() == 0; });
    }
}

TEST(errand, ends_as_a_blocking_call_does_when_the_server_does_not_answer) {
    Crowd nobody(1000);
    Started silent(nobody.service());
    HttpClientOptions options = parking();
    options.first_byte_timeout_ms = 50;
    for (const Lane lane : {Lane::slow, Lane::network}) {
        Started started(asks(url_of(silent.port), options, lane));
        WireClient client(started.port);
        client.send(get);
        EXPECT_TRUE(
            client.receive_answer().body.starts_with("outcome_unknown: no complete answer"));
    }
    silent.server.stop(0);
    Started started(asks(url_of(silent.port), options, Lane::network));
    WireClient client(started.port);
    client.send(get);
    EXPECT_TRUE(client.receive_answer().body.starts_with("unavailable: cannot connect"));
}

TEST(errand, is_interrupted_when_its_client_goes) {
    Crowd nobody(1000);
    Started silent(nobody.service());
    std::atomic<bool> ended = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            HttpClient client(url_of(silent.port), parking());
            const auto response = client.send(make_request("GET", "/"), exchange.stop_token());
            ended = !response && response.error().message.contains("interrupted");
        };
        co_await exchange.run(work, Lane::network);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    wait_until([&] { return nobody.inside == 1; });
    client.close();
    wait_until([&] { return ended.load(); });
}

TEST(errand, finds_a_server_by_its_name_on_a_worker) {
    Crowd one(1);
    Started upstream(one.service());
    Started started(asks(url_of(upstream.port, "localhost"), parking(), Lane::network));
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().body, "together");
    EXPECT_EQ(started.server.load(Lane::slow).threads, 1u);
}

// Opaque: compilers take a function's thread for one and the same from begin to end.
[[gnu::noipa]] std::thread::id this_thread() {
    return std::this_thread::get_id();
}

TEST(errand, that_may_block_leaves_the_network_thread_for_good) {
    Crowd one(1);
    Started upstream(one.service());
    std::thread::id loop, before, blocking, after;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        loop = this_thread();
        auto work = [&] {
            before = this_thread();
            leave_network();
            blocking = this_thread();
            (void)HttpClient(url_of(upstream.port), parking()).send(make_request("GET", "/"));
            after = this_thread();
        };
        co_await exchange.run(work, Lane::network);
        EXPECT_EQ(this_thread(), loop);
        exchange.answer(HttpResponse(200));
    };
    HttpServerOptions options;
    options.slow_threads = 1;
    Started started(service, options);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    EXPECT_EQ(before, loop);
    EXPECT_NE(blocking, loop);
    EXPECT_EQ(after, blocking);
}

TEST(errand, goes_on_elsewhere_while_what_it_left_behind_blocks_its_thread) {
    std::atomic<bool> answered = false, ended = false;
    std::thread::id before, aside, after;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            before = this_thread();
            Errand::current()->do_aside([&](const auto& go_on) {
                aside = this_thread();
                go_on();
                wait_until([&] { return answered.load(); });
                ended = true;
            });
            after = this_thread();
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    EXPECT_FALSE(ended);
    answered = true;
    wait_until([&] { return ended.load(); });
    EXPECT_EQ(aside, before);
    EXPECT_NE(after, before);
}

TEST(errand, goes_on_where_it_was_behind_what_never_lets_it_go) {
    std::thread::id before, aside, after;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            before = this_thread();
            Errand::current()->do_aside([&](const auto&) { aside = this_thread(); });
            after = this_thread();
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    EXPECT_EQ(aside, before);
    EXPECT_EQ(after, before);
}

TEST(errand, waits_for_the_only_worker_that_is_busy_with_what_it_left_behind) {
    std::atomic<bool> ended = false, went_on_late = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            Errand::current()->do_aside([&](const auto& go_on) {
                go_on();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                ended = true;
            });
            went_on_late = ended.load();
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    HttpServerOptions options;
    options.slow_threads = 1;
    Started started(service, options);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    EXPECT_TRUE(went_on_late);
}

TEST(errand, that_waits_on_a_worker_goes_on_on_the_thread_that_ends_the_wait) {
    std::thread::id other, after;
    std::jthread ending;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            Errand::current()->wait_for([&](Errand::GoOn go_on) {
                ending = std::jthread([&, go_on] {
                    other = this_thread();
                    go_on();
                });
            });
            after = this_thread();
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    ending.join();
    EXPECT_EQ(after, other);
}

TEST(errand, that_waits_on_the_network_thread_goes_on_there) {
    std::thread::id loop, after;
    std::jthread ending;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        loop = this_thread();
        auto work = [&] {
            Errand::current()->wait_for(
                [&](const Errand::GoOn& go_on) { ending = std::jthread([go_on] { go_on(); }); });
            Errand::current()->wait_for([](const Errand::GoOn& go_on) { go_on(); });
            after = this_thread();
        };
        co_await exchange.run(work, Lane::network);
        exchange.answer(HttpResponse(200));
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().status, 200);
    ending.join();
    EXPECT_EQ(after, loop);
}

TEST(errand, pauses_without_a_thread) {
    std::atomic<int> paused = 0;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            ++paused;
            while (paused < 20) EXPECT_TRUE(pause_ms(2, {}));
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    HttpServerOptions options;
    options.slow_threads = 1;
    Started started(service, options);
    std::vector<std::unique_ptr<WireClient>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(std::make_unique<WireClient>(started.port));
        all.back()->send(get);
    }
    for (const auto& client : all) EXPECT_EQ(client->receive_answer().status, 200);
}

// The server behind is read as slowly as the client reads, and others are served meanwhile.
TEST(errand, holds_a_stream_back_whose_client_does_not_read) {
    std::atomic<std::size_t> sent = 0;
    const std::string piece(10'000, 'x');
    const auto endless = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head(200);
        bool open = co_await exchange.start(std::move(head));
        for (int i = 0; open && i < 2000; ++i) {
            open = co_await exchange.write(piece);
            sent += piece.size();
        }
    };
    Started upstream(endless);
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            if (exchange.request().path == "/other")
                return exchange.answer_from_worker(HttpResponse(200, "served"));
            HttpClient client(url_of(upstream.port), parking());
            exchange.start_from_worker(HttpResponse(200));
            (void)client.stream(make_request("GET", "/"), [&](std::string_view bytes) {
                return exchange.write_from_worker(bytes);
            });
        };
        co_await exchange.run(work, Lane::network);
    };
    HttpServerOptions options;
    options.stream_buffer_bytes = 64 * 1024;
    Started started(service, options);
    WireClient slow(started.port, 4096);
    slow.send(get);
    std::size_t before = 1;
    wait_until([&] { return std::exchange(before, sent.load()) == sent && sent > 0; });
    WireClient other(started.port);
    other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(other.receive_answer().body, "served");
    EXPECT_LT(sent, 15'000'000u) << "what two sockets hold, not all of it";
    std::size_t received = 0;
    for (std::string all = "x"; !all.empty() && received < 20'000'000;) {
        all = slow.receive_some();
        received += static_cast<std::size_t>(std::ranges::count(all, 'x'));
    }
    EXPECT_EQ(received, 20'000'000u);
}

TEST(errand, of_one_more_than_may_be_under_way_waits_for_its_turn) {
    Crowd two(2);
    Started upstream(two.service());
    HttpServerOptions options;
    options.errands_max = 1;
    Started started(asks(url_of(upstream.port), parking(), Lane::network), options);
    WireClient first(started.port), second(started.port);
    first.send(get);
    wait_until([&] { return two.inside == 1; });
    second.send(get);
    wait_until([&] { return started.server.load(Lane::slow).waiting == 1; });
    EXPECT_EQ(started.server.errands(), 1u);
    ++two.inside;
    EXPECT_EQ(first.receive_answer().body, "together");
    EXPECT_EQ(second.receive_answer().body, "together");
}

// Otherwise the one that the others wait for would never get a thread.
TEST(workers, that_all_wait_for_a_job_without_a_thread_get_one_more) {
    std::atomic<int> inside = 0;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        auto work = [&] {
            ++inside;
            while (inside < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        co_await exchange.run(work, Lane::slow);
        exchange.answer(HttpResponse(200));
    };
    HttpServerOptions options;
    options.usual_slow_threads = 2;
    options.linger_timeout_ms = 20;  // How often it looks hangs on the shortest.
    Started started(service, options);
    WireClient first(started.port), second(started.port), third(started.port);
    for (WireClient* const client : {&first, &second, &third}) client->send(get);
    for (WireClient* const client : {&first, &second, &third})
        EXPECT_EQ(client->receive_answer().status, 200);
    // A thread that is slow to begin looks like one that waits: there may be more than three.
    EXPECT_GE(started.server.load(Lane::slow).threads, 3u);
}

TEST(turnstile, lets_those_who_wait_in_by_the_order_in_which_they_came) {
    Turnstile turnstile(1);
    std::string order;
    EXPECT_TRUE(turnstile.enter([] {}));
    EXPECT_FALSE(turnstile.full(1));
    EXPECT_FALSE(turnstile.enter([&] { order += "a"; }));
    EXPECT_FALSE(turnstile.enter([&] { order += "b"; }));
    EXPECT_TRUE(turnstile.full(2));
    turnstile.leave();
    EXPECT_EQ(order, "a");
    turnstile.leave();
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(turnstile.inside(), 1u);
    turnstile.leave();
    EXPECT_EQ(turnstile.inside(), 0u);
}

}  // namespace
}  // namespace palimpsest
