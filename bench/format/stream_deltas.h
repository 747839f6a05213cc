// What a recorded stream says, put together from its deltas in the plainest way, so that the
// stream readers are held against something that shares no code with them but the JSON parser.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace palimpsest {

// Texts joined, then the calls in order: "\nC id name arguments".
class DeltaSum {
public:
    void add_chat(JsonValue event) {
        const auto choices = event.find("choices");
        if (!choices) return;
        for (const JsonValue choice : choices->elements()) {
            const auto index = choice.find("index");
            const auto delta = choice.find("delta");
            if (!delta || (index && index->integer().value_or(0) != 0)) continue;
            text_ += text_at(*delta, "content");
            const auto calls = delta->find("tool_calls");
            std::int64_t place = 0;
            if (calls)
                for (const JsonValue call : calls->elements()) add_chat_call(call, place++);
        }
    }

    void add_anthropic(JsonValue event) {
        const auto index = event.find("index");
        const std::int64_t at = index ? index->integer().value_or(0) : 0;
        if (const auto block = event.find("content_block")) {
            const std::string type = text_at(*block, "type");
            if (type == "text") text_ += text_at(*block, "text");
            if (type == "tool_use")
                calls_[at] = {text_at(*block, "id"), text_at(*block, "name"), {}};
            const auto input = block->find("input");
            if (type == "tool_use" && input && input->size() > 0)
                calls_[at].arguments = input->raw();
        }
        const auto delta = event.find("delta");
        if (!delta || text_at(event, "type") != "content_block_delta") return;
        text_ += text_at(*delta, "type") == "text_delta" ? text_at(*delta, "text") : "";
        if (calls_.contains(at)) calls_[at].arguments += text_at(*delta, "partial_json");
    }

    std::string said() const {
        std::string out = text_;
        for (const auto& [index, call] : calls_)
            out += "\nC " + call.id + " " + call.name + " " +
                   (call.arguments.empty() ? "{}" : call.arguments);
        return out;
    }

private:
    struct Call {
        std::string id = {}, name = {}, arguments = {};
    };

    static std::string text_at(JsonValue object, std::string_view key) {
        const auto value = object.find(key);
        return value ? std::string(value->string()) : std::string();
    }

    void add_chat_call(JsonValue json, std::int64_t place) {
        const auto index = json.find("index");
        Call& call = calls_[index ? index->integer().value_or(place) : place];
        if (const std::string id = text_at(json, "id"); !id.empty()) call.id = id;
        if (const auto function = json.find("function")) {
            call.name += text_at(*function, "name");
            call.arguments += text_at(*function, "arguments");
        }
    }

    std::string text_;
    std::map<std::int64_t, Call> calls_;
};

}  // namespace palimpsest
