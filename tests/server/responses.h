// A server in front of a scripted model, and what tests read of responses and their events.
#pragma once
#include <string>
#include <vector>

#include "server/running.h"
#include "support/upstream.h"

namespace palimpsest {

inline const std::string root = "/v1/responses";

// A server in front of a scripted one that speaks `format`.
class Behind {
public:
    explicit Behind(FormatId format = FormatId::openai_chat,
                    const std::string& store = "memory:", MemoryOptions options = {},
                    std::size_t answer_bytes_max = 16u << 20)
        : memory_(Memory::open(store, std::move(options)).value()),
          model_(make_http_model({.name = "m",
                                  .format = format,
                                  .url = upstream.url(),
                                  .retries = 0,
                                  .proxy = "none",
                                  .answer_bytes_max = answer_bytes_max})
                     .value()),
          server_(Server::start(memory_, *model_, {}).value()) {}

    Told ask(const std::string& method, const std::string& target, const std::string& body = {},
             const HeaderFields& headers = {}) {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server_->port())).value());
        return Running::ask(client, method, target, body, headers);
    }
    Told say(const std::string& fields) {
        return ask("POST", root, "{\"model\":\"m\"," + fields + "}");
    }

    std::uint16_t port() const { return server_->port(); }

    Upstream upstream;

private:
    Memory memory_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<Server> server_;
};

inline UpstreamReply chat_reply(const std::string& text) {
    return {
        .body =
            R"({"choices":[{"index":0,"message":{"role":"assistant","content":")" + text +
            R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}})"};
}

inline std::string chat_chunk(const std::string& delta, const std::string& reason = "null") {
    return R"(data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":)" +
           delta + ",\"finish_reason\":" + reason + "}]}\n\n";
}

inline UpstreamReply chat_stream(const std::vector<std::string>& words) {
    std::string events = chat_chunk(R"({"role":"assistant"})");
    for (const std::string& word : words) events += chat_chunk("{\"content\":\"" + word + "\"}");
    return event_stream_reply(events + chat_chunk("{}", "\"stop\"") + "data: [DONE]\n\n");
}

// The text of a response's output.
inline std::string output_text(JsonValue response) {
    std::string text;
    for (const JsonValue item : response.find("output")->elements())
        if (const auto content = item.find("content"))
            for (const JsonValue part : content->elements())
                if (const auto said = part.find("text")) text += said->string();
    return text;
}
inline std::string output_text(const Told& told) {
    return told.document && told.json().find("output") ? output_text(told.json())
                                                       : told.response.body;
}

inline std::string conversation_of(const Told& told) {
    return std::string(told.json().find("conversation")->find("id")->string());
}

struct Event {
    std::string type;
    std::int64_t sequence = 0;
    std::string data;
};
inline std::vector<Event> events_of(const std::string& body) {
    std::vector<Event> events;
    for (std::size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
        const std::size_t end = body.find('\n', at);
        const std::string data = body.substr(at + 6, end - at - 6);
        at = end;
        const auto document = parse_json(data);
        if (!document) continue;
        events.push_back({std::string(document->root().find("type")->string()),
                          document->root().find("sequence_number")->integer().value_or(-1), data});
    }
    return events;
}
inline std::string types_of(const std::vector<Event>& events) {
    std::string types;
    for (const Event& event : events) types += event.type + " ";
    return types;
}

inline std::string input_texts(const Told& list) {
    std::string all;
    for (const JsonValue item : list.json().find("data")->elements())
        if (const auto content = item.find("content"))
            for (const JsonValue part : content->elements())
                all += std::string(part.find("text")->string()) + "|";
    return all;
}

}  // namespace palimpsest
