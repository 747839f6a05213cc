// Turns whose model is asked while what was said is still being synced: nobody is told anything of
// them before it is stored.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/wire_client.h"
#include "server/gateway.h"
#include "support/passing_store.h"

namespace palimpsest {
namespace {

using testing_support::user;

// What is appended ahead is written at once, and synced when the test lets it.
class Held final : public testing_support::PassingStore<Held> {
public:
    enum class Sync : int { waits, done, lost };

    explicit Held(std::unique_ptr<Store> inner) : PassingStore(*inner), owned_(std::move(inner)) {}

    std::atomic<Sync> sync = Sync::waits;
    std::atomic<int> ahead = 0;
    void let(Sync how) {
        sync = how;
        sync.notify_all();
    }

    Result<Appended> append_ahead(const ConversationId& name, const Batch& batch,
                                  const OnWritten& written) override {
        auto done = inner_.append(name, batch);
        if (!done) return done;
        ++ahead;
        written(*done);
        sync.wait(Sync::waits);
        if (sync == Sync::done) return done;
        (void)inner_.erase(name);
        return fail(ErrorCode::outcome_unknown, "the disk has failed");
    }
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        return call();
    }

private:
    const std::unique_ptr<Store> owned_;
};

class OnHeldStore {
public:
    explicit OnHeldStore(FormatId format, std::vector<UpstreamReply> script)
        : upstream(std::move(script)), format_(format) {
        auto held = std::make_unique<Held>(open_store("memory:").value());
        store = held.get();
        memory = std::make_unique<Memory>(std::move(held), MemoryOptions{});
        Models models;
        models.add(model_of("m", format_, upstream));
        server = Server::start(*memory, std::move(models), {}).value();
    }
    ~OnHeldStore() { store->let(Held::Sync::done); }
    OnHeldStore(const OnHeldStore&) = delete;
    OnHeldStore& operator=(const OnHeldStore&) = delete;

    Told chat(const std::string& text, const std::string& more = "") const {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
        return Running::ask(client, "POST", "/v1/chat/completions", body(text, more), in_alice);
    }
    // As bytes, for a test that reads them as they come.
    std::string wire(const std::string& text, const std::string& more) const {
        const std::string sent = body(text, more);
        return "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Conversation-Id: alice"
               "\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(sent.size()) + "\r\n\r\n" + sent;
    }
    void wait_until_asked(std::size_t times) const {
        while (upstream.requests().size() < times)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::string view() const {
        const auto view = memory->view({"default", "alice"});
        return view ? testing_support::texts(*view)
                    : std::string(error_info(view.error().code).name);
    }

    Upstream upstream;
    Held* store = nullptr;
    std::unique_ptr<Memory> memory;
    std::unique_ptr<Server> server;

private:
    static std::string body(const std::string& text, const std::string& more) {
        return R"({"model":"m","messages":[)" + user(text) + "]" + more + "}";
    }
    FormatId format_;
};

const std::string streamed = R"(,"stream":true)";

TEST(gateway_ahead, asks_the_model_while_what_was_said_is_synced_and_tells_nothing_before) {
    for (const FormatId format : every_format) {
        for (const bool stream : {false, true}) {
            OnHeldStore on(format, {stream ? tells(format, "one two") : says(format, "one two")});
            WireClient client(on.server->port());
            client.send(on.wire("a", stream ? streamed : ""));
            on.wait_until_asked(1);
            EXPECT_EQ(client.receive_some(50), "") << format_name(format) << stream;
            on.store->let(Held::Sync::done);
            std::string received;
            while (!received.contains("two")) {
                const std::string more = client.receive_some();
                ASSERT_FALSE(more.empty()) << received;
                received += more;
            }
            EXPECT_EQ(on.store->ahead, 1);
        }
    }
}

TEST(gateway_ahead, keeps_the_answer_and_goes_on_as_any_turn_does) {
    OnHeldStore on(FormatId::openai_chat,
                   {says(FormatId::openai_chat, "one"), tells(FormatId::openai_chat, "two"),
                    says(FormatId::openai_chat, "three")});
    on.store->let(Held::Sync::done);
    EXPECT_EQ(chat_text(on.chat("a")), "one");
    EXPECT_EQ(stream_text(FormatId::openai_chat, on.chat("b", streamed)), "two");
    EXPECT_EQ(chat_text(on.chat("c")), "three");
    EXPECT_EQ(on.view(), "a one b two c three");
    EXPECT_EQ(on.store->ahead, 3);
}

TEST(gateway_ahead, tells_an_error_and_nothing_of_the_answer_when_it_is_not_stored) {
    for (const FormatId format : every_format) {
        for (const bool stream : {false, true}) {
            OnHeldStore on(format, {stream ? tells(format, "one two") : says(format, "one two"),
                                    says(format, "three")});
            std::jthread lose([&] {
                on.wait_until_asked(1);
                on.store->let(Held::Sync::lost);
            });
            const Told told = on.chat("a", stream ? streamed : "");
            EXPECT_EQ(told.status(), 504) << told.response.body;
            EXPECT_EQ(told.error("code"), "outcome_unknown") << told.response.body;
            EXPECT_FALSE(told.response.body.contains("one"));
            EXPECT_EQ(on.view(), "not_found");
            on.store->let(Held::Sync::done);
            EXPECT_EQ(chat_text(on.chat("b")), "three");
            EXPECT_EQ(on.view(), "b three");
        }
    }
}

TEST(gateway_ahead, tells_of_a_model_that_fails_once_what_was_said_is_stored) {
    OnHeldStore on(FormatId::openai_chat, {{.status = 500}});
    WireClient client(on.server->port());
    client.send(on.wire("a", ""));
    on.wait_until_asked(1);
    EXPECT_EQ(client.receive_some(50), "");
    on.store->let(Held::Sync::done);
    EXPECT_TRUE(client.receive_some().contains("502"));
    EXPECT_EQ(on.view(), "a");
}

TEST(gateway_ahead, ends_with_its_server_when_the_client_goes_before_it_is_stored) {
    OnHeldStore on(FormatId::openai_chat, {tells(FormatId::openai_chat, "one")});
    {
        WireClient client(on.server->port());
        client.send(on.wire("a", streamed));
        on.wait_until_asked(1);
    }
    on.store->let(Held::Sync::done);
    on.server.reset();
    const std::string view = on.view();  // it may be stopped before the model has said a word
    EXPECT_TRUE(view == "a one" || view == "a") << view;
}

TEST(gateway_ahead, is_for_turns_of_the_server_alone) {
    Memory memory(std::make_unique<Held>(open_store("memory:").value()), {});
    const auto begun = memory.begin(
        {"t", "alice"}, {.messages = "[" + user("a") + "]", .model = "m", .ahead = true});
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_TRUE(begun->stored());
    EXPECT_FALSE(begun->storing);
}

}  // namespace
}  // namespace palimpsest
