// started: a server on a free loopback port for the length of a test.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "net/http.h"

namespace palimpsest {

// A started server; fails the test if it cannot start.
class Started {
public:
    explicit Started(HttpService service, HttpServerOptions options = {})
        : server(std::move(options), std::move(service)) {
        const auto result = server.start();
        EXPECT_TRUE(result) << result.error().message;
        port = result.value_or(0);
    }
    HttpServer server;
    std::uint16_t port = 0;
};

}  // namespace palimpsest
