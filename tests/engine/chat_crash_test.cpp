// What a crash leaves of a turn with tools, and how it goes on: the log loads, is sendable, no tool
// that may not run twice did, nothing that was said is lost.
#include <gtest/gtest.h>

#include <map>

#include "palimpsest/chat.h"
#include "support/scripted_model.h"
#include "support/upstream.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;
using Outcome = ChatDone::Outcome;

namespace {

const std::string hello = user("book a table");

// Two tools: one that must not run twice for the same call, one that may.
struct Kitchen {
    std::map<std::string, int> orders, looks;  // by arguments
    std::vector<Tool> tools() {
        Tool order = make_tool("order", [this](std::string_view arguments) {
            ++orders[std::string(arguments)];
            return Result<std::string>("ordered");
        });
        Tool look = make_tool("look", [this](std::string_view arguments) {
            ++looks[std::string(arguments)];
            return Result<std::string>("seen");
        });
        look.idempotent = true;
        return {order, look};
    }
    bool nothing_twice() const {
        for (const auto& [arguments, times] : orders)
            if (times > 1) return false;
        return true;
    }
};

void play_three_rounds(ScriptedModel& model) {
    model.asks_for({{"look", R"({"n":1})"}, {"order", R"({"n":1})"}});
    model.asks_for({{"order", R"({"n":2})"}, {"order", R"({"n":3})"}});
    model.asks_for({{"look", R"({"n":2})"}});
    model.says("all done");
}

// Answers by what it is sent, as a server does, so that a repeat finds it where it was.
class StatelessModel : public Model {
public:
    StatelessModel() {
        ScriptedModel script;
        play_three_rounds(script);
        for (int i = 0; i < 4; ++i) replies_.push_back(script.take());
    }
    std::string_view name() const override { return "stateless"; }
    FormatId format() const override { return FormatId::openai_chat; }
    Result<Reply> call(const ModelRequest& request, const OnPiece&) override {
        const auto ready = render(format(), request.messages);
        EXPECT_TRUE(ready) << ready.error().message;
        std::size_t round = 0;
        for (const Message& message : request.messages)
            round += message.shape.role == Role::assistant ? 1 : 0;
        return replies_.at(round);
    }

private:
    std::vector<Reply> replies_;
};

// The log loads, and what a model would be sent is accepted as it is.
void expect_sendable(Store& store, std::string_view when) {
    Traffic ignored;
    Memory memory(std::make_unique<WrappedStore>(store, ignored));
    const auto view = memory.view(alice);
    if (!view) {
        EXPECT_EQ(view.error().code, ErrorCode::not_found) << when;
        return;
    }
    std::vector<Message> messages;
    for (const Item& item : view->items) messages.push_back(item.message);
    const auto ready = render(FormatId::openai_chat, messages);
    ASSERT_TRUE(ready) << when << ": " << ready.error().message;
    const auto broken = validate(FormatId::openai_chat, ready->messages);
    EXPECT_TRUE(broken && is_sendable(*broken)) << when;
}

int calls_of_a_whole_turn() {
    auto store = memory_store();
    Traffic traffic;
    Memory memory(std::make_unique<WrappedStore>(*store, traffic));
    StatelessModel model;
    Kitchen kitchen;
    EXPECT_TRUE(chat(memory, alice, {.messages = hello}, model, {.tools = kitchen.tools()}));
    return traffic.calls;
}

}  // namespace

TEST(chat_crash, at_every_store_call_the_turn_goes_on_and_nothing_runs_twice) {
    const int calls = calls_of_a_whole_turn();
    ASSERT_GT(calls, 8);
    for (int at = 1; at <= calls; ++at) {
        for (const bool after : {false, true}) {
            const std::string when =
                "call " + std::to_string(at) + (after ? " carried out" : " refused");
            auto store = memory_store();
            StatelessModel model;
            Kitchen kitchen;
            const BeginRequest request{.messages = hello, .write = {.key = "k"}};
            Traffic traffic;
            {
                Memory memory(std::make_unique<WrappedStore>(*store, traffic, Fault{at, after}));
                (void)chat(memory, alice, request, model, {.tools = kitchen.tools()});
            }
            expect_sendable(*store, when);
            EXPECT_TRUE(kitchen.nothing_twice()) << when;
            // Another process, the same turn.
            Traffic more;
            Memory memory(std::make_unique<WrappedStore>(*store, more));
            const auto done = chat(memory, alice, request, model, {.tools = kitchen.tools()});
            ASSERT_TRUE(done) << when << ": " << done.error().message;
            EXPECT_EQ(done->text, "all done") << when;
            EXPECT_EQ(done->rounds, 4u) << when;
            EXPECT_TRUE(kitchen.nothing_twice()) << when;
            EXPECT_TRUE(all_answered(memory)) << when;
            expect_sendable(*store, when);
            // Said once, and every answer once.
            const auto view = memory.view(alice);
            int said = 0, answers = 0;
            for (const Item& item : view->items) {
                said += item.message.shape.role == Role::user ? 1 : 0;
                answers += item.message.shape.role == Role::assistant ? 1 : 0;
            }
            EXPECT_EQ(said, 1) << when;
            EXPECT_EQ(answers, 4) << when;
        }
    }
}

TEST(chat_crash, at_every_store_call_resume_goes_on_without_a_key) {
    const int calls = calls_of_a_whole_turn();
    for (int at = 1; at <= calls; ++at) {
        const std::string when = "call " + std::to_string(at);
        auto store = memory_store();
        StatelessModel model;
        Kitchen kitchen;
        Traffic traffic;
        {
            Memory memory(std::make_unique<WrappedStore>(*store, traffic, Fault{at, true}));
            (void)chat(memory, alice, {.messages = hello}, model, {.tools = kitchen.tools()});
        }
        Traffic more;
        Memory memory(std::make_unique<WrappedStore>(*store, more));
        if (!memory.head(alice)) continue;
        const auto done = resume(memory, alice, model, {.tools = kitchen.tools()});
        ASSERT_TRUE(done) << when << ": " << done.error().message;
        EXPECT_EQ(done->text, "all done") << when;
        EXPECT_TRUE(kitchen.nothing_twice()) << when;
        EXPECT_TRUE(all_answered(memory)) << when;
    }
}

TEST(chat_crash, a_started_tool_without_a_result_is_unknown_and_an_idempotent_one_runs_again) {
    Memory memory = open_memory();
    ScriptedModel model;
    int ran = 0;
    const auto dying = [&](bool idempotent) {
        Tool tool = make_tool("order", [&](std::string_view) -> Result<std::string> {
            return Result<std::string>("ran " + std::to_string(++ran));
        });
        tool.idempotent = idempotent;
        return tool;
    };
    for (const bool idempotent : {false, true}) {
        ran = 0;
        const std::string key = idempotent ? "i" : "n";
        const BeginRequest request{.messages = hello, .write = {.key = key}};
        model.asks_for({{"order", "{}"}});
        // The process dies in the tool: the note is there, the result is not.
        auto begun = memory.begin(
            alice, {.messages = hello, .model = "scripted", .tools = "", .write = {.key = key}});
        ASSERT_TRUE(begun);
        auto reply = model.call({begun->request()}, {});
        const auto finished = memory.finish(*begun, {.message = reply->messages.at(0)});
        ASSERT_TRUE(finished);
        const std::string id = reply->messages[0].shape.calls.at(0);
        AppendRequest note{.messages = "[]"};
        note.notes.push_back(
            {"tool_started", make_bytes(R"({"answer":)" + std::to_string(finished->seq.value) +
                                        R"(,"key":")" + key + R"(","calls":[")" + id + "\"]}")});
        ASSERT_TRUE(memory.append(alice, note));
        model.says("I see");
        const auto done = resume(memory, alice, model, {.tools = {dying(idempotent)}});
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->text, "I see");
        EXPECT_EQ(ran, idempotent ? 1 : 0);
        const std::string& sent = model.sent.back();
        EXPECT_NE(sent.find(idempotent ? "ran 1" : unknown_outcome_text), std::string::npos)
            << sent;
    }
}

namespace {

std::string event_of(std::string_view json) {
    return "data: " + std::string(json) + "\n\n";
}
std::string stream_of_calls(std::string_view id, std::string_view arguments) {
    return event_of(
               R"({"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"let me see"}}]})") +
           event_of(R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":")" +
                    std::string(id) +
                    R"(","type":"function","function":{"name":"order","arguments":""}}]}}]})") +
           event_of(
               R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":)" +
               json_string(arguments) + R"(}}]}}]})") +
           event_of(R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})") +
           event_of("[DONE]");
}
std::string stream_of_text(std::string_view text) {
    return event_of(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":)" +
                    json_string(text) + "}}]}") +
           event_of(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})") +
           event_of("[DONE]");
}

// Without the calls.
std::string words_of(const Message& message) {
    std::string words;
    const auto parts = read_parts(message);
    for (const Part& part : parts->parts)
        if (const auto* text = std::get_if<Text>(&part)) words += text->text;
    return words;
}

// A whole answer as bytes on the wire: head, one chunk, the last chunk.
std::string wire_bytes(const std::string& events) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx", events.size());
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
           "Transfer-Encoding: chunked\r\n\r\n" +
           std::string(size) + "\r\n" + events + "\r\n0\r\n\r\n";
}

// A server and a model for many cases. Every broken connection leaves a thread behind until the
// server ends, so now and then another one takes its place.
class Stage {
public:
    Model& play(const std::vector<UpstreamReply>& script) {
        if (uses_++ % 100 == 0) {
            upstream_.emplace();
            model_ = make_http_model(
                         {.name = "m", .url = upstream_->url(), .retries = 0, .proxy = "none"})
                         .value();
        }
        upstream_->play(script);
        return *model_;
    }

private:
    std::size_t uses_ = 0;
    std::optional<Upstream> upstream_;
    std::unique_ptr<Model> model_;
};

const std::vector<std::string> three_rounds = {stream_of_calls("a", R"({"n":1})"),
                                               stream_of_calls("b", R"({"n":2})"),
                                               stream_of_text("all done")};

struct Cut {
    std::size_t round = 0;
    UpstreamReply broken = {};
    std::string when = {};
};

// At every byte of every answer, as an end and as a reset by turns.
template <class Try>
void cut_everywhere(const Try& one_case) {
    for (std::size_t round = 0; round < three_rounds.size(); ++round) {
        const std::string bytes = wire_bytes(three_rounds[round]);
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            Cut cut{.round = round,
                    .when = "round " + std::to_string(round) + ", byte " + std::to_string(at)};
            cut.broken.as_is = bytes.substr(0, at);
            cut.broken.reset = at % 2 == 1;
            one_case(cut);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

std::vector<UpstreamReply> answers(std::size_t from, std::size_t to) {
    std::vector<UpstreamReply> script;
    for (std::size_t i = from; i < to; ++i) script.push_back(event_stream_reply(three_rounds[i]));
    return script;
}

}  // namespace

TEST(chat_crash, cut_anywhere_in_a_three_round_turn_the_log_is_sendable_and_goes_on) {
    Stage stage;
    cut_everywhere([&](const Cut& cut) {
        std::vector<UpstreamReply> script = answers(0, cut.round);
        script.push_back(cut.broken);
        script.push_back(event_stream_reply(stream_of_text("next")));
        Model& model = stage.play(script);
        auto store = memory_store();
        Kitchen kitchen;
        Traffic traffic;
        Memory memory(std::make_unique<WrappedStore>(*store, traffic));
        std::string heard;
        const auto listen = [&](const ChatEvent& event) {
            if (event.kind == ChatEvent::Kind::text) heard += event.text;
            return true;
        };
        const auto done = chat(memory, alice, {.messages = hello}, model,
                               {.tools = kitchen.tools(), .on_event = listen});
        EXPECT_TRUE(kitchen.nothing_twice()) << cut.when;
        expect_sendable(*store, cut.when);
        // Whatever the listener heard is in the log.
        std::string kept;
        const View view = memory.view(alice).value();
        EXPECT_EQ(text_of(view.items[0].message), "book a table") << cut.when;
        for (const Item& item : view.items)
            if (item.message.shape.role == Role::assistant) kept += words_of(item.message);
        EXPECT_EQ(kept, heard) << cut.when;
        EXPECT_TRUE(!done || all_answered(memory)) << cut.when;
        const std::string more = user("more");
        const auto next = chat(memory, alice, {.messages = more}, model);
        ASSERT_TRUE(next) << cut.when << ": " << next.error().message;
        EXPECT_EQ(next->text, "next") << cut.when;
    });
}

// The first process dies before any answer came; the next one resumes and is cut off.
TEST(chat_crash, cut_anywhere_while_it_resumes_the_log_is_sendable_and_goes_on) {
    Stage stage;
    cut_everywhere([&](const Cut& cut) {
        std::vector<UpstreamReply> script = {{.status = 400, .body = "{}"}};
        for (UpstreamReply& reply : answers(0, cut.round)) script.push_back(std::move(reply));
        script.push_back(cut.broken);
        // Whatever is asked again.
        for (UpstreamReply& reply : answers(cut.round, three_rounds.size()))
            script.push_back(std::move(reply));
        Model& model = stage.play(script);
        auto store = memory_store();
        Kitchen kitchen;
        Traffic traffic;
        Memory memory(std::make_unique<WrappedStore>(*store, traffic));
        const auto listen = [](const ChatEvent&) { return true; };
        ASSERT_FALSE(chat(memory, alice, {.messages = hello}, model,
                          {.tools = kitchen.tools(), .on_event = listen}));
        bool ended = false;
        for (int tries = 0; tries < 3 && !ended; ++tries) {
            const auto done =
                resume(memory, alice, model, {.tools = kitchen.tools(), .on_event = listen});
            EXPECT_TRUE(kitchen.nothing_twice()) << cut.when;
            expect_sendable(*store, cut.when);
            ended = done.has_value();
        }
        EXPECT_TRUE(ended) << cut.when;
        EXPECT_TRUE(all_answered(memory)) << cut.when;
        const auto view = memory.view(alice);
        ASSERT_TRUE(view) << cut.when;
        EXPECT_EQ(text_of(view->items[0].message), "book a table") << cut.when;
    });
}

namespace {

// Chat fails at one call of the store, resume at another; whoever comes next ends the turn. False:
// resume needs fewer calls than that.
bool fail_twice(int first, Fault second) {
    const std::string when = "call " + std::to_string(first) + " of chat, then " +
                             std::to_string(second.fail_on) + " of resume" +
                             (second.after ? ", carried out" : ", refused");
    auto store = memory_store();
    StatelessModel model;
    Kitchen kitchen;
    Traffic one, two, three;
    {
        Memory memory(std::make_unique<WrappedStore>(*store, one, Fault{first, true}));
        (void)chat(memory, alice, {.messages = hello}, model, {.tools = kitchen.tools()});
    }
    {
        Memory memory(std::make_unique<WrappedStore>(*store, two, second));
        (void)resume(memory, alice, model, {.tools = kitchen.tools()});
    }
    expect_sendable(*store, when);
    EXPECT_TRUE(kitchen.nothing_twice()) << when;
    Memory memory(std::make_unique<WrappedStore>(*store, three));
    if (!memory.head(alice)) return false;
    const auto done = resume(memory, alice, model, {.tools = kitchen.tools()});
    EXPECT_TRUE(done) << when;
    EXPECT_EQ(done ? done->text : done.error().message, "all done") << when;
    EXPECT_TRUE(kitchen.nothing_twice()) << when;
    EXPECT_TRUE(all_answered(memory)) << when;
    expect_sendable(*store, when);
    return two.calls >= second.fail_on;
}

}  // namespace

TEST(chat_crash, at_every_store_call_of_resume_the_next_one_goes_on) {
    const int calls = calls_of_a_whole_turn();
    for (int first = 1; first <= calls; ++first)
        for (const bool after : {false, true})
            for (int second = 1; fail_twice(first, {second, after}); ++second) {
            }
}
