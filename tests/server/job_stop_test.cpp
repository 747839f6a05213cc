// A server that is stopped does not wait for a model that writes a summary.
#include <gtest/gtest.h>

#include <future>

#include "server/running.h"

namespace palimpsest {
namespace {

constexpr std::string_view fold =
    R"({"triggers":{"soft":{"messages":2},"hard":{"messages":400}},"target":{"tokens":1},)"
    R"("passes":[{"pass":"summarize","keep_turns":1,"max_tokens":40}]})";

// Says nothing, whatever it is asked, until the test lets it go.
class Silent : public Summarizer {
public:
    std::promise<void> asked = {};
    std::promise<void> let_go = {};
    std::stop_token stop = {};
    std::uint64_t window_tokens() const override { return 8000; }
    Result<SummaryText> summarize(const SummaryCall& call) override {
        stop = call.stop;
        asked.set_value();
        let_go.get_future().wait();
        return fail(ErrorCode::unavailable, "too late");
    }
};

TEST(server_stop, leaves_a_summary_that_is_being_written_to_the_next_process) {
    const auto silent = std::make_shared<Silent>();
    auto running = std::make_unique<Running>(
        "memory:", ServerOptions{.run_jobs = true},
        MemoryOptions{.policy = std::string(fold), .summarizer = silent, .background = true});
    const std::string words(400, 'w');
    for (int i = 0; i < 3; ++i)
        running->ask("POST", "/api/v1/chat",
                     R"({"conversation_id":"a","message":"tell me )" + words + "\"}");
    silent->asked.get_future().wait();
    running->server().stop(std::chrono::milliseconds(0));
    // Had it waited, we would not be here: the summariser is still silent.
    EXPECT_TRUE(silent->stop.stop_requested());
    const auto jobs = running->memory().store().list_records(
        {.tenant = "default", .space = "jobs", .prefix = "summary/"});
    ASSERT_EQ(jobs->size(), 1u);
    EXPECT_NE(jobs->front().value.find("\"leased_until\":0"), std::string::npos)
        << jobs->front().value;
    silent->let_go.set_value();
    running.reset();
}

}  // namespace
}  // namespace palimpsest
