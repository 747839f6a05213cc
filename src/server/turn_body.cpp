// turn_body: what the bodies of turns have in common, read and written.
#include "server/turn_body.h"

#include "base/ids.h"
#include "core/metadata.h"
#include "engine/present.h"
#include "model/request_body.h"
#include "palimpsest/format.h"
#include "server/rest.h"

namespace palimpsest {

std::string turn_id(const Begun& begun) {
    std::string id = position_id(turn_prefix, begun.log, begun.turn);
    if (!begun.key.empty()) id += "." + percent_encode(begun.key);
    return id;
}

void write_start(JsonWriter& out, const Begun& begun, std::string_view id) {
    out.begin_object().field("conversation_id", begun.name.id).field("turn_id", id);
}

void write_end(JsonWriter& out, const Begun& begun, const Finished& finished) {
    out.key("cost");
    if (finished.cost)
        out.begin_object().key("dollars").number(*finished.cost).end_object();
    else
        out.null();
    out.key("compaction");
    begun.compaction ? write_compaction(out, *begun.compaction) : void(out.null());
    out.key("warnings").begin_array();
    for (const auto* warnings : {&begun.warnings, &finished.warnings})
        for (const std::string& warning : *warnings) out.string(warning);
    out.end_array().end_object();
}

std::string start_event(const Begun& begun) {
    std::string data;
    JsonWriter out(data);
    write_start(out, begun, turn_id(begun));
    out.key("seq").number(begun.view.seq.value).end_object();
    return data;
}

std::string compaction_event(const Compaction& compaction) {
    std::string data;
    JsonWriter out(data);
    write_compaction(out, compaction);
    return data;
}

void write_usage(JsonWriter& out, const Usage& usage) {
    out.begin_object().key("input_tokens").number(usage.input);
    out.key("cached_tokens").number(usage.cached);
    out.key("cache_write_tokens").number(usage.cache_writes);
    out.key("output_tokens").number(usage.output);
    out.key("reasoning_tokens").number(usage.reasoning).end_object();
}

namespace {

void write_calls_of(JsonWriter& out, const Message& message) {
    const Result<Parts> parts = read_parts(message);
    if (!parts) return;
    for (const Part& part : parts->parts)
        if (const ToolCall* call = std::get_if<ToolCall>(&part)) {
            out.begin_object().field("id", call->id).field("name", call->name);
            out.field("arguments", call->arguments).end_object();
        }
}

}  // namespace

void write_calls(JsonWriter& out, const Answer& answer) {
    out.begin_array();
    for (const Message& item : answer.earlier) write_calls_of(out, item);
    write_calls_of(out, answer.message);
    out.end_array();
}

std::string raw_of(const Call& call, std::string_view name) {
    const std::optional<JsonValue> value = call.field(name);
    return value ? std::string(value->raw()) : std::string();
}

Result<std::string> said_in(const Call& call) {
    const std::optional<JsonValue> one = call.field("message");
    const std::optional<JsonValue> many = call.field("messages");
    if (one.has_value() == many.has_value())
        return fail(ErrorCode::invalid_request, "give 'message' or 'messages', one of them",
                    "message");
    if (many) return std::string(many->raw());
    if (one->is_object()) return std::string(one->raw());
    return R"({"role":"user","content":)" + json_string(one->string()) + "}";
}

Result<std::string> parameters_in(const Call& call) {
    const auto shape = call.field("response_format");
    std::string parameters = raw_of(call, "parameters");
    if (!shape) return parameters;
    const auto format = call.text("format");
    if (format && *format != format_name(FormatId::openai_chat))
        return fail(ErrorCode::invalid_request,
                    "'response_format' is a field of openai_chat; in another format say it in "
                    "'parameters', as its provider does",
                    "response_format");
    return with_defaults(R"({"response_format":)" + std::string(shape->raw()) + "}", parameters);
}

Result<BeginRequest> begin_request_of(const Call& call, std::string_view messages,
                                      std::string_view model) {
    PAL_TRY(format, format_of(call));
    WriteOptions write = call.write(IfAbsent::create);
    write.key = call.key;  // begin, finish and chat share the key of a turn.
    return BeginRequest{.messages = messages,
                        .format = format,
                        .model = std::string(model),
                        .tools = raw_of(call, "tools"),
                        .parameters = raw_of(call, "parameters"),
                        .policy = raw_of(call, "memory_strategy"),
                        .agent = call.text("agent_type").value_or(""),
                        .turns = parse_turns(call.text("turns").value_or("")),
                        .write = std::move(write)};
}

Usage usage_in(const Call& call) {
    const std::optional<JsonValue> usage = call.field("usage");
    const auto number = [&](std::string_view name) -> std::uint64_t {
        const auto value = usage ? usage->find(name) : std::nullopt;
        return value ? static_cast<std::uint64_t>(value->integer().value_or(0)) : 0;
    };
    return {.input = number("input_tokens"),
            .cached = number("cached_tokens"),
            .cache_writes = number("cache_write_tokens"),
            .output = number("output_tokens"),
            .reasoning = number("reasoning_tokens")};
}

Result<std::string> model_name_of(Call& call, const ConversationId& name) {
    if (const auto model = call.text("model")) return *model;
    std::string key = call.text("agent_type").value_or("");
    if (key.empty()) {
        const auto header = call.site.memory.head(name);
        if (!header || header->metadata.find("\"agent_type\"") == std::string::npos)
            return std::string();
        key = labels_of(header->metadata)["agent_type"];
    }
    auto agent = call.site.memory.find_agent(name.tenant, key);
    if (agent) return std::move(agent->model);
    // One that the conversation only remembers need not be there any more.
    if (!call.text("agent_type")) return std::string();
    agent.error().param = "agent_type";
    return std::unexpected(std::move(agent).error());
}

}  // namespace palimpsest
