#include "server/running.h"

namespace palimpsest {
namespace {

TEST(rest, answers_the_probes) {
    const Running running;
    EXPECT_EQ(running.ask("GET", "/healthz").text("status"), "ok");
    const Told ready = running.ask("GET", "/readyz");
    EXPECT_EQ(ready.status(), 200);
    EXPECT_EQ(ready.text("status"), "ready");
}

TEST(rest, chats) {
    const Running running;
    const Told told = running.ask("POST", "/api/v1/chat", R"({"message":"hello you"})");
    EXPECT_EQ(told.status(), 200) << told.response.body;
}

}  // namespace
}  // namespace palimpsest
