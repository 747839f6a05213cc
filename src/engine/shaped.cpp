// Structured output: the schema goes to the model the way it can take it, what comes back is parsed
// and checked, and what does not fit goes back with the reason, as one more turn.
//
// Invariant: what is returned fits the schema. With a key every attempt has a key of its own, so a
// repeat of the whole finds the attempts that are in the log.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "base/json_write.h"
#include "engine/tool_calls.h"
#include "engine/tool_dialects.h"
#include "engine/usage_totals.h"
#include "palimpsest/chat.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

using Way = AnswerShape::Way;

// The text without a code fence around it.
std::string_view unfenced(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const auto trim = [&](std::string_view part) {
        const std::size_t first = part.find_first_not_of(blank);
        if (first == part.npos) return std::string_view();
        return part.substr(first, part.find_last_not_of(blank) - first + 1);
    };
    text = trim(text);
    if (!text.starts_with("```") || !text.ends_with("```") || text.size() < 6) return text;
    const std::size_t line = text.find('\n');
    if (line == text.npos) return text;
    return trim(text.substr(line + 1, text.size() - line - 4));
}

Result<std::string> check_answer(JsonValue schema, std::string_view text) {
    const std::string_view json = unfenced(text);
    PAL_TRY(value, parse_json(json));
    PAL_CHECK(check_own_schema(schema, value.root()));
    return std::string(json);
}

// `parameters` with one more field; a field that the caller set himself stays.
Result<std::string> with_field(std::string_view parameters, std::string_view name,
                               std::string_view json) {
    if (parameters.empty()) parameters = "{}";
    PAL_TRY(given, parse_json(parameters));
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    for (const JsonMember member : given.root().members())
        writer.key(member.key).raw(member.value.raw());
    if (!given.root().find(name)) writer.key(name).raw(json);
    writer.end_object();
    return out;
}

std::string response_format(const ToolDialect& dialect, const AnswerShape& shape) {
    return std::string(dialect.shape_open) + "\"name\":" + json_string(shape.name) +
           ",\"schema\":" + shape.schema + std::string(dialect.shape_close);
}

std::string tool_choice(const ToolDialect& dialect, const AnswerShape& shape, bool others) {
    if (others) return std::string(dialect.choice_any);
    return std::string(dialect.choice_open) + json_string(shape.name) +
           std::string(dialect.choice_close);
}

std::string instruction(const AnswerShape& shape) {
    return "Answer with one JSON value that fits this JSON Schema, and with nothing else: no "
           "explanation, no code fence.\n" +
           shape.schema;
}

// What was said, with a system message before it.
Result<std::string> with_system(const BeginRequest& request, std::string_view text) {
    PAL_TRY(system, make_message(request.format, Role::system, text));
    PAL_TRY(given, parse_json(request.messages));
    std::string out = "[" + std::string(view_of(system.raw));
    if (given.root().is_array()) {
        for (const JsonValue one : given.root().elements()) out += "," + std::string(one.raw());
    } else if (given.root().find("messages") || given.root().find("input")) {
        PAL_TRY(messages, read_messages(request.format, make_bytes(std::string(request.messages))));
        for (const Message& one : messages) out += "," + std::string(view_of(one.raw));
    } else {
        out += "," + std::string(given.root().raw());
    }
    return out + "]";
}

// One structured turn: how the model is told, and the attempts.
class ShapedTurn {
public:
    ShapedTurn(Memory& memory, const ConversationId& name, Model& model, const AnswerShape& shape,
               BeginRequest request, ChatOptions options)
        : memory_(memory),
          name_(name),
          model_(model),
          shape_(shape),
          request_(std::move(request)),
          options_(std::move(options)) {}

    Result<ShapedDone> run() {
        auto schema = parse_json(shape_.schema);
        if (!schema || !schema->root().is_object())
            return fail(ErrorCode::invalid_request, "the schema is not a JSON object", "schema");
        PAL_CHECK(prepare());
        ShapedDone done;
        std::string said(request_.messages);
        for (done.attempts = 1;; ++done.attempts) {
            PAL_CHECK(attempt(said, done));
            using Outcome = ChatDone::Outcome;
            if (done.chat.outcome == Outcome::pending && options_.others_pending) return done;
            if (done.chat.outcome != Outcome::done) return ended_otherwise(done.chat);
            PAL_TRY(text, answer_text(done.chat));
            auto value = check_answer(schema->root(), text);
            if (value) {
                done.json = *std::move(value);
                return done;
            }
            if (done.attempts > shape_.retries)
                return fail(
                    ErrorCode::unprocessable,
                    "after " + std::to_string(done.attempts) +
                        " attempts the answer does not fit the schema: " + value.error().message);
            if (options_.on_event)
                options_.on_event({.kind = ChatEvent::Kind::retry, .text = value.error().message});
            PAL_TRY(complaint, complain(value.error().message));
            said = std::move(complaint);
        }
    }

private:
    // What is found in `done` of attempts before this one is added to its sums.
    Result<void> attempt(const std::string& said, ShapedDone& done) {
        BeginRequest request = request_;
        request.messages = said;
        if (done.attempts > 1) {
            request.write.key += "/fix" + std::to_string(done.attempts - 1);
            request.write.expected_end.reset();  // It was the first one's.
            request.header = {};
        }
        PAL_TRY(turn, chat(memory_, name_, request, model_, options_));
        const ChatDone before = std::exchange(done.chat, std::move(turn));
        ChatDone& now = done.chat;
        name_ = now.begun.name;  // It may take place in a fork.
        now.rounds += before.rounds;
        add_usage(now.usage, before.usage);
        if (before.cost) now.cost = now.cost.value_or(0) + *before.cost;
        now.warnings.insert(now.warnings.begin(), before.warnings.begin(), before.warnings.end());
        return {};
    }

    static std::unexpected<Error> ended_otherwise(const ChatDone& done) {
        std::string why = "there is no answer that fits the schema: the turn ended as " +
                          std::string(chat_outcome_name(done.outcome));
        for (const std::string& warning : done.warnings) why += "; " + warning;
        return fail(ErrorCode::unprocessable, std::move(why));
    }

    Result<void> prepare() {
        if (request_.write.key.empty()) request_.write.key = "shaped_" + hex(random_log_id());
        Way way = shape_.way;
        const ToolDialect& dialect = tool_dialect_of(request_.format);
        const bool has_field =
            !dialect.shape_field.empty() && !tool_dialect_of(model_.format()).shape_field.empty();
        if (way == Way::automatic) way = has_field ? Way::response_format : Way::tool;
        if (way == Way::response_format && !has_field)
            return fail(ErrorCode::invalid_request,
                        "this format has no field for the shape of an answer: ask by a tool",
                        "way");
        if (way == Way::tool) return offer_tool();
        if (way == Way::prompt) {
            PAL_TRY(messages, with_system(request_, instruction(shape_)));
            messages_ = std::move(messages);
            request_.messages = messages_;
            return {};
        }
        PAL_TRY(parameters, with_field(request_.parameters, dialect.shape_field,
                                       response_format(dialect, shape_)));
        request_.parameters = std::move(parameters);
        return {};
    }

    Result<void> offer_tool() {
        const bool others = !options_.tools.empty() || !request_.tools.empty();
        PAL_TRY(parameters,
                with_field(request_.parameters, "tool_choice",
                           tool_choice(tool_dialect_of(request_.format), shape_, others)));
        request_.parameters = std::move(parameters);
        // A call whose arguments do not fit is refused by the loop, and the model told why.
        if (!others) options_.rounds_max = std::min(options_.rounds_max, shape_.retries + 1);
        options_.tools.push_back(
            {.name = shape_.name,
             .description = "Takes the answer.",
             .schema = shape_.schema,
             .run = [](std::string_view,
                       const std::stop_token&) { return Result<std::string>("accepted"); },
             .idempotent = true,
             .ends = true});
        return {};
    }

    // The arguments of the tool that takes the answer, or else what the model said.
    Result<std::string> answer_text(const ChatDone& done) const {
        std::vector<Message> items = done.answer.earlier;
        items.push_back(done.answer.message);
        PAL_TRY(calls, calls_of(items));
        const auto taken = std::ranges::find(calls, shape_.name, &PendingCall::name);
        return taken == calls.end() ? done.text : taken->arguments;
    }

    Result<std::string> complain(const std::string& why) const {
        PAL_TRY(message, make_message(request_.format, Role::user,
                                      "This answer cannot be used: " + why +
                                          ". Answer again with one JSON value that fits the "
                                          "schema, and with nothing else."));
        return "[" + system_messages() + std::string(view_of(message.raw)) + "]";
    }

    // Those that the request begins with, each with a comma: they are no part of the log, so every
    // attempt brings them again.
    std::string system_messages() const {
        std::string out;
        const auto said = read_messages(request_.format, make_bytes(std::string(request_.messages)),
                                        Fingerprints::left_out);
        if (!said) return out;  // It was read before: messages with times of their own.
        for (const Message& one : *said) {
            if (one.shape.role != Role::system) break;
            out += std::string(view_of(one.raw)) + ",";
        }
        return out;
    }

    Memory& memory_;
    ConversationId name_;
    Model& model_;
    const AnswerShape& shape_;
    BeginRequest request_;
    ChatOptions options_;
    std::string messages_;  // with the instruction, where that is the way
};

}  // namespace

Result<ShapedDone> chat_shaped(Memory& memory, const ConversationId& name,
                               const BeginRequest& request, Model& model, const AnswerShape& shape,
                               const ChatOptions& options) {
    return ShapedTurn(memory, name, model, shape, request, options).run();
}

}  // namespace palimpsest
