// Stopping a server while it works.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net/http_client.h"
#include "started.h"
#include "wire_client.h"

namespace palimpsest {
namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(server_stop, loses_no_request_that_was_started) {
    for (const int threads : {1, 3}) {
        std::atomic<int> served = 0;
        HttpServerOptions options;
        options.network_threads = threads;
        Started started(on_workers([&](const HttpRequest&) {
                            std::this_thread::sleep_for(std::chrono::microseconds(200));
                            ++served;
                            return HttpResponse(200, "done");
                        }),
                        options);
        std::atomic<int> answered = 0;
        std::atomic<int> begun = 0;
        std::vector<std::thread> clients;
        for (int i = 0; i < 8; ++i)
            clients.emplace_back([&] {
                Url url;
                url.host = "127.0.0.1";
                url.port = started.port;
                HttpClient client(url);
                while (true) {
                    const auto answer = client.send(make_request("POST", "/"));
                    ++begun;
                    if (!answer) return;
                    EXPECT_EQ(answer->body, "done");
                    ++answered;
                }
            });
        while (begun < 200) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        started.server.stop(10'000);
        for (std::thread& client : clients) client.join();
        // Whatever reached the service was answered, and the answer arrived.
        EXPECT_EQ(served, answered);
        EXPECT_EQ(started.server.connections(), 0U);
    }
}

TEST(server_stop, lets_a_running_request_finish_and_says_close) {
    std::atomic<bool> begun = false;
    std::atomic<bool> release = false;
    Started started(on_workers([&](const HttpRequest&) {
        begun = true;
        begun.notify_all();
        release.wait(false);
        return HttpResponse(200, "finished");
    }));
    WireClient client(started.port);
    client.send(get);
    begun.wait(false);
    std::thread stopper([&] { started.server.stop(20'000); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    release = true;
    release.notify_all();
    const auto answer = client.receive_answer();
    EXPECT_EQ(answer.body, "finished");
    EXPECT_NE(answer.head.find("Connection: close"), std::string::npos);
    client.close();
    stopper.join();
}

TEST(server_stop, is_hurried_by_a_second_less_patient_call) {
    std::atomic<bool> begun = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        std::atomic<bool> wake = false;
        const std::stop_callback callback(exchange.stop_token(), [&] {
            wake = true;
            wake.notify_all();
        });
        auto work = [&] {
            begun = true;
            begun.notify_all();
            wake.wait(false);
        };
        co_await exchange.run(work);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    begun.wait(false);
    std::thread patient([&] { started.server.stop(600'000); });
    started.server.stop(0);
    patient.join();
}

TEST(server_stop, tells_streams_to_end_and_they_end_well) {
    const auto service = [](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        co_await exchange.start(std::move(head));
        co_await exchange.sleep_ms(600'000);
        if (exchange.draining()) co_await exchange.send(ServerEvent("bye"));
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.receive_until("\r\n\r\n");
    std::thread stopper([&] { started.server.stop(20'000); });
    EXPECT_EQ(client.receive_all(), "b\r\ndata: bye\n\n\r\n0\r\n\r\n");
    client.close();
    stopper.join();
}

TEST(server_stop, cuts_what_does_not_end_within_the_grace) {
    std::atomic<bool> told = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        bool sent = co_await exchange.start(std::move(head));
        const std::stop_token token = exchange.stop_token();
        auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
        while (sent) {
            co_await exchange.run(nap);
            sent = co_await exchange.write("x");
        }
        told = token.stop_requested();
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.receive_until("\r\n\r\n");
    started.server.stop(30);
    EXPECT_TRUE(told);
    EXPECT_FALSE(client.receive_all().ends_with("0\r\n\r\n"));
}

TEST(server_stop, sends_the_last_words_of_a_stream_whose_grace_is_over) {
    std::atomic<bool> begun = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        HttpResponse head = event_stream();
        co_await exchange.start(std::move(head));
        const std::stop_token halt = exchange.halt_token();
        auto work = [&] {
            begun = true;
            begun.notify_all();
            while (!halt.stop_requested()) std::this_thread::yield();
            exchange.write_from_worker("data: cut\n\n");
        };
        co_await exchange.run(work);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    begun.wait(false);
    std::thread stopper([&] { started.server.stop(0); });
    EXPECT_TRUE(client.receive_all().ends_with("b\r\ndata: cut\n\n\r\n0\r\n\r\n"));
    client.close();
    stopper.join();
}

TEST(server_stop, halts_also_what_goes_on_without_its_client) {
    std::atomic<bool> gone = false, halted_early = false, halted = false;
    const auto service = [&](Exchange& exchange) -> Task<void> {
        const std::stop_token stop = exchange.stop_token(), halt = exchange.halt_token();
        auto work = [&] {
            while (!stop.stop_requested()) std::this_thread::yield();
            halted_early = halt.stop_requested();
            gone = true;
            gone.notify_all();
            while (!halt.stop_requested()) std::this_thread::yield();
            halted = true;
        };
        co_await exchange.run(work);
    };
    Started started(service);
    WireClient client(started.port);
    client.send(get);
    client.close();
    gone.wait(false);
    EXPECT_FALSE(halted_early);
    started.server.stop(0);
    EXPECT_TRUE(halted);
}

TEST(server_stop, is_safe_before_and_without_start) {
    HttpServer server(HttpServerOptions{},
                      on_workers([](const HttpRequest&) { return HttpResponse(200); }));
    server.stop(0);
    server.stop(0);
}

TEST(server_stop, serves_what_had_arrived_on_an_idle_connection) {
    Started started(on_workers([](const HttpRequest&) { return HttpResponse(200, "served"); }));
    for (int i = 0; i < 20; ++i) {
        Started other(on_workers([](const HttpRequest&) { return HttpResponse(200, "served"); }));
        WireClient client(other.port);
        client.send(get);
        client.receive_answer();
        client.send(get);
        std::thread stopper([&] { other.server.stop(10'000); });
        EXPECT_EQ(client.receive_answer().body, "served");
        client.close();
        stopper.join();
    }
}

}  // namespace
}  // namespace palimpsest
