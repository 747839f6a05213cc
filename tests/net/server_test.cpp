#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "net/body.h"
#include "net/http.h"
#include "started.h"
#include "wire_client.h"

namespace palimpsest {
namespace {

// Answers with what it understood of the request.
HttpResponse mirror(const HttpRequest& request) {
    HttpResponse response(200, request.method + " " + request.path + " " + request.body,
                          "text/plain");
    response.headers.add("X-Thread", "worker");
    return response;
}

TEST(http_server, answers_a_plain_request) {
    Started started(on_workers(mirror));
    WireClient client(started.port);
    client.send("GET /a/b?c=d HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto answer = client.receive_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "GET /a/b ");
    EXPECT_NE(answer.head.find("X-Thread: worker\r\n"), std::string::npos);
}

TEST(http_server, keeps_a_connection_for_many_requests) {
    Started started(on_workers(mirror));
    WireClient client(started.port);
    for (int i = 0; i < 20; ++i) {
        const std::string body = "body " + std::to_string(i);
        client.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
        EXPECT_EQ(client.receive_answer().body, "POST /x " + body);
    }
    EXPECT_EQ(started.server.connections(), 1U);
}

TEST(http_server, answers_pipelined_requests_in_order) {
    Started started(on_workers(mirror));
    WireClient client(started.port);
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += "POST /" + std::to_string(i) +
               " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    client.send(all);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(client.receive_answer().body, "POST /" + std::to_string(i) + " abc");
}

Task<void> count_to_three(Exchange& exchange) {
    HttpResponse head = event_stream();
    if (!co_await exchange.start(std::move(head))) co_return;
    for (int i = 1; i <= 3; ++i) {
        ServerEvent event("line " + std::to_string(i) + "\nsecond", "count", std::to_string(i));
        if (!co_await exchange.send(std::move(event))) co_return;
        co_await exchange.sleep_ms(1);
    }
}

TEST(http_server, streams_events_one_by_one_and_keeps_the_connection) {
    Started started(count_to_three);
    WireClient client(started.port);
    for (int round = 0; round < 2; ++round) {
        client.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
        const std::string head = client.receive_until("\r\n\r\n");
        EXPECT_NE(head.find("Content-Type: text/event-stream"), std::string::npos);
        EXPECT_NE(head.find("Cache-Control: no-cache"), std::string::npos);
        EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos);
        for (int i = 1; i <= 3; ++i) {
            const std::string n = std::to_string(i);
            EXPECT_EQ(
                client.receive_until("\n\n\r\n"),
                "2e\r\nevent: count\nid: " + n + "\ndata: line " + n + "\ndata: second\n\n\r\n");
        }
        EXPECT_EQ(client.receive_until("0\r\n\r\n"), "0\r\n\r\n");
    }
}

TEST(http_server, lives_on_when_a_function_throws) {
    Started started(on_workers([](const HttpRequest& request) -> HttpResponse {
        if (request.path == "/memory") throw std::bad_alloc();
        if (request.path == "/logic") throw std::logic_error("secret detail");
        if (request.path == "/number") throw 42;
        return HttpResponse(200, "fine");
    }));
    WireClient client(started.port);
    const auto ask = [&](const std::string& path) {
        client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
        return client.receive_answer();
    };
    EXPECT_EQ(ask("/memory").status, 503);
    const auto logic = ask("/logic");
    EXPECT_EQ(logic.status, 500);
    EXPECT_NE(logic.body.find("\"code\":\"internal\""), std::string::npos);
    EXPECT_EQ(logic.body.find("secret"), std::string::npos);
    EXPECT_EQ(ask("/number").status, 500);
    EXPECT_EQ(ask("/").body, "fine");
}

TEST(http_server, runs_functions_on_workers_and_comes_back) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        const auto here = std::this_thread::get_id();
        auto work = [] { return std::this_thread::get_id(); };
        const auto there = co_await exchange.run(work);
        const bool returned = std::this_thread::get_id() == here;
        exchange.answer(HttpResponse(200, there != here && returned ? "hopped" : "stayed"));
    };
    Started started(service);
    WireClient client(started.port);
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.receive_answer().body, "hopped");
}

TEST(http_server, lets_a_worker_write_to_the_stream) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        HttpResponse head(200, {}, "text/plain");
        co_await exchange.start(std::move(head));
        auto work = [&] {
            for (int i = 0; i < 3; ++i)
                if (!exchange.write_from_worker(std::to_string(i))) return;
        };
        co_await exchange.run(work, Lane::slow);
    };
    Started started(service);
    WireClient client(started.port);
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    client.receive_until("\r\n\r\n");
    // How the pieces fall into chunks is up to the network thread.
    std::string body;
    ChunkedBody chunks(100);
    const std::string bytes = client.receive_all();
    ASSERT_EQ(chunks.take(bytes, body), bytes.size());
    EXPECT_TRUE(chunks.done());
    EXPECT_EQ(body, "012");
}

TEST(http_server, tells_which_address_is_taken) {
    Started first(on_workers(mirror));
    HttpServerOptions options;
    options.port = first.port;
    HttpServer second(options, on_workers(mirror));
    const auto result = second.start();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_NE(result.error().message.find("127.0.0.1:" + std::to_string(first.port)),
              std::string::npos);
    EXPECT_NE(result.error().message.find("address in use"), std::string::npos);
}

TEST(http_server, stops_twice_and_refuses_connections_afterwards) {
    Started started(on_workers(mirror));
    WireClient client(started.port);
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.receive_answer().status, 200);
    started.server.stop(1000);
    started.server.stop(1000);
    EXPECT_TRUE(client.closes());
    EXPECT_THROW(WireClient late(started.port), std::runtime_error);
}

}  // namespace
}  // namespace palimpsest
