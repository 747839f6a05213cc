// What a server does with clients that send nonsense, too much, too slowly or too often.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "malformed.h"
#include "started.h"
#include "wire_client.h"

namespace palimpsest {
namespace {

// Counts how often it is called and remembers the paths.
struct Seen {
    HttpService service() {
        return on_workers([this](const HttpRequest& request) {
            const std::scoped_lock lock(mutex);
            paths.push_back(request.path);
            return HttpResponse(200, std::to_string(request.body.size()));
        });
    }
    std::vector<std::string> take() {
        const std::scoped_lock lock(mutex);
        return std::exchange(paths, {});
    }
    std::mutex mutex;
    std::vector<std::string> paths;
};

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + 1))
        ++count;
    return count;
}

HttpServerOptions impatient() {
    HttpServerOptions options;
    options.head_timeout_ms = 60;
    options.body_timeout_ms = 60;
    options.idle_timeout_ms = 60;
    options.write_timeout_ms = 60;
    options.linger_timeout_ms = 60;
    return options;
}

TEST(server_limits, malformed_bytes_get_one_refusal_and_nothing_behind_them_is_read) {
    Seen seen;
    HttpServerOptions options;
    options.linger_timeout_ms = 50;
    Started started(seen.service(), options);
    for (const Malformed& row : malformed) {
        WireClient client(started.port);
        client.send(row.bytes);
        client.send("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
        client.end_writing();
        const std::string all = client.receive_all();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 " + std::to_string(row.status) + " "))
            << row.name << ": " << all;
        EXPECT_EQ(count_of(all, "Content-Length: "), 1U) << row.name;
        EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << row.name;
        EXPECT_NE(all.find(R"({"error":{"type":"invalid_request","code":"invalid_request")"),
                  std::string::npos)
            << row.name;
        EXPECT_NE(all.find(R"("param":null}})"), std::string::npos) << row.name;
        EXPECT_TRUE(seen.take().empty()) << row.name;
    }
}

TEST(server_limits, a_long_target_or_head_is_refused) {
    Seen seen;
    Started started(seen.service());
    const auto status_of = [&](const std::string& bytes, std::string_view code) {
        WireClient client(started.port);
        client.send(bytes);
        const auto answer = client.receive_answer();
        EXPECT_NE(answer.body.find("\"code\":\"" + std::string(code)), std::string::npos);
        EXPECT_EQ(answer.body.find("it may have 32768 bytes; shorten") != std::string::npos,
                  answer.status == 414)
            << answer.body;
        return answer.status;
    };
    EXPECT_EQ(status_of("GET /" + std::string(33'000, 'a'), "invalid_request"), 414);
    const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
    EXPECT_EQ(status_of(start + "X: " + std::string(1'000'000, 'a'), "too_large"), 431);
    std::string fields = start;
    for (int i = 0; i < 10'000; ++i) fields += "a: b\r\n";
    EXPECT_EQ(status_of(fields, "too_large"), 431);
    EXPECT_TRUE(seen.take().empty());
}

TEST(server_limits, a_body_that_says_it_is_too_large_is_refused_unread) {
    Seen seen;
    HttpServerOptions options;
    options.max_body_bytes = 1000;
    Started started(seen.service(), options);
    WireClient client(started.port);
    client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    const auto answer = client.receive_answer();
    EXPECT_EQ(answer.status, 413);
    EXPECT_NE(answer.body.find("\"code\":\"too_large\""), std::string::npos);
    EXPECT_TRUE(seen.take().empty());
    WireClient fits(started.port);
    fits.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" +
              std::string(1000, 'x'));
    EXPECT_EQ(fits.receive_answer().body, "1000");
}

TEST(server_limits, an_endless_chunked_body_is_refused_at_the_limit) {
    Seen seen;
    HttpServerOptions options;
    options.max_body_bytes = 100'000;
    options.linger_timeout_ms = 50;
    Started started(seen.service(), options);
    WireClient client(started.port);
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
    int sent = 0;
    while (sent < 1'000'000 && client.send(chunk)) ++sent;
    EXPECT_LT(sent, 1'000'000);
    EXPECT_TRUE(seen.take().empty());
}

TEST(server_limits, an_endless_chunked_body_is_told_why) {
    HttpServerOptions options;
    options.max_body_bytes = 10;
    Seen seen;
    Started started(seen.service(), options);
    WireClient client(started.port);
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("8\r\n12345678\r\n8\r\n12345678\r\n");
    EXPECT_EQ(client.receive_answer().status, 413);
}

TEST(server_limits, continue_is_said_before_the_body_is_read) {
    Seen seen;
    Started started(seen.service());
    WireClient client(started.port);
    client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(client.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    EXPECT_EQ(client.receive_answer().body, "3");
    // A client that does not wait is not told.
    client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(client.receive_answer().status, 200);
}

TEST(server_limits, slow_heads_and_bodies_get_408_and_idle_connections_are_closed) {
    Seen seen;
    Started started(seen.service(), impatient());
    WireClient idle(started.port);
    WireClient head(started.port);
    WireClient body(started.port);
    head.send("GET / HTTP/1.1\r\nHo");
    body.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_TRUE(idle.closes());
    const auto late_head = head.receive_answer();
    EXPECT_EQ(late_head.status, 408);
    EXPECT_NE(late_head.body.find("head"), std::string::npos);
    EXPECT_EQ(body.receive_answer().status, 408);
    EXPECT_TRUE(seen.take().empty());
}

TEST(server_limits, single_bytes_do_not_keep_a_head_or_a_body_alive) {
    Seen seen;
    Started started(seen.service(), impatient());
    const auto drip = [&](const std::string& start) {
        WireClient client(started.port);
        client.send(start);
        for (int i = 0; i < 200; ++i) {
            if (!client.send("x")) break;
            const std::string answer = client.receive_some(10);
            if (!answer.empty()) return answer.substr(0, 12);
        }
        return std::string("nothing");
    };
    EXPECT_EQ(drip("GET / HTTP/1.1\r\nX: "), "HTTP/1.1 408");
    EXPECT_EQ(drip("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n"), "HTTP/1.1 408");
}

TEST(server_limits, idle_connections_make_room_oldest_first) {
    Seen seen;
    HttpServerOptions options;
    options.max_connections = 3;
    Started started(seen.service(), options);
    std::vector<std::unique_ptr<WireClient>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<WireClient>(started.port));
        clients.back()->send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(clients.back()->receive_answer().status, 200);
    }
    EXPECT_TRUE(clients[0]->closes());
    EXPECT_EQ(started.server.connections(), 3U);
    for (std::size_t i = 1; i < 4; ++i) {
        clients[i]->send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(clients[i]->receive_answer().status, 200) << i;
    }
}

TEST(server_limits, too_many_busy_connections_get_503) {
    std::atomic<bool> release = false;
    HttpServerOptions options;
    options.max_connections = 2;
    Started started(on_workers([&](const HttpRequest&) {
                        release.wait(false);
                        return HttpResponse(200, "late");
                    }),
                    options);
    WireClient first(started.port);
    WireClient second(started.port);
    for (WireClient* client : {&first, &second}) client->send("GET / HTTP/1.1\r\nHost: h\r\n\r\nG");
    while (started.server.connections() < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int i = 0; i < 3; ++i) {
        WireClient third(started.port);
        third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        const auto refused = third.receive_answer();
        EXPECT_EQ(refused.status, 503);
        EXPECT_NE(refused.body.find("\"code\":\"unavailable\""), std::string::npos);
    }
    release = true;
    release.notify_all();
    EXPECT_EQ(first.receive_answer().body, "late");
    EXPECT_EQ(second.receive_answer().body, "late");
}

TEST(server_limits, strangers_are_screened_before_their_body_is_read) {
    Seen seen;
    HttpServerOptions options;
    options.screen = [](const HttpRequest& request) -> std::optional<HttpResponse> {
        if (request.header("Host") == "localhost") return std::nullopt;
        return HttpResponse(421, "not here");
    };
    Started started(seen.service(), options);
    WireClient client(started.port);
    client.send("GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.receive_answer().status, 421);
    EXPECT_EQ(client.receive_answer().status, 200);
    seen.take();
    client.send("POST / HTTP/1.1\r\nHost: evil\r\nContent-Length: 1000\r\n\r\n");
    const auto refused = client.receive_answer();
    EXPECT_EQ(refused.status, 421);
    EXPECT_NE(refused.head.find("Connection: close"), std::string::npos);
    EXPECT_TRUE(seen.take().empty());
}

TEST(server_limits, a_screen_that_throws_costs_one_connection) {
    Seen seen;
    HttpServerOptions options;
    options.screen = [](const HttpRequest& request) -> std::optional<HttpResponse> {
        if (request.path == "/bad") throw std::runtime_error("screen");
        return std::nullopt;
    };
    Started started(seen.service(), options);
    WireClient bad(started.port);
    bad.send("GET /bad HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(bad.receive_answer().status, 503);
    WireClient good(started.port);
    good.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(good.receive_answer().status, 200);
}

TEST(server_limits, a_flood_of_silent_connections_leaves_room_for_an_honest_one) {
    for (const int threads : {1, 2}) {
        Seen seen;
        HttpServerOptions options;
        options.max_connections = 50;
        options.network_threads = threads;
        Started started(seen.service(), options);
        std::vector<std::unique_ptr<WireClient>> flood;
        for (int i = 0; i < 200; ++i) flood.push_back(std::make_unique<WireClient>(started.port));
        WireClient honest(started.port);
        honest.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(honest.receive_answer().status, 200);
        EXPECT_LE(started.server.connections(), 50U);
    }
}

// A soft limit on descriptors for the length of a scope.
class DescriptorLimit {
public:
    explicit DescriptorLimit(rlim_t count) {
        ::getrlimit(RLIMIT_NOFILE, &old_);
        const rlimit low = {.rlim_cur = count, .rlim_max = old_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &old_); }

private:
    rlimit old_ = {};
};

std::int64_t cpu_ms() {
    timespec used = {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
}

TEST(server_limits, without_descriptors_it_waits_instead_of_spinning_and_recovers) {
    std::atomic<bool> release = false;
    Started started(on_workers([&](const HttpRequest& request) {
        if (request.path == "/wait") release.wait(false);
        return HttpResponse(200, "fine");
    }));
    // Two busy connections, so that there is no idle one to drop.
    WireClient busy(started.port);
    busy.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    while (started.server.connections() < 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto waiting = std::make_unique<WireClient>(started.port);
    while (started.server.connections() < 2) std::this_thread::yield();
    waiting->send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int probe = ::dup(0);
    ::close(probe);
    {
        // Room for the client's own end of the connection and no more.
        const DescriptorLimit limit(static_cast<rlim_t>(probe) + 1);
        WireClient starved(started.port);
        starved.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        const std::int64_t before = cpu_ms();
        EXPECT_EQ(starved.receive_some(500), "");
        EXPECT_LT(cpu_ms() - before, 250) << "of 500 ms waiting";
        EXPECT_EQ(started.server.connections(), 2U);
    }
    release = true;
    release.notify_all();
    EXPECT_EQ(busy.receive_answer().body, "fine");
    WireClient later(started.port);
    later.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(later.receive_answer().body, "fine");
}

TEST(server_limits, without_descriptors_an_idle_connection_is_dropped_for_a_new_one) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizer asks with a descriptor of its own whether memory can be read";
#endif
    Started started(on_workers([](const HttpRequest&) { return HttpResponse(200, "fine"); }));
    WireClient idle(started.port);
    idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(idle.receive_answer().status, 200);
    const int probe = ::dup(0);
    ::close(probe);
    const DescriptorLimit limit(static_cast<rlim_t>(probe) + 1);
    WireClient starved(started.port);
    starved.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(starved.receive_answer().body, "fine");
    EXPECT_TRUE(idle.closes());
}

}  // namespace
}  // namespace palimpsest
