// A server with scripted upstreams of each format behind it, and what such an upstream says.
#pragma once
#include <string>
#include <thread>

#include "palimpsest/stream.h"
#include "server/running.h"
#include "support/engine.h"
#include "support/upstream.h"

namespace palimpsest {

inline std::shared_ptr<Model> model_of(std::string name, FormatId format, const Upstream& upstream,
                                       std::size_t answer_bytes_max = 16u << 20) {
    Endpoint endpoint;
    endpoint.name = std::move(name);
    endpoint.model = "upstream-model";
    endpoint.format = format;
    endpoint.url = upstream.url();
    endpoint.retries = 0;
    endpoint.answer_bytes_max = answer_bytes_max;
    return make_http_model(endpoint).value();
}

// An answer as the upstream would give it whole.
inline std::string spoken(FormatId format, std::string_view text, std::string_view id = "up_1") {
    Reply reply;
    reply.messages.push_back(make_message(FormatId::openai_chat, Role::assistant, text).value());
    reply.stop = StopReason::end;
    reply.usage = ReplyUsage{.input_tokens = 11, .output_tokens = 3};
    return make_reply_body(format, reply, {.id = std::string(id), .model = "upstream-model"})->body;
}

inline UpstreamReply says(FormatId format, std::string_view text) {
    return {.body = spoken(format, text)};
}

// The same as events, a word each.
inline std::string told_events(FormatId format, std::string_view text) {
    const auto writer = make_stream_writer(format, {.id = "up_1", .model = "upstream-model"});
    std::string events = writer->begin();
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size() - 1) + 1;
        events += writer->add({.kind = StreamDelta::Kind::text, .text = text.substr(0, end)});
        text.remove_prefix(end);
    }
    return events + writer->end(StopReason::end, {.input_tokens = 11, .output_tokens = 3});
}

inline UpstreamReply tells(FormatId format, std::string_view text) {
    return event_stream_reply(told_events(format, text));
}

// A server with one model, "m", of a format.
class Gateway {
public:
    explicit Gateway(FormatId format, std::vector<UpstreamReply> script = {},
                     ServerOptions options = {},
                     std::string_view store = "memory:", MemoryOptions counting = {})
        : upstream(std::move(script)), memory(Memory::open(store, std::move(counting)).value()) {
        Models models;
        models.add(model_of("m", format, upstream));
        server = Server::start(memory, std::move(models), std::move(options)).value();
    }

    HttpClient client() const {
        return HttpClient(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
    }
    Told post(std::string target, std::string body, const HeaderFields& headers = {}) const {
        HttpClient one = client();
        return Running::ask(one, "POST", std::move(target), std::move(body), headers);
    }
    Told get(std::string target) const {
        HttpClient one = client();
        return Running::ask(one, "GET", std::move(target));
    }
    Told chat(const std::string& messages, const HeaderFields& headers = {},
              const std::string& more = "") const {
        return post("/v1/chat/completions",
                    R"({"model":"m","messages":[)" + messages + "]" +
                        (more.empty() ? "" : "," + more) + "}",
                    headers);
    }
    Told message(const std::string& messages, const HeaderFields& headers = {},
                 const std::string& more = "") const {
        return post("/v1/messages",
                    R"({"model":"m","max_tokens":50,"messages":[)" + messages + "]" +
                        (more.empty() ? "" : "," + more) + "}",
                    headers);
    }
    std::string view(std::string id) {
        const auto view = memory.view({"default", std::move(id)});
        return view ? testing_support::texts(*view) : view.error().message;
    }
    JsonDocument sent(std::size_t request) {
        kept_.push_back(std::make_unique<std::string>(upstream.requests().at(request).body));
        return parse_json(*kept_.back()).value();
    }

    Upstream upstream;
    Memory memory;
    std::unique_ptr<Server> server;

private:
    std::vector<std::unique_ptr<std::string>> kept_;
};

inline const HeaderFields in_alice = {{"X-Conversation-Id", "alice"}};

inline std::string chat_text(const Told& told) {
    const auto choices = told.document ? told.json().find("choices") : std::nullopt;
    if (!choices || choices->size() == 0) return "(" + told.response.body + ")";
    return std::string((*choices->elements().begin()).find("message")->find("content")->string());
}
inline std::string message_text(const Told& told) {
    const auto content = told.document ? told.json().find("content") : std::nullopt;
    if (!content || content->size() == 0) return "(" + told.response.body + ")";
    return std::string((*content->elements().begin()).find("text")->string());
}

// What a stream of that format says in the end.
inline Reply read_stream(FormatId format, const Told& told) {
    const auto reader = make_stream_reader(format);
    const auto fed = reader->feed(told.response.body);
    EXPECT_TRUE(fed) << fed.error().message << told.response.body;
    auto reply = reader->finish();
    EXPECT_TRUE(reply) << told.response.body;
    return reply ? *std::move(reply) : Reply{};
}
inline std::string stream_text(FormatId format, const Told& told) {
    std::string out;
    for (const Message& message : read_stream(format, told).messages)
        out += testing_support::text_of(message);
    return out;
}

constexpr FormatId every_format[] = {FormatId::openai_chat, FormatId::openai_responses,
                                     FormatId::anthropic};

}  // namespace palimpsest
