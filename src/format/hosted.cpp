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

// [{"file_id", "filename", "text", ...}, ...]: the first, with the text.
Edited set_found(JsonValue item, std::string_view text) {
    const auto results = item.find("results");
    if (!results || results->size() == 0) return std::nullopt;
    const JsonValue first = *results->elements().begin();
    return with_member(item, "results", "[" + with_member(first, "text", json_string(text)) + "]");
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

// ---- what the payload says ----------------------------------------------------------------------

std::string text_at(JsonValue object, std::string_view key) {
    return std::string(any_string(object, key));
}

// The texts at `key` of the elements, or the value itself where it is a text.
std::string texts_in(const std::optional<JsonValue>& value, std::string_view key) {
    if (!value) return {};
    if (value->is_string()) return std::string(value->string());
    std::string out;
    if (!value->is_array()) return out;
    for (const JsonValue one : value->elements()) out += any_string(one, key);
    return out;
}

std::string output_said(JsonValue item) {
    const std::string output = text_at(item, "output");
    const auto error = item.find("error");
    if (!output.empty() || !error || error->is_null()) return output;
    return std::string(error->is_string() ? error->string() : error->raw());
}
std::string content_said(JsonValue item) {
    return texts_in(item.find("content"), "text");
}
std::string logs_said(JsonValue item) {
    return texts_in(item.find("outputs"), "logs");
}
std::string results_said(JsonValue item) {
    return texts_in(item.find("results"), "text");
}
std::string shell_said(JsonValue item) {
    return texts_in(item.find("output"), "stdout") + texts_in(item.find("output"), "stderr");
}
std::string stdout_said(JsonValue block) {
    const auto content = block.find("content");
    return content ? text_at(*content, "stdout") + text_at(*content, "stderr") : std::string();
}
std::string fetched_said(JsonValue block) {
    const auto result = block.find("content");
    const auto document = result ? result->find("content") : std::nullopt;
    const auto source = document ? document->find("source") : std::nullopt;
    return source && text_at(*source, "type") == "text" ? text_at(*source, "data") : std::string();
}
std::string viewed_said(JsonValue block) {
    const auto result = block.find("content");
    return result ? text_at(*result, "content") : std::string();
}
std::string titles_said(JsonValue block) {
    std::string out;
    const auto content = block.find("content");
    if (content && content->is_array())
        for (const JsonValue one : content->elements())
            out += text_at(one, "title") + " " + text_at(one, "url") + "\n";
    return out;
}
// Pictures say nothing.
std::string nothing_said(JsonValue) {
    return {};
}

struct HostedRule {
    std::string_view type;
    Edited (*edit)(JsonValue item, std::string_view text);
    std::string (*said)(JsonValue item);
};
constexpr HostedRule rules[] = {
    {"code_interpreter_call", set_logs, logs_said},
    {"file_search_call", set_found, results_said},
    {"mcp_call", set_output, output_said},
    {"image_generation_call", null_result, nothing_said},
    {"local_shell_call_output", set_output, output_said},
    {"apply_patch_call_output", set_output, output_said},
    {"shell_call_output", set_shell, shell_said},
    {"computer_call_output", set_screenshot, nothing_said},
    {"web_search_tool_result", empty_content, titles_said},
    {"web_fetch_tool_result", set_fetched, fetched_said},
    {"code_execution_tool_result", set_stdout, stdout_said},
    {"bash_code_execution_tool_result", set_stdout, stdout_said},
    {"text_editor_code_execution_tool_result", set_viewed, viewed_said},
    {"mcp_tool_result", set_content, content_said},
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

std::string payload_text(JsonValue item) {
    const HostedRule* rule = find_rule(any_string(item, "type"));
    return rule ? rule->said(item) : std::string();
}

std::string call_text(JsonValue item) {
    for (const std::string_view field : {"arguments", "code", "queries"})
        if (const auto value = item.find(field); value && !value->is_null())
            return std::string(value->is_string() ? value->string() : value->raw());
    return {};
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
