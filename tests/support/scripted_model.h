// A model that plays a script in the process: for tests of what happens around a model. It is
// strict: what it is sent must be what a provider accepts.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <mutex>

#include "palimpsest/chat.h"
#include "support/engine.h"

namespace palimpsest::testing_support {

class ScriptedModel : public Model {
public:
    explicit ScriptedModel(FormatId format = FormatId::openai_chat) : format_(format) {}

    std::string_view name() const override { return name_; }
    FormatId format() const override { return format_; }

    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        const std::scoped_lock lock(mutex_);
        ++calls;
        sent.push_back(rendered(request));
        tools = request.tools;
        if (script_.empty()) return fail(ErrorCode::upstream_failed, "the script is over");
        Result<Reply> next = std::move(script_.front());
        script_.pop_front();
        if (next && on_piece) tell(*next, on_piece);
        return next;
    }

    // The texts of what it was sent, one line for each call.
    std::vector<std::string> sent = {};
    int calls = 0;
    std::string tools = {};

    ScriptedModel& says(std::string_view text) { return answers(assistant(text)); }
    // {"name", arguments}; ids are c1, c2, ... over the whole script.
    ScriptedModel& asks_for(std::vector<std::pair<std::string, std::string>> wanted) {
        std::string list;
        for (const auto& [tool, arguments] : wanted)
            list += std::string(list.empty() ? "" : ",") + R"({"id":"c)" + std::to_string(++ids_) +
                    R"(","type":"function","function":{"name":")" + tool + R"(","arguments":)" +
                    json_string(arguments) + "}}";
        return answers(R"({"role":"assistant","content":null,"tool_calls":[)" + list + "]}");
    }
    ScriptedModel& answers(std::string_view json) {
        Reply reply;
        auto message = read_message(format_, make_bytes(std::string(json)));
        EXPECT_TRUE(message) << json;
        if (message) reply.messages.push_back(*message);
        reply.stop = StopReason::end;
        reply.usage = ReplyUsage{.input_tokens = 100, .output_tokens = 10};
        return plays(std::move(reply));
    }
    ScriptedModel& fails(ErrorCode code, std::string message) {
        return plays(fail(code, std::move(message)));
    }
    ScriptedModel& plays(Result<Reply> reply) {
        script_.push_back(std::move(reply));
        return *this;
    }
    // The next reply, without a call.
    Reply take() {
        Reply next = *std::move(script_.front());
        script_.pop_front();
        return next;
    }
    Reply& last() { return *script_.back(); }
    void call_it(std::string name) { name_ = std::move(name); }

private:
    std::string rendered(const ModelRequest& request) {
        const auto ready = render(format_, request.messages);
        EXPECT_TRUE(ready) << ready.error().message;
        if (!ready) return "?";
        EXPECT_TRUE(ready->notes.empty()) << ready->notes[0].what;
        std::string out = ready->system;
        for (const Message& message : ready->messages)
            out += (out.empty() ? "" : " ") + text_of(message);
        return out;
    }
    static void tell(Reply& reply, const OnPiece& on_piece) {
        for (const Message& message : reply.messages) {
            const auto parts = read_parts(message);
            for (const Part& part : parts->parts)
                if (const auto* text = std::get_if<Text>(&part))
                    if (!on_piece({.kind = StreamDelta::Kind::text, .text = text->text}))
                        reply.interrupted = true;
        }
    }

    FormatId format_;
    std::string name_ = "scripted";
    std::mutex mutex_;
    std::deque<Result<Reply>> script_;
    int ids_ = 0;
};

// Every call in the log has an answer.
inline bool all_answered(Memory& memory) {
    const auto view = memory.view(alice);
    if (!view) return false;
    for (const Group& group : find_groups(view->items))
        if (group.open) return false;
    return true;
}

inline Tool make_tool(std::string name, std::function<Result<std::string>(std::string_view)> run) {
    return {.name = std::move(name),
            .description = "a tool",
            .run = [run = std::move(run)](std::string_view arguments, const std::stop_token&) {
                return run(arguments);
            }};
}

}  // namespace palimpsest::testing_support
