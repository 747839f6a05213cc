// Reads the stream of Responses. The closing event carries the whole response; when it never comes,
// the items that were done and the text of the one that was not make the interrupted reply.
#include <map>

#include "base/json_write.h"
#include "format/fields.h"
#include "format/json_edit.h"
#include "format/openai_responses/openai_responses.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

constexpr std::string_view empty_item =
    R"({"type":"message","role":"assistant","status":"incomplete","content":[]})";

struct Item {
    std::string json;  // as added, then as done
    bool done = false;
    std::map<std::int64_t, std::string> texts;  // by content index, while it is not done
    std::string rest;                           // arguments of a call, or reasoning, likewise
    std::size_t call = 0;
};

class ResponsesReader final : public StreamReader {
public:
    explicit ResponsesReader(OnDelta on_delta) : on_delta_(std::move(on_delta)) {}

    Result<void> feed(std::string_view bytes) override {
        return sse_.feed(bytes, [this](auto, std::string_view data) { return event(data); });
    }

    Result<Reply> finish() override {
        PAL_CHECK(sse_.finish([this](auto, std::string_view data) { return event(data); }));
        if (response_.empty())
            return fail(ErrorCode::upstream_failed, "the stream ended before it began");
        if (!closed_) response_ = partial();
        PAL_TRY(reply, read_reply(FormatId::openai_responses, response_));
        reply.interrupted = !closed_;
        if (!closed_)
            PAL_CHECK(
                keep_unfinished(reply, FormatId::openai_responses, unfinished_items(), empty_item));
        return reply;
    }

private:
    static std::int64_t number(JsonValue root, std::string_view key) {
        const auto value = root.find(key);
        return value ? value->integer().value_or(0) : 0;
    }

    Result<void> event(std::string_view data) {
        if (data == "[DONE]") return {};
        PAL_TRY(document, parse_json(data));
        const JsonValue root = document.root();
        PAL_CHECK(refuse_error_event(root));
        const std::string_view type = any_string(root, "type");
        if (type == "response.created") items_.clear();  // one connection may carry several
        if (const auto response = root.find("response"); response && response->is_object()) {
            // Some servers close with a response that has no output: the items stand in for it.
            response_ = response->raw();
            closed_ = type == "response.completed" || type == "response.incomplete" ||
                      type == "response.failed";
            const auto output = response->find("output");
            if (closed_ && !items_.empty() && (!output || output->size() == 0))
                response_ = with_member(*response, "output", json_list(done_items()));
        }
        if (type == "response.output_item.added" || type == "response.output_item.done")
            take_item(root, type.ends_with("done"));
        else if (type.ends_with(".delta"))
            grow(root, type);
        return {};
    }

    void take_item(JsonValue root, bool done) {
        const auto json = root.find("item");
        if (!json) return;
        Item& item = items_[number(root, "output_index")];
        const bool fresh = item.json.empty();
        item.json = json->raw();
        item.done = done;
        const std::string_view type = any_string(*json, "type");
        if (!fresh || (type != "function_call" && type != "custom_tool_call")) return;
        item.call = calls_++;
        send({.kind = StreamDelta::Kind::call,
              .index = item.call,
              .id = any_string(*json, "call_id"),
              .name = any_string(*json, "name")});
    }

    void grow(JsonValue root, std::string_view type) {
        Item& item = items_[number(root, "output_index")];
        const std::string_view more = any_string(root, "delta");
        using Kind = StreamDelta::Kind;
        if (type == "response.output_text.delta") {
            item.texts[number(root, "content_index")] += more;
            send({.kind = Kind::text, .text = more});
        } else if (type == "response.refusal.delta") {
            send({.kind = Kind::refusal, .text = more});
        } else if (type == "response.function_call_arguments.delta" ||
                   type == "response.custom_tool_call_input.delta") {
            item.rest += more;
            send({.kind = Kind::arguments, .index = item.call, .text = more});
        } else if (type == "response.reasoning_summary_text.delta" ||
                   type == "response.reasoning_text.delta") {
            item.rest += more;
            send({.kind = Kind::reasoning, .text = more});
        }
    }

    // Calls and reasoning that were announced and not done, as far as they came.
    std::vector<std::string> unfinished_items() const {
        std::vector<std::string> items;
        for (const auto& [index, item] : items_) {
            const auto document = parse_json(item.json);
            if (item.done || !document || !item.texts.empty()) continue;
            const std::string_view type = any_string(document->root(), "type");
            if (type == "message") continue;
            const bool custom = type == "custom_tool_call", reasoning = type == "reasoning";
            const std::string_view key = reasoning ? "text" : custom ? "input" : "arguments";
            items.push_back(with_member(document->root(), key, json_string(item.rest)));
        }
        return items;
    }

    // An item that was not done keeps its text; calls and reasoning that were not done are left
    // out.
    static std::string partial_item(const Item& item) {
        const auto document = parse_json(item.json);
        if (!document || item.texts.empty()) return {};
        std::vector<std::string> parts;
        for (const auto& [index, text] : item.texts) {
            std::string part;
            JsonWriter(part)
                .begin_object()
                .field("type", "output_text")
                .key("annotations")
                .begin_array()
                .end_array()
                .field("text", text)
                .end_object();
            parts.push_back(std::move(part));
        }
        const std::string content = with_member(document->root(), "content", json_list(parts));
        const auto again = parse_json(content);
        return again ? with_member(again->root(), "status", "\"incomplete\"") : content;
    }

    std::vector<std::string> done_items() const {
        std::vector<std::string> items;
        for (const auto& [index, item] : items_) {
            std::string json = item.done ? item.json : partial_item(item);
            if (!json.empty()) items.push_back(std::move(json));
        }
        return items;
    }

    std::string partial() const {
        const auto document = parse_json(response_);
        if (!document) return response_;
        const std::string body = with_member(document->root(), "output", json_list(done_items()));
        const auto again = parse_json(body);
        return again ? with_member(again->root(), "status", "\"incomplete\"") : body;
    }

    void send(const StreamDelta& delta) {
        if (on_delta_) on_delta_(delta);
    }

    OnDelta on_delta_;
    SseParser sse_;
    std::string response_;
    std::map<std::int64_t, Item> items_;
    std::size_t calls_ = 0;
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> make_openai_responses_reader(OnDelta on_delta) {
    return std::make_unique<ResponsesReader>(std::move(on_delta));
}

}  // namespace palimpsest
