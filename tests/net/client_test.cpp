#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "net/http_client.h"
#include "net/listen.h"
#include "started.h"

namespace palimpsest {
namespace {

Url loopback(std::uint16_t port) {
    Url url;
    url.host = "127.0.0.1";
    url.port = port;
    return url;
}

HttpResponse mirror(const HttpRequest& request) {
    return HttpResponse(request.path.ends_with("/missing") ? 404 : 200,
                        request.method + " " + request.target + " " + request.body);
}

// Accepts one connection after the other and plays a script to each: reads until the end of a head,
// then writes the bytes and closes.
class Scripted {
public:
    explicit Scripted(std::vector<std::string> scripts) {
        const auto listener = listen_on("127.0.0.1", 0);
        EXPECT_TRUE(listener);
        fd_ = listener->descriptor;
        port = listener->port;
        thread_ = std::thread([this, scripts = std::move(scripts)] {
            for (const std::string& script : scripts) play(script);
        });
    }
    ~Scripted() {
        thread_.join();
        ::close(fd_);
    }
    std::uint16_t port = 0;

private:
    static void wait_for(int fd) {
        pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, 20'000);
    }
    void play(const std::string& script) const {
        wait_for(fd_);
        const Accepted client = accept_from(fd_);
        if (client.descriptor < 0) return;
        std::string request;
        while (!request.contains("\r\n\r\n")) {
            char buffer[4096];
            wait_for(client.descriptor);
            const ssize_t n = ::recv(client.descriptor, buffer, sizeof buffer, 0);
            if (n <= 0) break;
            request.append(buffer, static_cast<std::size_t>(n));
        }
        ::send(client.descriptor, script.data(), script.size(), MSG_NOSIGNAL);
        // "…" at the end of a script: stay silent until the client leaves.
        if (script.ends_with("…")) wait_for(client.descriptor);
        ::close(client.descriptor);
    }
    int fd_ = -1;
    std::thread thread_;
};

TEST(http_client, asks_and_keeps_its_connection) {
    Started started(on_workers(mirror));
    Url url = loopback(started.port);
    url.path = "/v1";
    HttpClient client(url);
    for (int i = 0; i < 3; ++i) {
        const auto answer = client.send(make_request("POST", "/x?y", "body", "text/plain"));
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->body, "POST /v1/x?y body");
    }
    EXPECT_EQ(client.send(make_request("GET", "/missing"))->status, 404);
    EXPECT_EQ(client.send(make_request("HEAD", "/x"))->body, "");
    EXPECT_EQ(started.server.connections(), 1U);
}

TEST(http_client, sends_and_gets_large_bodies) {
    Started started(on_workers(mirror));
    HttpClient client(loopback(started.port));
    const std::string body(5'000'000, 'x');
    const auto answer = client.send(make_request("PUT", "/", body, "text/plain"));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body.size(), body.size() + 6);
}

TEST(http_client, connects_again_when_the_server_has_closed) {
    HttpServerOptions options;
    options.idle_timeout_ms = 20;
    Started started(on_workers(mirror), options);
    HttpClient client(loopback(started.port));
    EXPECT_TRUE(client.send(make_request("GET", "/")));
    while (started.server.connections() > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(client.send(make_request("POST", "/")));
}

TEST(http_client, says_unavailable_when_nobody_listens) {
    const auto listener = listen_on("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    ::close(listener->descriptor);
    HttpClient client(loopback(listener->port));
    const auto answer = client.send(make_request("GET", "/"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
    EXPECT_NE(answer.error().message.find("127.0.0.1:"), std::string::npos);
}

TEST(http_client, does_not_know_the_outcome_of_what_was_cut) {
    const std::vector<std::string> scripts = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    };
    Scripted server(scripts);
    HttpClient client(loopback(server.port));
    for (const std::string& script : scripts) {
        const auto answer = client.send(make_request("POST", "/"));
        ASSERT_FALSE(answer) << script;
        EXPECT_EQ(answer.error().code, ErrorCode::outcome_unknown) << script;
    }
}

TEST(http_client, does_not_know_the_outcome_of_what_timed_out) {
    const std::vector<std::string> scripts = {
        "…", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc…", "HTTP/1.1 200 OK\r\n\r\nabc…"};
    Scripted server(scripts);
    HttpClientOptions options;
    options.first_byte_timeout_ms = 30;
    options.idle_timeout_ms = 30;
    HttpClient client(loopback(server.port), options);
    for (const std::string& script : scripts) {
        const auto answer = client.send(make_request("POST", "/"));
        ASSERT_FALSE(answer) << script;
        EXPECT_EQ(answer.error().code, ErrorCode::outcome_unknown) << script;
        EXPECT_NE(answer.error().message.find("timed out"), std::string::npos);
    }
}

TEST(http_client, reads_every_framing_and_skips_interim_answers) {
    Scripted server({"HTTP/1.1 200 OK\r\n\r\nuntil close", "HTTP/1.0 200 OK\r\n\r\nold",
                     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: "
                     "2\r\nConnection: close\r\n\r\nhi",
                     "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: "
                     "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"});
    HttpClient client(loopback(server.port));
    EXPECT_EQ(client.send(make_request("GET", "/"))->body, "until close");
    EXPECT_EQ(client.send(make_request("GET", "/"))->body, "old");
    const auto created = client.send(make_request("GET", "/"));
    EXPECT_EQ(created->status, 201);
    EXPECT_EQ(created->body, "hi");
    EXPECT_EQ(client.send(make_request("GET", "/"))->body, "abc");
}

TEST(http_client, refuses_what_is_not_http_or_too_large) {
    Scripted server({"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n",
                     "HTTP/1.1 200 OK\r\n\r\n12345678901"});
    HttpClientOptions options;
    options.max_body_bytes = 10;
    HttpClient client(loopback(server.port), options);
    const auto code = [&] { return client.send(make_request("GET", "/")).error().code; };
    EXPECT_EQ(code(), ErrorCode::upstream_failed);
    EXPECT_EQ(code(), ErrorCode::too_large);
    EXPECT_EQ(code(), ErrorCode::too_large);
    EXPECT_EQ(code(), ErrorCode::too_large);
}

TEST(http_client, refuses_a_request_that_would_not_be_one) {
    HttpClient client(loopback(1));
    for (const std::string target : {"", "x", "/a b", "/a\r\nX: y", "/#x", "/\xc3\xa4"})
        EXPECT_EQ(client.send(make_request("GET", target)).error().code, ErrorCode::invalid_request)
            << target;
    EXPECT_EQ(client.send(make_request("GE T", "/")).error().code, ErrorCode::invalid_request);
}

TEST(http_client, gets_the_answer_of_a_server_that_did_not_want_the_body) {
    HttpServerOptions options;
    options.max_body_bytes = 1000;
    Started started(on_workers(mirror), options);
    HttpClient client(loopback(started.port));
    const auto answer =
        client.send(make_request("POST", "/", std::string(30'000'000, 'x'), "text/plain"));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 413);
    EXPECT_TRUE(client.send(make_request("POST", "/", "small", "text/plain")));
}

Task<void> stream_numbers(Exchange& exchange) {
    HttpResponse head = event_stream();
    co_await exchange.start(std::move(head));
    for (int i = 0;; ++i) {
        ServerEvent event(std::to_string(i));
        const bool sent = co_await exchange.send(std::move(event));
        if (!sent) co_return;
        co_await exchange.sleep_ms(1);
    }
}

TEST(http_client, hands_over_a_stream_as_it_arrives_until_it_has_enough) {
    Started started(stream_numbers);
    HttpClient client(loopback(started.port));
    std::string seen;
    const auto answer = client.stream(make_request("GET", "/"), [&](std::string_view bytes) {
        seen += bytes;
        return !seen.contains("data: 5\n\n");
    });
    ASSERT_FALSE(answer);
    EXPECT_TRUE(seen.starts_with("data: 0\n\ndata: 1\n\n"));
}

TEST(http_client, collects_the_body_of_an_error_instead_of_streaming_it) {
    Started started(on_workers([](const HttpRequest&) { return HttpResponse(500, "oops"); }));
    HttpClient client(loopback(started.port));
    const auto answer = client.stream(make_request("GET", "/"), [](std::string_view) {
        ADD_FAILURE();
        return true;
    });
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "oops");
}

TEST(http_client, can_be_interrupted_from_another_thread) {
    Scripted server({"…"});
    HttpClient client(loopback(server.port));
    std::stop_source source;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        source.request_stop();
    });
    const auto answer = client.send(make_request("GET", "/"), source.get_token());
    other.join();
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("interrupted"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest
