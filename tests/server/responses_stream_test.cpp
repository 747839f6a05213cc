// Responses as streams and in the background: replayed, followed, cancelled, cut.
#include <algorithm>
#include <set>
#include <thread>

#include "server/responses.h"

namespace palimpsest {
namespace {

TEST(responses, stream_the_events_that_clients_insist_on) {
    Behind site;
    site.upstream.add(chat_stream({"Hel", "lo"}));
    const Told told = site.say(R"("input":"Hi","stream":true)");
    EXPECT_TRUE(told.header("Content-Type").starts_with("text/event-stream"));
    const std::vector<Event> events = events_of(told.response.body);
    EXPECT_EQ(types_of(events),
              "response.created response.in_progress response.output_item.added "
              "response.content_part.added response.output_text.delta response.output_text.delta "
              "response.output_text.done response.content_part.done response.output_item.done "
              "response.completed ");
    for (std::size_t i = 0; i < events.size(); ++i)
        EXPECT_EQ(events[i].sequence, static_cast<std::int64_t>(i));
    const auto last = parse_json(events.back().data);
    const JsonValue response = *last->root().find("response");
    EXPECT_EQ(output_text(response), "Hello");
    const std::string id(response.find("id")->string());
    EXPECT_EQ(site.ask("GET", root + "/" + id).json().find("output")->raw(),
              response.find("output")->raw());
}

TEST(responses, replay_their_stream_from_any_number_on) {
    Behind site;
    site.upstream.add(chat_stream({"a", "b", "c"}));
    const std::string body = site.say(R"("input":"Hi","stream":true)").response.body;
    const std::vector<Event> told_events = events_of(body);
    const auto first = parse_json(told_events.front().data);
    const std::string id(first->root().find("response")->find("id")->string());
    const auto stream = [&](const std::string& query) {
        return site.ask("GET", root + "/" + id + "?stream=true" + query).response.body;
    };
    EXPECT_EQ(stream(""), body);
    const std::vector<Event> rest = events_of(stream("&starting_after=4"));
    EXPECT_EQ(rest.front().sequence, 5);
    EXPECT_EQ(rest.back().type, "response.completed");
    EXPECT_EQ(stream("&starting_after=99"), "");
    EXPECT_EQ(site.ask("GET", root + "/" + id + "?starting_after=1").error("param"),
              "starting_after");
}

TEST(responses, that_were_not_streamed_can_be_read_as_a_stream) {
    Behind site;
    site.upstream.add(chat_reply("whole"));
    const Told told = site.say(R"("input":"Hi")");
    const auto events =
        events_of(site.ask("GET", root + "/" + told.text("id") + "?stream=true").response.body);
    const auto last = parse_json(events.back().data);
    EXPECT_EQ(last->root().find("response")->find("output")->raw(),
              told.json().find("output")->raw());
    EXPECT_NE(types_of(events).find("response.output_text.delta"), std::string::npos);
}

TEST(responses, have_the_fields_that_clients_insist_on_whatever_the_model_speaks) {
    Behind site(FormatId::anthropic);
    site.upstream.add({.body = R"({"id":"m","type":"message","role":"assistant","model":"m",
        "content":[{"type":"text","text":"let me look"},
                   {"type":"tool_use","id":"t1","name":"look","input":{}}],
        "stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2,
        "cache_creation_input_tokens":3,"cache_read_input_tokens":1}})"});
    const Told told = site.say(
        R"("input":"Hi","tools":[{"type":"function","name":"look","parameters":{"type":"object"}}])");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(
        told.json().find("usage")->find("input_tokens_details")->find("cache_write_tokens")->raw(),
        "3");
    const JsonValue said = *told.json().find("output")->elements().begin();
    EXPECT_TRUE(said.find("content")->raw().contains(R"("logprobs":[])")) << said.raw();
    const Told read = site.ask("GET", root + "/" + told.text("id") + "?stream=true");
    const std::vector<Event> events = events_of(read.response.body);
    const auto done =
        std::ranges::find(events, "response.function_call_arguments.done", &Event::type);
    ASSERT_NE(done, events.end());
    EXPECT_TRUE(done->data.contains(R"("name":"look")")) << done->data;
}

std::string ended(Behind& site, const std::string& id) {
    for (int tries = 0; tries < 500; ++tries) {
        const std::string status = site.ask("GET", root + "/" + id).text("status");
        if (status != "queued" && status != "in_progress") return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "(never)";
}

TEST(responses, in_the_background_are_followed_until_they_end) {
    Behind site;
    UpstreamReply slow = chat_stream({"a", "b", "c"});
    slow.delay_ms = 100;
    site.upstream.add(slow);
    const Told told = site.say(R"("input":"Hi","background":true)");
    EXPECT_EQ(told.text("status"), "queued") << told.response.body;
    const std::string id = told.text("id");
    const auto events = events_of(site.ask("GET", root + "/" + id + "?stream=true").response.body);
    EXPECT_EQ(events.back().type, "response.completed");
    EXPECT_EQ(ended(site, id), "completed");
    EXPECT_EQ(output_text(site.ask("GET", root + "/" + id)), "abc");
}

TEST(responses, in_the_background_can_be_streamed_at_once) {
    Behind site;
    site.upstream.add(chat_stream({"x", "y"}));
    const auto events =
        events_of(site.say(R"("input":"Hi","background":true,"stream":true)").response.body);
    EXPECT_EQ(events.back().type, "response.completed");
}

TEST(responses, in_the_background_can_be_cancelled_and_keep_what_came) {
    Behind site;
    UpstreamReply endless = chat_stream(std::vector<std::string>(200, "word "));
    endless.piece_bytes = 200;
    endless.piece_delay_ms = 20;
    site.upstream.add(endless);
    const std::string id = site.say(R"("input":"Hi","background":true)").text("id");
    const Told cancelled = site.ask("POST", root + "/" + id + "/cancel");
    EXPECT_EQ(cancelled.text("status"), "cancelled") << cancelled.response.body;
    EXPECT_EQ(site.ask("POST", root + "/" + id + "/cancel", " { }").text("status"), "cancelled");
    EXPECT_EQ(site.ask("POST", root + "/" + id + "/cancel", R"({"a":1})").status(), 400);
    site.upstream.add(chat_reply("whole"));
    const std::string plain = site.say(R"("input":"Hi")").text("id");
    EXPECT_EQ(site.ask("POST", root + "/" + plain + "/cancel").status(), 400);
}

TEST(responses, in_the_background_say_why_they_failed) {
    Behind site;
    site.upstream.add({.status = 400, .body = R"({"error":{"message":"no such thing"}})"});
    const std::string id = site.say(R"("input":"Hi","background":true)").text("id");
    EXPECT_EQ(ended(site, id), "failed");
    const Told told = site.ask("GET", root + "/" + id);
    EXPECT_NE(told.error("message").find("no such thing"), std::string::npos);
}

TEST(responses, that_stream_answer_a_refusal_of_the_model_with_its_status) {
    Behind site;
    site.upstream.add({.status = 429, .body = R"({"error":{"message":"too many"}})"});
    const Told told = site.say(R"("input":"Hi","stream":true)");
    EXPECT_EQ(told.status(), 429);
    EXPECT_EQ(told.error("code"), "rate_limited");
}

TEST(responses, that_stream_fail_also_for_a_repeat_that_joined_them) {
    Behind site;
    const UpstreamReply refusal{.status = 429, .body = R"({"error":{"message":"too many"}})"};
    UpstreamReply held = refusal;
    held.hold_at = 0;
    site.upstream.add(held);
    site.upstream.add(refusal);  // for a repeat that comes too late to join
    const auto ask = [&] {
        return site.ask("POST", root, R"({"model":"m","input":"Hi","stream":true})",
                        {{"Idempotency-Key", "k"}});
    };
    int first = 0;
    std::thread asking([&] { first = ask().status(); });
    while (site.upstream.requests().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::thread refusing([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        site.upstream.let_go();
    });
    const Told joined = ask();
    asking.join();
    refusing.join();
    EXPECT_EQ(first, 429);
    EXPECT_EQ(joined.status(), 429);
    EXPECT_EQ(joined.error("code"), "rate_limited") << joined.response.body;
}

TEST(responses, that_stream_and_failed_are_tried_again_at_once) {
    Behind site;
    for (int i = 0; i < 3; ++i)
        site.upstream.add({.status = 500, .body = R"({"error":{"message":"later"}})"});
    site.upstream.add(chat_stream({"now"}));
    const auto ask = [&] {
        return site.ask("POST", root, R"({"model":"m","input":"Hi","stream":true})",
                        {{"Idempotency-Key", "k"}});
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().status(), 502);
    EXPECT_TRUE(types_of(events_of(ask().response.body)).ends_with("response.completed "));
    EXPECT_EQ(site.upstream.requests().size(), 4U);
}

TEST(responses, that_are_cut_show_that_their_last_item_is_not_whole) {
    Behind site;
    UpstreamReply cut = chat_stream({"half ", "an ", "answer"});
    cut.cut_at = cut.body.size() - 200;
    site.upstream.add(cut);
    const std::vector<Event> events =
        events_of(site.say(R"("input":"Hi","stream":true)").response.body);
    EXPECT_EQ(events.back().type, "response.incomplete") << types_of(events);
    for (const Event& event : events) {
        const bool whole = event.data.contains(R"("status":"completed")");
        EXPECT_FALSE(whole) << event.data;
    }
}

TEST(responses, are_followed_from_another_server_of_the_same_store) {
    Memory memory = Memory::open("memory:").value();
    Upstream upstream;
    UpstreamReply slow = chat_stream({"a", "b", "c", "d", "e", "f"});
    slow.piece_bytes = 150;
    slow.piece_delay_ms = 30;
    upstream.add(slow);
    const auto model =
        make_http_model({.name = "m", .url = upstream.url(), .proxy = "none"}).value();
    const auto maker = Server::start(memory, *model, {}).value();
    const auto other = Server::start(memory, *model, {}).value();
    const auto ask = [](const Server& server, const std::string& method, const std::string& target,
                        const std::string& body = {}) {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server.port())).value());
        return Running::ask(client, method, target, body);
    };
    const std::string id =
        ask(*maker, "POST", root, R"({"input":"Hi","background":true})").text("id");
    EXPECT_EQ(ask(*other, "GET", root + "/" + id).text("status"), "in_progress");
    const Told followed = ask(*other, "GET", root + "/" + id + "?stream=true&starting_after=2");
    const std::vector<Event> events = events_of(followed.response.body);
    ASSERT_FALSE(events.empty()) << followed.response.body;
    EXPECT_EQ(events.front().sequence, 3);
    EXPECT_EQ(events.back().type, "response.completed");
    for (std::size_t i = 1; i < events.size(); ++i)
        EXPECT_EQ(events[i].sequence, events[i - 1].sequence + 1);
}

TEST(responses, are_cancelled_from_another_server_of_the_same_store) {
    Memory memory = Memory::open("memory:").value();
    Upstream upstream;
    UpstreamReply endless = chat_stream(std::vector<std::string>(500, "word "));
    endless.piece_bytes = 150;
    endless.piece_delay_ms = 20;
    upstream.add(endless);
    const auto model =
        make_http_model({.name = "m", .url = upstream.url(), .proxy = "none"}).value();
    const auto maker = Server::start(memory, *model, {}).value();
    const auto other = Server::start(memory, *model, {}).value();
    HttpClient to_maker(parse_url("http://127.0.0.1:" + std::to_string(maker->port())).value());
    HttpClient to_other(parse_url("http://127.0.0.1:" + std::to_string(other->port())).value());
    const std::string id =
        Running::ask(to_maker, "POST", root, R"({"input":"Hi","background":true})").text("id");
    const Told cancelled = Running::ask(to_other, "POST", root + "/" + id + "/cancel");
    EXPECT_EQ(cancelled.text("status"), "cancelled") << cancelled.response.body;
}

TEST(responses, that_a_stopping_server_cuts_keep_what_came) {
    const TemporaryFolder folder;
    const std::string store = "sqlite:" + folder.path() + "/test.db";
    std::string id;
    {
        Behind site(FormatId::openai_chat, store);
        UpstreamReply endless = chat_stream(std::vector<std::string>(500, "word "));
        endless.piece_bytes = 150;
        endless.piece_delay_ms = 20;
        site.upstream.add(endless);
        id = site.say(R"("input":"Hi","background":true)").text("id");
        while (site.upstream.requests().empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    Behind site(FormatId::openai_chat, store);
    const Told told = site.ask("GET", root + "/" + id);
    EXPECT_EQ(told.text("status"), "incomplete");
    EXPECT_TRUE(output_text(told).starts_with("word word")) << told.response.body;
}

TEST(responses, whose_client_went_away_are_finished_and_kept) {
    Behind site;
    UpstreamReply slow = chat_stream({"a", "b", "c", "d", "e", "f"});
    slow.piece_bytes = 150;
    slow.piece_delay_ms = 30;
    site.upstream.add(slow);
    HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(site.port())).value());
    std::string seen;
    (void)client.stream(request_of("POST", root, R"({"input":"Hi","stream":true})", {}),
                        [&](std::string_view bytes) {
                            seen += bytes;
                            return false;
                        },
                        {});
    const std::vector<Event> told_events = events_of(seen);
    const auto first = parse_json(told_events.front().data);
    const std::string id(first->root().find("response")->find("id")->string());
    EXPECT_EQ(ended(site, id), "completed");
    EXPECT_EQ(output_text(site.ask("GET", root + "/" + id)), "abcdef");
}

// What the last event of a stream says of its response, and what is read of it later.
struct TwoEnds {
    std::string told, read;
};
TwoEnds ends_of(Behind& site, std::string_view member) {
    const auto events = events_of(site.say(R"("input":"Hi","stream":true)").response.body);
    const auto last = parse_json(events.back().data);
    const JsonValue response = *last->root().find("response");
    const Told later = site.ask("GET", root + "/" + std::string(response.find("id")->string()));
    return {std::string(response.find(member)->raw()),
            std::string(later.json().find(member)->raw())};
}

TEST(responses, that_are_too_long_are_incomplete_and_say_why_also_when_read_again) {
    Behind site(FormatId::openai_chat, "memory:", {}, 2000);
    const auto asked = [&](std::string_view member) {
        site.upstream.add(chat_stream(std::vector<std::string>(2000, "word ")));
        const TwoEnds ends = ends_of(site, member);
        EXPECT_EQ(ends.told, ends.read) << member;
        return ends.told;
    };
    EXPECT_EQ(asked("status"), "\"incomplete\"");
    EXPECT_EQ(asked("incomplete_details"), R"({"reason":"too_large"})");
    EXPECT_TRUE(asked("output").contains("word word"));
}

TEST(responses, that_failed_have_the_same_error_in_the_stream_and_when_read_again) {
    Behind site(FormatId::openai_chat, "memory:", {.message_bytes_max = 2000});
    site.upstream.add(chat_stream(std::vector<std::string>(2000, "word ")));
    const TwoEnds ends = ends_of(site, "error");
    EXPECT_EQ(ends.told, ends.read);
    EXPECT_TRUE(ends.told.contains(R"("code":"too_large")")) << ends.told;
}

}  // namespace
}  // namespace palimpsest
