#include "server/response_object.h"

#include <algorithm>

#include "base/json_write.h"
#include "format/json_edit.h"

namespace palimpsest {
namespace {

// What a response shows of its request, and what stands there when the request did not say.
struct Echo {
    std::string_view name, otherwise;
};
constexpr Echo echoes[] = {
    {"background", "false"},
    {"max_output_tokens", "null"},
    {"max_tool_calls", "null"},
    {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"},
    {"prompt_cache_key", "null"},
    {"reasoning", R"({"effort":null,"summary":null})"},
    {"safety_identifier", "null"},
    {"service_tier", "\"default\""},
    {"store", "true"},
    {"temperature", "1.0"},
    {"text", R"({"format":{"type":"text"}})"},
    {"tool_choice", "\"auto\""},
    {"top_logprobs", "0"},
    {"top_p", "1.0"},
    {"truncation", "\"disabled\""},
    {"user", "null"},
    {"metadata", "{}"},
};

void write_usage(JsonWriter& out, const ReplyUsage& usage) {
    out.begin_object().key("input_tokens").number(usage.input_tokens);
    out.key("input_tokens_details").begin_object().key("cached_tokens");
    out.number(usage.cached_tokens).key("cache_write_tokens");
    out.number(usage.cache_write_tokens).end_object();
    out.key("output_tokens").number(usage.output_tokens);
    out.key("output_tokens_details").begin_object().key("reasoning_tokens");
    out.number(usage.reasoning_tokens).end_object();
    out.key("total_tokens").number(usage.input_tokens + usage.output_tokens).end_object();
}

// What ended it, each null where it does not apply.
void write_end(JsonWriter& out, const ResponseState& response) {
    out.key("completed_at");
    response.completed > 0 ? out.number(response.completed) : out.null();
    out.key("error");
    if (response.error) {
        out.begin_object().field("code", error_info(response.error->code).name);
        out.field("message", response.error->message).end_object();
    } else {
        out.null();
    }
    out.key("incomplete_details");
    if (response.status == "incomplete")
        out.begin_object().field("reason", response.reason).end_object();
    else
        out.null();
}

}  // namespace

std::string echo_fields(JsonValue request) {
    std::string fields;
    JsonWriter out(fields);
    out.begin_object();
    for (const Echo& echo : echoes)
        if (const auto value = request.find(echo.name); value && !value->is_null())
            out.key(echo.name).raw(value->raw());
    out.end_object();
    return fields;
}

std::string output_item(const ResponseState& response, std::size_t index) {
    const std::string& item = response.output.at(index);
    const bool cut = response.status == "incomplete" || response.status == "cancelled";
    return cut && index + 1 == response.output.size() ? incomplete_item(item) : item;
}

std::string incomplete_item(const std::string& item) {
    const auto document = parse_json(item);
    if (!document || !document->root().find("status")) return item;
    return with_member(document->root(), "status", "\"incomplete\"");
}

std::string write_response(const ResponseState& response) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("id", response.id).field("object", "response");
    out.key("created_at").number(response.created).field("status", response.status);
    write_end(out, response);
    out.field("model", response.model).key("output").begin_array();
    for (std::size_t i = 0; i < response.output.size(); ++i) out.raw(output_item(response, i));
    out.end_array().key("instructions");
    out.raw(response.instructions.empty() ? "null" : response.instructions);
    out.key("tools").raw(response.tools.empty() ? "[]" : response.tools).key("usage");
    response.usage ? write_usage(out, *response.usage) : void(out.null());
    out.key("conversation");
    if (response.conversation.empty())
        out.null();
    else
        out.begin_object().field("id", response.conversation).end_object();
    const auto fields = parse_json(response.fields);
    for (const Echo& echo : echoes) {
        const auto said = fields ? fields->root().find(echo.name) : std::nullopt;
        out.key(echo.name).raw(said ? said->raw() : echo.otherwise);
    }
    out.end_object();
    return body;
}

ResponseEnd response_end(const Reply& reply) {
    const StopReason stop = reply.stop;
    if (reply.cut == ErrorCode::too_large) return {"incomplete", "too_large"};
    if (reply.interrupted) return {"incomplete", "interrupted"};
    if (stop == StopReason::length) return {"incomplete", "max_output_tokens"};
    if (stop == StopReason::refusal) return {"incomplete", "content_filter"};
    return {};
}

}  // namespace palimpsest
