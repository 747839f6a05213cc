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

struct Said {
    std::string text;
    bool refusal = false;
};

struct Item {
    std::string json;  // as added, then as done
    std::string type;
    bool done = false;
    std::map<std::int64_t, Said> texts;  // by content index, while it is not done
    std::string rest;                    // arguments of a call, or reasoning, likewise
    std::size_t call = 0;
};

bool is_call(std::string_view type) {
    return type == "function_call" || type == "custom_tool_call";
}

class ResponsesReader final : public StreamReader {
public:
    explicit ResponsesReader(OnDelta on_delta) : on_delta_(std::move(on_delta)) {}

    Result<void> feed(std::string_view bytes) override {
        return sse_.feed(bytes, [this](auto, std::string_view data) { return event(data); });
    }

    Result<Reply> finish() override {
        PAL_CHECK(sse_.finish([this](auto, std::string_view data) { return event(data); }));
        if (response_.empty() && items_.empty())
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
            if (type == "response.failed") return broke_off(response->find("error"));
            take_response(*response, type == "response.completed" || type == "response.incomplete");
        }
        const auto item = root.find("item");
        const bool done = type == "response.output_item.done";
        if (item && (done || type == "response.output_item.added"))
            take_item(*item, number(root, "output_index"), done);
        else if (type.ends_with(".delta"))
            grow(root, type);
        return {};
    }

    void take_response(JsonValue response, bool closes) {
        response_ = response.raw();
        closed_ = closes;
        if (!closes) return;
        const auto output = response.find("output");
        if (output && output->size() > 0)
            take_output(*output);
        else if (!items_.empty())
            // Some servers close with a response that has no output: the items stand in for it.
            response_ = with_member(response, "output", json_list(done_items()));
    }

    // What the closing response has and no event told. Ids and places may be others there than in
    // the events before, so items are known by their order among those of their type.
    void take_output(JsonValue output) {
        std::map<std::string_view, std::size_t> counts;
        for (const JsonValue json : output.elements()) {
            const std::string_view type = any_string(json, "type");
            std::size_t before = counts[type]++;
            auto known = items_.begin();
            while (known != items_.end() && (known->second.type != type || before-- > 0)) ++known;
            if (known == items_.end())
                take_item(json, items_.empty() ? 0 : items_.rbegin()->first + 1, true);
            else if (!known->second.done)
                take_item(json, known->first, true);
        }
    }

    void take_item(JsonValue json, std::int64_t index, bool done) {
        Item& item = items_[index];
        const bool fresh = item.json.empty();
        item.json = json.raw();
        item.type = any_string(json, "type");
        item.done = done;
        if (fresh && is_call(item.type)) {
            item.call = calls_++;
            send({.kind = StreamDelta::Kind::call,
                  .index = item.call,
                  .id = any_string(json, "call_id"),
                  .name = any_string(json, "name")});
        }
        if (done) tell_rest(item, json);
    }

    // What an item that is done has beyond its deltas.
    void tell_rest(Item& item, JsonValue json) {
        const auto message = openai_responses_format.read(json);
        if (!message) return;
        using Kind = StreamDelta::Kind;
        std::int64_t at = -1;
        for (const NeutralPart& part : message->parts) {
            ++at;
            if (part.kind == PartKind::text || part.kind == PartKind::refusal) {
                Said& said = item.texts[at];
                said.refusal = part.kind == PartKind::refusal;
                const Kind kind = said.refusal ? Kind::refusal : Kind::text;
                say(said.text, {.kind = kind, .text = behind(said.text, part.text)});
            } else if (is_call(item.type)) {
                say(item.rest, {.kind = Kind::arguments,
                                .index = item.call,
                                .text = behind(item.rest, part.arguments)});
            } else if (part.kind == PartKind::reasoning && item.rest.empty()) {
                say(item.rest, {.kind = Kind::reasoning, .text = part.text});
            }
        }
    }

    // Deltas that say something else than the whole stand as they are.
    static std::string_view behind(std::string_view told, std::string_view whole) {
        return whole.starts_with(told) ? whole.substr(told.size()) : std::string_view();
    }

    void say(std::string& told, const StreamDelta& delta) {
        told += delta.text;
        if (!delta.text.empty()) send(delta);
    }

    void grow(JsonValue root, std::string_view type) {
        Item& item = items_[number(root, "output_index")];
        const std::string_view more = any_string(root, "delta");
        using Kind = StreamDelta::Kind;
        if (type == "response.output_text.delta" || type == "response.refusal.delta") {
            if (item.type.empty()) item.type = "message";  // Not every server announces its items.
            Said& said = item.texts[number(root, "content_index")];
            said.refusal = type == "response.refusal.delta";
            say(said.text, {.kind = said.refusal ? Kind::refusal : Kind::text, .text = more});
        } else if (type == "response.function_call_arguments.delta" ||
                   type == "response.custom_tool_call_input.delta") {
            say(item.rest, {.kind = Kind::arguments, .index = item.call, .text = more});
        } else if (type == "response.reasoning_summary_text.delta" ||
                   type == "response.reasoning_text.delta") {
            if (item.type.empty()) item.type = "reasoning";
            say(item.rest, {.kind = Kind::reasoning, .text = more});
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

    static std::string said_part(const Said& said) {
        std::string part;
        JsonWriter out(part);
        out.begin_object();
        if (said.refusal)
            out.field("type", "refusal").field("refusal", said.text);
        else
            out.field("type", "output_text").key("annotations").raw("[]").field("text", said.text);
        out.end_object();
        return part;
    }

    // An item that was not done keeps its text; calls and reasoning that were not done are left
    // out.
    static std::string partial_item(const Item& item) {
        const auto document =
            parse_json(item.json.empty() ? empty_item : std::string_view(item.json));
        if (!document || item.texts.empty()) return {};
        std::vector<std::string> parts;
        for (const auto& [index, said] : item.texts) parts.push_back(said_part(said));
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
        const auto document = parse_json(response_.empty() ? "{}" : std::string_view(response_));
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
