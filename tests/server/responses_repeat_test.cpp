// Repeats of responses whose first attempt is another server's, or was made by one that died.
#include <thread>

#include "base/ids.h"
#include "server/responses.h"

namespace palimpsest {
namespace {

// Several servers on one store, in front of one scripted model.
class Servers {
public:
    Servers() : memory(Memory::open("memory:").value()) {
        model_ =
            make_http_model({.name = "m", .url = upstream.url(), .retries = 0, .proxy = "none"})
                .value();
        for (auto& one : servers_) one = Server::start(memory, *model_, {}).value();
    }

    HttpClient client(std::size_t server) const {
        const std::string port = std::to_string(servers_[server]->port());
        return HttpClient(parse_url("http://127.0.0.1:" + port).value());
    }
    Told ask(std::size_t server, const std::string& method, const std::string& target,
             const std::string& body = {}, const HeaderFields& headers = {}) const {
        HttpClient one = client(server);
        return Running::ask(one, method, target, body, headers);
    }
    void keep(const std::string& space, const std::string& key, const std::string& value,
              int for_ms) {
        ASSERT_TRUE(memory.store().put_record({.key = {"default", space, key},
                                               .value = value,
                                               .ttl = std::chrono::milliseconds(for_ms)}));
    }

    Upstream upstream;
    Memory memory;

private:
    std::unique_ptr<Model> model_;
    std::unique_ptr<Server> servers_[2];
};

// The id in the note of the only call.
std::string only_response(Memory& memory) {
    const auto page = memory.list({.tenant = "default"});
    const auto view = memory.view(page->headers.front().name);
    return position_id("resp_", view->header.log, Seq{1});
}

// What a server leaves behind that dies when it has told some events of the response.
std::string left_by_a_dead_server(Servers& site, const std::string& body, int believed_ms) {
    site.upstream.add({.status = 500, .body = R"({"error":{"message":"not now"}})"});
    (void)site.ask(0, "POST", root, body, {{"Idempotency-Key", "k"}});
    while (site.upstream.requests().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::string id = only_response(site.memory);
    site.keep("responses", id, "{}", believed_ms);
    for (const char* chunk : {"00000000", "00000001", "00000002", "00000003"})
        site.keep("response_events", id + "/0/" + chunk, "event: old\ndata: {\"type\":\"old\"}\n\n",
                  60000);
    return id;
}

const std::string streamed = R"({"model":"m","input":"Hi","stream":true})";

TEST(responses_repeat, of_a_stream_whose_server_died_gets_the_answer_from_its_beginning) {
    Servers site;
    const std::string id = left_by_a_dead_server(site, streamed, 300);
    site.upstream.add(chat_stream({"Hel", "lo"}));
    const Told again = site.ask(1, "POST", root, streamed, {{"Idempotency-Key", "k"}});
    const std::vector<Event> events = events_of(again.response.body);
    ASSERT_FALSE(events.empty()) << again.response.body;
    EXPECT_EQ(events.front().type, "response.created");
    EXPECT_EQ(events.back().type, "response.completed");
    const auto last = parse_json(events.back().data);
    const JsonValue response = *last->root().find("response");
    EXPECT_EQ(response.find("id")->string(), id);
    EXPECT_EQ(output_text(response), "Hello");
    EXPECT_EQ(site.upstream.requests().size(), 2U);
    // Nothing is left of what the first attempt kept.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const Told read = site.ask(0, "GET", root + "/" + id + "?stream=true");
    EXPECT_EQ(types_of(events_of(read.response.body)), types_of(events));
}

TEST(responses_repeat, in_the_background_whose_server_died_is_made) {
    Servers site;
    const std::string body = R"({"model":"m","input":"Hi","background":true})";
    const std::string id = left_by_a_dead_server(site, body, 300);
    site.upstream.add(chat_stream({"Hel", "lo"}));
    const Told again = site.ask(1, "POST", root, body, {{"Idempotency-Key", "k"}});
    EXPECT_EQ(again.text("id"), id);
    EXPECT_EQ(again.text("status"), "queued");
    Told read;
    for (int look = 0; look < 200 && read.text("status") != "completed"; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        read = site.ask(0, "GET", root + "/" + id);
    }
    EXPECT_EQ(output_text(read), "Hello");
}

TEST(responses_repeat, of_a_stream_that_another_server_makes_gets_that_one) {
    Servers site;
    UpstreamReply held = chat_stream({"one ", "answer"});
    held.hold_at = held.body.size() - 20;
    site.upstream.add(held);
    Told first;
    std::thread asking(
        [&] { first = site.ask(0, "POST", root, streamed, {{"Idempotency-Key", "k"}}); });
    while (site.upstream.requests().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::thread ending([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        site.upstream.let_go();
    });
    const Told joined = site.ask(1, "POST", root, streamed, {{"Idempotency-Key", "k"}});
    asking.join();
    ending.join();
    EXPECT_EQ(types_of(events_of(joined.response.body)), types_of(events_of(first.response.body)));
    EXPECT_EQ(events_of(joined.response.body).back().type, "response.completed");
    EXPECT_EQ(site.upstream.requests().size(), 1U);
}

TEST(responses_repeat, of_one_whose_server_died_get_one_answer_from_all_servers) {
    Servers site;
    const std::string id = left_by_a_dead_server(site, streamed, 300);
    UpstreamReply held = chat_stream({"one ", "answer"});
    held.hold_at = held.body.size() - 20;
    site.upstream.add(held);
    site.upstream.add(chat_stream({"another"}));
    Told told[2];
    {
        std::jthread asking[2];
        for (std::size_t i = 0; i < 2; ++i)
            asking[i] = std::jthread([&, i] {
                told[i] = site.ask(i, "POST", root, streamed, {{"Idempotency-Key", "k"}});
            });
        while (site.upstream.requests().size() < 2)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        site.upstream.let_go();
    }
    EXPECT_EQ(site.upstream.requests().size(), 2U) << "the first, that died, and one for both";
    for (const Told& one : told) {
        const std::vector<Event> events = events_of(one.response.body);
        ASSERT_FALSE(events.empty()) << one.response.body;
        EXPECT_EQ(events.front().type, "response.created");
        const auto last = parse_json(events.back().data);
        EXPECT_EQ(output_text(*last->root().find("response")), "one answer");
    }
    EXPECT_EQ(output_text(site.ask(1, "GET", root + "/" + id)), "one answer");
}

TEST(responses, are_known_to_other_servers_when_their_first_event_goes_out) {
    Servers site;
    UpstreamReply held = chat_stream({"a", "b", "c"});
    held.piece_bytes = held.body.size() - 20;
    held.hold_at = held.body.size() - 20;
    site.upstream.add(held);
    std::string status, continued;
    HttpClient maker = site.client(0);
    const auto look = [&](std::string_view bytes) {
        const std::vector<Event> events = events_of(std::string(bytes));
        if (events.empty() || !status.empty()) return true;
        const auto created = parse_json(events.front().data);
        const std::string id(created->root().find("response")->find("id")->string());
        status = site.ask(1, "GET", root + "/" + id).text("status");
        const std::string body =
            R"({"model":"m","input":"and?","previous_response_id":")" + id + "\"}";
        continued = site.ask(1, "POST", root, body).error("param");
        site.upstream.let_go();
        return true;
    };
    ASSERT_TRUE(maker.stream(request_of("POST", root, streamed, {}), look));
    EXPECT_EQ(status, "in_progress");
    EXPECT_EQ(continued, "previous_response_id");
}

TEST(responses, of_before_a_restart_are_made_by_nobody_where_the_store_is_held_alone) {
    const TemporaryFolder folder;
    const std::string store = "sqlite:" + folder.path() + "/test.db";
    std::string id;
    {
        Memory memory = Memory::open(store).value();
        const auto begun = memory.begin(
            {"default", "c"}, {.messages = R"([{"role":"user","content":"Hi"}])",
                               .format = FormatId::openai_responses,
                               .model = "m",
                               .parameters = R"({"background":true,"response":{"model":"m"}})"});
        id = position_id("resp_", begun->log, begun->turn);
        ASSERT_TRUE(memory.store().put_record(
            {.key = {"default", "responses", id}, .value = "{}", .ttl = std::chrono::seconds(15)}));
    }
    Behind site(FormatId::openai_chat, store);
    EXPECT_EQ(site.ask("GET", root + "/" + id).text("status"), "incomplete");
}

}  // namespace
}  // namespace palimpsest
