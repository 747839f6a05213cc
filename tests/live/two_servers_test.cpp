// Two servers on one store: a client's repeat that reaches the other one waits for the turn that
// is being answered, and nothing is stored or asked twice.
#include <future>

#include "live/live.h"
#include "server/gateway.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

using testing_support::running;
using testing_support::unique;

constexpr auto chat_format = FormatId::openai_chat;

// An answer that takes long enough for a repeat to come.
UpstreamReply slow_answer() {
    UpstreamReply reply = says(chat_format, "the only answer");
    reply.delay_ms = 1'000;
    return reply;
}

class TwoServers {
public:
    TwoServers() : upstream({slow_answer()}) {
        const std::string url = unique(running().url());
        for (auto& one : servers_) {
            one.memory = std::make_unique<Memory>(Memory::open(url).value());
            Models models;
            models.add(model_of("m", chat_format, upstream));
            one.server = Server::start(*one.memory, std::move(models), {}).value();
        }
    }

    HttpClient client(std::size_t server) const {
        const std::string port = std::to_string(servers_[server].server->port());
        return HttpClient(parse_url("http://127.0.0.1:" + port).value());
    }
    Told post(std::size_t server, const std::string& target, const std::string& body,
              const HeaderFields& headers) const {
        HttpClient one = client(server);
        return Running::ask(one, "POST", target, body, headers);
    }
    Told get(std::size_t server, const std::string& target) const {
        HttpClient one = client(server);
        return Running::ask(one, "GET", target);
    }

    // The same request at both, the second when the first is under way.
    std::pair<Told, Told> ask_both(const std::string& target, const std::string& body,
                                   const HeaderFields& first, const HeaderFields& second) {
        auto one = std::async(std::launch::async, [&] { return post(0, target, body, first); });
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        Told two = post(1, target, body, second);
        return {one.get(), std::move(two)};
    }

    // How many messages all conversations have.
    std::size_t messages() {
        std::size_t count = 0;
        const auto page = servers_[0].memory->list({.tenant = "default"}).value();
        for (const Header& header : page.headers)
            count += servers_[0]
                         .memory->log(header.name, {.kinds = only(EntryKind::message)})
                         .value()
                         .size();
        return count;
    }

    Upstream upstream;

private:
    struct One {
        std::unique_ptr<Memory> memory;
        std::unique_ptr<Server> server;
    };
    One servers_[2];
};

const HeaderFields first_attempt = {{"x-stainless-retry-count", "0"}},
                   second_attempt = {{"x-stainless-retry-count", "1"}},
                   keyed = {{"Idempotency-Key", "k-1"}};

void expect_one_turn(TwoServers& servers, const Told& first, const Told& second) {
    EXPECT_EQ(first.status(), 200) << first.response.body;
    EXPECT_EQ(second.status(), 200) << second.response.body;
    EXPECT_NE(second.response.body.find("the only answer"), std::string::npos)
        << second.response.body;
    EXPECT_EQ(servers.upstream.requests().size(), 1u);
    EXPECT_EQ(servers.messages(), 2u);
}

// The master key of the store is changed while a server runs that has the old one.
TEST(two_servers, one_that_has_the_old_master_key_is_not_ready_and_says_why) {
    ::setenv("PAL_LIVE_OLD", std::string(64, 'a').c_str(), 1);
    ::setenv("PAL_LIVE_NEW", std::string(64, 'b').c_str(), 1);
    const std::string url = unique(running().url());
    MemoryOptions options;
    options.store.encryption_key = "env:PAL_LIVE_OLD";
    Memory memory = Memory::open(url, std::move(options)).value();
    Models models;
    models.add(make_echo_model());
    const auto server = Server::start(memory, std::move(models), {}).value();
    HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
    const std::string said = R"({"messages":[{"role":"user","content":"Hello"}]})";
    const auto post = [&](const std::string& id) {
        return Running::ask(client, "POST", "/api/v1/conversations/" + id + "/messages", said);
    };
    ASSERT_EQ(post("a").status(), 201);
    ASSERT_EQ(Running::ask(client, "GET", "/readyz").status(), 200);
    const auto inner = open_store(url, {.create = false, .raw = true});
    const auto masters = read_master_keys("env:PAL_LIVE_NEW,env:PAL_LIVE_OLD");
    ASSERT_TRUE(SealedStore::rotate(**inner, *masters));
    const Told refused = post("b"), ready = Running::ask(client, "GET", "/readyz");
    for (const Told* told : {&refused, &ready}) {
        EXPECT_EQ(told->status(), 503);
        EXPECT_NE(told->response.body.find("start it again with the new key"), std::string::npos)
            << told->response.body;
    }
}

TEST(two_servers, a_counted_retry_of_a_completion_waits_for_the_turn_that_runs_elsewhere) {
    TwoServers servers;
    const std::string body =
        R"({"model":"m","conversation":"c","messages":[{"role":"user","content":"Hello"}]})";
    const auto [first, second] =
        servers.ask_both("/v1/chat/completions", body, first_attempt, second_attempt);
    expect_one_turn(servers, first, second);
}

TEST(two_servers, a_streamed_retry_gets_the_whole_answer_of_the_turn_elsewhere) {
    TwoServers servers;
    const std::string body =
        R"({"model":"m","conversation":"c","messages":[{"role":"user","content":"Hello"}]})";
    const std::string streamed = body.substr(0, body.size() - 1) + R"(,"stream":true})";
    const auto [first, second] = servers.ask_both("/v1/chat/completions", streamed, keyed, keyed);
    EXPECT_EQ(stream_text(chat_format, second), "the only answer");
    EXPECT_EQ(servers.upstream.requests().size(), 1u);
    EXPECT_EQ(servers.messages(), 2u);
}

TEST(two_servers, a_keyed_repeat_of_a_chat_waits_for_the_turn_that_runs_elsewhere) {
    TwoServers servers;
    const auto [first, second] =
        servers.ask_both("/api/v1/chat", R"({"message":"Hello"})", keyed, keyed);
    expect_one_turn(servers, first, second);
    EXPECT_EQ(first.text("turn_id"), second.text("turn_id"));
}

TEST(two_servers, a_counted_retry_of_a_response_waits_for_the_one_that_is_made_elsewhere) {
    TwoServers servers;
    const auto [first, second] = servers.ask_both("/v1/responses", R"({"model":"m","input":"Hi"})",
                                                  first_attempt, second_attempt);
    expect_one_turn(servers, first, second);
    EXPECT_EQ(first.text("id"), second.text("id"));
}

TEST(two_servers, a_repeat_of_a_streamed_response_follows_the_stream_elsewhere) {
    TwoServers servers;
    const std::string body = R"({"model":"m","input":"Hi","stream":true})";
    const auto [first, second] = servers.ask_both("/v1/responses", body, keyed, keyed);
    expect_one_turn(servers, first, second);
    EXPECT_EQ(second.response.body, first.response.body) << "the same events, from the first on";
    EXPECT_NE(second.response.body.find("event: response.completed"), std::string::npos);
    const Told late = servers.post(1, "/v1/responses", body, keyed);
    EXPECT_EQ(late.response.body, first.response.body) << "when it is over, too";
    EXPECT_EQ(servers.upstream.requests().size(), 1u);
}

TEST(two_servers, a_repeat_of_a_response_in_the_background_is_the_same_response) {
    TwoServers servers;
    const std::string body = R"({"model":"m","input":"Hi","background":true})";
    const auto [first, second] = servers.ask_both("/v1/responses", body, keyed, keyed);
    EXPECT_EQ(first.text("status"), "queued") << first.response.body;
    EXPECT_EQ(second.text("status"), "in_progress") << second.response.body;
    EXPECT_EQ(first.text("id"), second.text("id"));
    const Told ended = servers.get(1, "/v1/responses/" + first.text("id") + "?stream=true");
    EXPECT_NE(ended.response.body.find("the only answer"), std::string::npos);
    const Told late = servers.post(1, "/v1/responses", body, keyed);
    EXPECT_EQ(late.text("id"), first.text("id"));
    EXPECT_EQ(late.text("status"), "completed") << late.response.body;
    EXPECT_EQ(servers.upstream.requests().size(), 1u);
    EXPECT_EQ(servers.messages(), 2u);
}

}  // namespace
}  // namespace palimpsest
