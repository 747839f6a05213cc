#include "format/hosted.h"

#include <algorithm>

#include "base/json_write.h"
#include "format/fields.h"
#include "format/json_edit.h"

namespace palimpsest {
namespace {

// A picture of one pixel: a screenshot must stay a picture.
constexpr std::string_view one_pixel =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

using Edited = std::optional<std::string>;

Edited set_output(JsonValue item, std::string_view text) {
    return with_member(item, "output", json_string(text));
}

Edited set_content(JsonValue item, std::string_view text) {
    return with_member(item, "content", json_string(text));
}

Edited set_logs(JsonValue item, std::string_view text) {
    const auto outputs = item.find("outputs");
    if (!outputs || outputs->size() == 0) return std::nullopt;
    return with_member(item, "outputs", "[{\"type\":\"logs\",\"logs\":" + json_string(text) + "}]");
}

Edited null_results(JsonValue item, std::string_view) {
    const auto results = item.find("results");
    if (!results || results->size() == 0) return std::nullopt;
    return with_member(item, "results", "null");
}

Edited null_result(JsonValue item, std::string_view) {
    const auto result = item.find("result");
    if (!result || !result->is_string()) return std::nullopt;
    return with_member(item, "result", "null");
}

Edited empty_content(JsonValue item, std::string_view) {
    const auto content = item.find("content");
    if (!content || !content->is_array() || content->size() == 0) return std::nullopt;
    return with_member(item, "content", "[]");
}

// [{"stdout", "stderr", "outcome"}, ...]: one, with the last outcome.
Edited set_shell(JsonValue item, std::string_view text) {
    const auto output = item.find("output");
    if (!output || !output->is_array() || output->size() == 0) return std::nullopt;
    std::string outcome = R"({"type":"exit","exit_code":0})";
    for (const JsonValue one : output->elements())
        if (const auto value = one.find("outcome")) outcome = value->raw();
    return with_member(
        item, "output",
        "[{\"stdout\":" + json_string(text) + ",\"stderr\":\"\",\"outcome\":" + outcome + "}]");
}

Edited set_screenshot(JsonValue item, std::string_view) {
    const auto output = item.find("output");
    if (!output || !output->is_object()) return std::nullopt;
    if (any_string(*output, "image_url").size() <= one_pixel.size()) return std::nullopt;
    return with_member(item, "output", with_member(*output, "image_url", json_string(one_pixel)));
}

// {"content": {"type": "..._result", "stdout", "stderr", "content": [files]}}
Edited set_stdout(JsonValue block, std::string_view text) {
    const auto content = block.find("content");
    if (!content || !content->find("stdout")) return std::nullopt;
    std::string inner = with_member(*content, "stdout", json_string(text));
    for (const auto& [key, value] :
         {std::pair<std::string_view, std::string>{"stderr", "\"\""}, {"content", "[]"}}) {
        const auto document = parse_json(inner);
        if (document && document->root().find(key))
            inner = with_member(document->root(), key, value);
    }
    return with_member(block, "content", inner);
}

// {"content": {"type": "web_fetch_result", "content": {"type": "document", "source": {...}}}}
Edited set_fetched(JsonValue block, std::string_view text) {
    const auto result = block.find("content");
    const auto document = result ? result->find("content") : std::nullopt;
    if (!document || !document->find("source")) return std::nullopt;
    const std::string source =
        R"({"type":"text","media_type":"text/plain","data":)" + json_string(text) + "}";
    return with_member(block, "content",
                       with_member(*result, "content", with_member(*document, "source", source)));
}

Edited set_viewed(JsonValue block, std::string_view text) {
    const auto result = block.find("content");
    const auto content = result ? result->find("content") : std::nullopt;
    if (!content || !content->is_string()) return std::nullopt;
    return with_member(block, "content", with_member(*result, "content", json_string(text)));
}

struct HostedRule {
    std::string_view type;
    Edited (*edit)(JsonValue item, std::string_view text);
};
constexpr HostedRule rules[] = {
    {"code_interpreter_call", set_logs},
    {"file_search_call", null_results},
    {"mcp_call", set_output},
    {"image_generation_call", null_result},
    {"local_shell_call_output", set_output},
    {"apply_patch_call_output", set_output},
    {"shell_call_output", set_shell},
    {"computer_call_output", set_screenshot},
    {"web_search_tool_result", empty_content},
    {"web_fetch_tool_result", set_fetched},
    {"code_execution_tool_result", set_stdout},
    {"bash_code_execution_tool_result", set_stdout},
    {"text_editor_code_execution_tool_result", set_viewed},
    {"mcp_tool_result", set_content},
};

const HostedRule* find_rule(std::string_view type) {
    const auto at = std::ranges::find(rules, type, &HostedRule::type);
    return at == std::end(rules) ? nullptr : at;
}

}  // namespace

bool is_hosted_result(std::string_view type) {
    return find_rule(type) != nullptr;
}

std::optional<std::string> without_payload(JsonValue item, std::string_view text) {
    const HostedRule* rule = find_rule(any_string(item, "type"));
    return rule ? rule->edit(item, text) : std::nullopt;
}

bool hosted_failed(JsonValue item) {
    const auto error = item.find("error");
    if (error && !error->is_null()) return true;
    const auto flag = item.find("is_error");
    if (flag && flag->boolean().value_or(false)) return true;
    const auto content = item.find("content");
    return content && any_string(*content, "type").ends_with("_error");
}

}  // namespace palimpsest
