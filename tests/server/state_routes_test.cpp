// The routes of states that the caller keeps, with models of the server's own.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "server/running.h"

namespace palimpsest {
namespace {

std::string filler() {
    std::string text;
    for (int n = 0; n < 60; ++n) text += " word" + std::to_string(n);
    return text;
}

}  // namespace

TEST(state_routes, use_the_servers_prices_and_windows) {
    MemoryOptions terms;
    terms.models.push_back(
        {.name = "echo", .window_tokens = 1000, .input_price = 1e3, .output_price = 1e3});
    const Running running("memory:", {}, terms);
    const std::string strategy =
        R"({"triggers":{"remaining_pct":0.5},"passes":[{"pass":"keep_last","turns":1}]})";
    std::string state;
    bool compacted = false;
    for (int i = 0; i < 6; ++i) {
        const Told told =
            running.ask("POST", "/api/v1/state/chat",
                        R"({"state":)" + json_string(state) + R"(,"message":)" +
                            json_string(filler()) + R"(,"memory_strategy":)" + strategy + "}");
        ASSERT_EQ(told.status(), 200) << told.response.body;
        ASSERT_TRUE(told.json().find("cost")->is_object()) << told.response.body;
        EXPECT_GT(told.json().find("cost")->find("dollars")->number().value(), 0.01);
        compacted = compacted || told.json().find("compaction")->is_object();
        state = told.text("state");
    }
    EXPECT_TRUE(compacted);
    // Also where no model is called: its window counts when it is named.
    for (const std::string_view model : {R"("model":"echo",)", ""}) {
        std::string grown;
        bool shrunk = false;
        for (int i = 0; i < 8; ++i) {
            const Told told =
                running.ask("POST", "/api/v1/state/append",
                            R"({"state":)" + json_string(grown) + R"(,"message":)" +
                                json_string(filler()) + "," + std::string(model) +
                                R"("compact":true,"memory_strategy":)" + strategy + "}");
            ASSERT_EQ(told.status(), 200) << told.response.body;
            grown = told.text("state");
            shrunk = shrunk || told.json().find("compaction")->is_object();
        }
        EXPECT_EQ(shrunk, !model.empty());
    }
}

}  // namespace palimpsest
