// RemoteStore over a server in this process: everything that a store must do, it does from afar;
// and what it says when the server is not what it should be.
#include "store/remote_store.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/http.h"
#include "palimpsest/conformance.h"
#include "palimpsest/model.h"
#include "server/server.h"

namespace palimpsest {
namespace {

constexpr std::string_view token = "0123456789abcdef";
constexpr std::int64_t start_ms = 1'700'000'000'000;

// A memory store without expiry of its own, served; its clock moves when told to.
class Held {
public:
    Held()
        : memory_(Memory::open("memory:?ttl=0&max=0",
                               {.store = {.clock = [this] { return Time(Duration(now_.load())); }}})
                      .value()),
          model_(make_echo_model()),
          server_(Server::start(memory_, *model_, {.store_token = std::string(token)}).value()) {}

    Result<std::unique_ptr<Store>> open(std::string_view with = token) const {
        return open_remote_store({.address = "127.0.0.1:" + std::to_string(server_->port()),
                                  .token = std::string(with),
                                  .holder = "pal serve (pid 7)"});
    }
    StoreUnderTest under_test() {
        return {.open = [this] { return open(); },
                .persistent = true,
                .advance_clock = [this](Duration by) { now_ += by.count(); }};
    }
    Server& server() { return *server_; }

private:
    std::atomic<std::int64_t> now_ = start_ms;
    Memory memory_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<Server> server_;
};

struct Case {
    const ConformanceCheck* check;
};
void PrintTo(const Case& of, std::ostream* out) {
    *out << of.check->name;
}
class RemoteConformance : public testing::TestWithParam<Case> {};

TEST_P(RemoteConformance, holds) {
    Held held;
    const CheckResult result = run_check(*GetParam().check, held.under_test());
    EXPECT_EQ(result.outcome, CheckOutcome::passed) << result.message;
}

std::vector<Case> checks() {
    std::vector<Case> all;
    for (const ConformanceCheck& check : conformance_checks()) all.push_back({&check});
    return all;
}
std::string check_name(const testing::TestParamInfo<Case>& of) {
    return std::string(of.param.check->name);
}
INSTANTIATE_TEST_SUITE_P(remote, RemoteConformance, testing::ValuesIn(checks()), check_name);

TEST(remote_store, names_the_holder_when_nobody_listens) {
    Held held;
    const auto store = held.open().value();
    held.server().stop(std::chrono::milliseconds(0));
    const auto header = store->head(ConversationId{"t", "a"});
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::unavailable);
    EXPECT_NE(header.error().message.find("pal serve (pid 7) at 127.0.0.1:"), std::string::npos)
        << header.error().message;
    EXPECT_EQ(store->durability().level, "unknown");
}

TEST(remote_store, is_refused_with_another_token) {
    Held held;
    const auto header = held.open("0123456789abcdeX").value()->head(ConversationId{"t", "a"});
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::unavailable);
    EXPECT_NE(header.error().message.find("401"), std::string::npos) << header.error().message;
}

TEST(remote_store, is_refused_by_a_server_without_a_token) {
    Memory memory = Memory::open("memory:").value();
    const auto model = make_echo_model();
    const auto server = Server::start(memory, *model, {}).value();
    for (const char* guess : {"", "x"}) {
        const auto store =
            open_remote_store(
                {.address = "127.0.0.1:" + std::to_string(server->port()), .token = guess})
                .value();
        EXPECT_FALSE(store->head(ConversationId{"t", "a"}));
    }
}

// The peer reads the request and hangs up: a write may have happened, a read is just not answered.
TEST(remote_store, a_lost_answer_to_a_write_is_unknown_and_to_a_read_unavailable) {
    const auto hang_up = [](Exchange& exchange) -> Task<void> {
        co_await exchange.start(HttpResponse(200));
        throw 1;
    };
    HttpServer server({}, hang_up);
    const auto port = server.start();
    ASSERT_TRUE(port);
    const auto store =
        open_remote_store({.address = "127.0.0.1:" + std::to_string(*port), .token = "t"}).value();
    const auto appended = store->append(ConversationId{"t", "a"}, {});
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, ErrorCode::outcome_unknown) << appended.error().message;
    const auto header = store->head(ConversationId{"t", "a"});
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::unavailable) << header.error().message;
}

TEST(remote_store, an_answer_of_something_else_is_an_error) {
    HttpServer server({},
                      on_workers([](const HttpRequest&) { return HttpResponse(200, "hello"); }));
    const auto port = server.start();
    ASSERT_TRUE(port);
    const auto store =
        open_remote_store({.address = "127.0.0.1:" + std::to_string(*port), .token = "t"}).value();
    const auto header = store->head(ConversationId{"t", "a"});
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::internal);
}

TEST(remote_store, needs_an_address) {
    EXPECT_FALSE(open_remote_store({.address = "nowhere at all"}));
}

}  // namespace
}  // namespace palimpsest
