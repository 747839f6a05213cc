// Streams: clients that leave, clients that do not read, and old ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "started.h"
#include "wire_client.h"

namespace palimpsest {
namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

void wait_until(const std::atomic<bool>& flag) {
    flag.wait(false);
}
void raise(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
}

TEST(server_stream, notices_that_a_client_has_gone_while_it_is_quiet) {
    std::atomic<bool> slept_short = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        co_await exchange.start(std::move(head));
        const bool whole = co_await exchange.sleep_ms(600'000);
        if (!whole && exchange.gone()) raise(slept_short);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.receive_until("\r\n\r\n");
    client.close();
    wait_until(slept_short);
}

TEST(server_stream, stops_work_for_a_client_that_has_gone) {
    std::atomic<bool> begun = false;
    std::atomic<bool> stopped = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        const std::stop_token token = exchange.stop_token();
        std::atomic<bool> wake = false;
        const std::stop_callback callback(token, [&] { raise(wake); });
        auto work = [&] {
            raise(begun);
            wait_until(wake);
            return token.stop_requested();
        };
        const bool told = co_await exchange.run(work, Lane::slow);
        if (told) raise(stopped);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    wait_until(begun);
    client.close();
    wait_until(stopped);
}

TEST(server_stream, fails_to_write_to_a_client_that_has_gone) {
    std::atomic<bool> ended = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        bool sent = co_await exchange.start(std::move(head));
        while (sent) {
            ServerEvent event("tick");
            sent = co_await exchange.send(std::move(event));
        }
        raise(ended);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.receive_until("tick");
    client.close();
    wait_until(ended);
}

TEST(server_stream, answers_a_client_that_has_closed_only_its_writing_side) {
    Started started(on_workers([](const HttpRequest&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return HttpResponse(200, "still here");
    }));
    WireClient client(started.port);
    client.send(get);
    client.end_writing();
    EXPECT_EQ(client.receive_answer().body, "still here");
    EXPECT_TRUE(client.closes());
}

TEST(server_stream, is_slowed_down_by_a_slow_reader_and_holds_no_more_than_the_kernel) {
    std::atomic<std::size_t> handed_over = 0;
    const std::string piece(16 * 1024, 'x');
    constexpr std::size_t pieces = 4000;  // 64 MB
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head(200);
        co_await exchange.start(std::move(head));
        for (std::size_t i = 0; i < pieces; ++i) {
            const bool sent = co_await exchange.write(piece);
            if (!sent) co_return;
            handed_over += piece.size();
        }
    };
    Started started(service);
    WireClient client(started.port, 64 * 1024);
    client.send(get);
    // Stalls when the buffers of both ends are full: the same count twice in 100 ms.
    std::size_t before = 1;
    while (before != handed_over || handed_over == 0) {
        before = handed_over;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_LT(handed_over, 16U * 1024 * 1024);
    std::size_t read = 0;
    std::string tail;
    while (!tail.ends_with("\r\n0\r\n\r\n")) {
        const std::string some = client.receive_some();
        ASSERT_FALSE(some.empty());
        read += some.size();
        tail = (tail + some)
                   .substr(tail.size() + some.size() > 16 ? tail.size() + some.size() - 16 : 0);
    }
    EXPECT_GT(read, pieces * piece.size());
    EXPECT_EQ(handed_over, pieces * piece.size());
}

TEST(server_stream, is_cut_when_the_reader_stops_for_too_long) {
    std::atomic<bool> cut = false;
    const std::string piece(16 * 1024, 'x');
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head(200);
        bool sent = co_await exchange.start(std::move(head));
        auto work = [&] {
            while (exchange.write_from_worker(piece)) {
            }
        };
        if (sent) co_await exchange.run(work, Lane::slow);
        if (exchange.gone()) raise(cut);
    };
    HttpServerOptions options;
    options.write_timeout_ms = 50;
    Started started(service, options);
    WireClient client(started.port, 64 * 1024);
    client.send(get);
    wait_until(cut);
}

TEST(server_stream, of_readers_that_do_not_read_holds_no_worker) {
    const std::string piece(1000, 'x');
    std::atomic<int> written = 0;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head(200);
        bool sent = co_await exchange.start(std::move(head));
        auto work = [&] {
            for (int i = 0; i < 900 && exchange.write_from_worker(piece); ++i) {
            }
            ++written;
        };
        if (sent) co_await exchange.run(work, Lane::slow);
    };
    HttpServerOptions options;
    options.slow_threads = 2;
    Started started(service, options);
    std::vector<std::unique_ptr<WireClient>> idlers;
    for (int i = 0; i < 6; ++i) {
        idlers.push_back(std::make_unique<WireClient>(started.port, 4096));
        idlers.back()->send(get);
    }
    while (written < 6) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::string all;
    while (!all.ends_with("\r\n0\r\n\r\n")) {
        const std::string some = idlers.back()->receive_some();
        ASSERT_FALSE(some.empty());
        all += some;
    }
    EXPECT_EQ(std::ranges::count(all, 'x'), 900 * 1000);
}

TEST(server_stream, leaves_time_for_others_however_fast_it_is_read) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        if (exchange.request().path == "/other") {
            exchange.answer(HttpResponse(200, "served"));
            co_return;
        }
        HttpResponse head(200);
        bool sent = co_await exchange.start(std::move(head));
        while (sent) sent = co_await exchange.write("x");
    };
    Started started(service);
    WireClient endless(started.port);
    endless.send(get);
    std::atomic<bool> enough = false;
    std::thread reader([&] {
        while (!enough) endless.receive_some();
        endless.close();
    });
    WireClient other(started.port);
    for (int i = 0; i < 20; ++i) {
        other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(other.receive_answer().body, "served");
    }
    enough = true;
    reader.join();
}

TEST(server_stream, ends_without_its_end_when_the_service_fails) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        co_await exchange.start(std::move(head));
        ServerEvent event("one");
        co_await exchange.send(std::move(event));
        throw std::runtime_error("in the middle");
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.receive_until("\r\n\r\n");
    EXPECT_EQ(client.receive_all(), "b\r\ndata: one\n\n\r\n");
}

TEST(server_stream, ends_by_closing_for_an_old_client) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        HttpResponse head(200, "first ", "text/plain");
        co_await exchange.start(std::move(head));
        co_await exchange.write("second");
    };
    Started started(service);
    WireClient client(started.port);
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const std::string all = client.receive_all();
    EXPECT_EQ(all.find("chunked"), std::string::npos);
    EXPECT_TRUE(all.ends_with("\r\n\r\nfirst second")) << all;
}

TEST(server_stream, has_no_body_for_head_requests) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        const bool wanted = co_await exchange.start(std::move(head));
        EXPECT_FALSE(wanted);
    };
    Started started(service);
    WireClient client(started.port);
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    client.receive_until("\r\n\r\n");
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(client.receive_all().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST(server_answer, of_a_head_request_has_a_length_and_no_body) {
    Started started(on_workers([](const HttpRequest&) { return HttpResponse(200, "12345"); }));
    WireClient client(started.port);
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const std::string all = client.receive_all();
    EXPECT_NE(all.find("Content-Length: 5\r\n"), std::string::npos);
    EXPECT_TRUE(all.ends_with("\r\n\r\n"));
}

TEST(server_answer, of_an_old_client_says_that_the_connection_stays) {
    Started started(on_workers([](const HttpRequest&) { return HttpResponse(200, "x"); }));
    WireClient client(started.port);
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(client.receive_answer().head.find("Connection: keep-alive\r\n"), std::string::npos);
    client.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(client.receive_answer().head.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(client.closes());
}

TEST(server_answer, is_500_when_the_service_gives_none_or_an_impossible_one) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        if (exchange.request().path == "/low") exchange.answer(HttpResponse(99));
        if (exchange.request().path == "/high") exchange.answer(HttpResponse(1000));
        co_return;
    };
    Started started(service);
    WireClient client(started.port);
    for (const std::string path : {"/none", "/low", "/high"}) {
        client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(client.receive_answer().status, 500) << path;
    }
}

TEST(server_answer, of_fifty_megabytes_arrives_whole) {
    const std::string body(50'000'000, 'b');
    Started started(on_workers([&](const HttpRequest&) { return HttpResponse(200, body); }));
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().body.size(), body.size());
}

TEST(server_peer, is_the_clients_address) {
    Started started(on_workers([](const HttpRequest& r) { return HttpResponse(200, r.peer); }));
    WireClient client(started.port);
    client.send(get);
    EXPECT_EQ(client.receive_answer().body, "127.0.0.1");
}

}  // namespace
}  // namespace palimpsest
