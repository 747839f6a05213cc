// Fields that conversion leaves behind because only one format has them.
#include <algorithm>

#include "format/fields.h"

namespace palimpsest {
namespace {

// "auto" is what every format takes when nothing is said.
void report_detail(JsonValue part, std::vector<std::string>& lost) {
    const auto image = part.find("image_url");
    const JsonValue source = image && image->is_object() ? *image : part;
    const std::string_view detail = any_string(source, "detail");
    if (!detail.empty() && detail != "auto")
        lost.push_back("detail: " + std::string(detail) + " of an image is not carried over");
}

// Fields of messages that conversion reads, reports by itself, or that say nothing to a model.
constexpr std::string_view known_fields[] = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "audio",
    "annotations",
    "reasoning",
    "type",
    "reasoning_content",
    "id",
    "status",
    "phase",
    "reasoning_details",
    "cache_control",
    "is_error",
    "container",
    "context_management",
    "model",
    "usage",
    "stop_reason",
    "stop_sequence",
};

void report_unknown_fields(JsonValue message, std::vector<std::string>& lost) {
    for (const auto& [key, value] : message.members())
        if (std::ranges::find(known_fields, key) == std::end(known_fields) && !value.is_null() &&
            !key.starts_with('_'))
            lost.push_back("message." + std::string(key) + ": is not carried over");
}

}  // namespace

void report_cache_control(JsonValue object, std::vector<std::string>& lost) {
    const auto mark = object.find("cache_control");
    if (mark && !mark->is_null()) lost.push_back("cache_control: is not carried over");
}

void report_lost_fields(JsonValue message, bool takes_detail, std::vector<std::string>& lost) {
    // Items of Responses that are no messages have names of their own, which are.
    const std::string_view name = any_string(message, "name");
    if (!name.empty() && !any_string(message, "role").empty())
        lost.push_back("name: " + std::string(name) + " of a message is not carried over");
    if (!any_string(message, "role").empty()) report_unknown_fields(message, lost);
    report_cache_control(message, lost);
    const auto content = message.find("content");
    if (!content) return;
    for (const JsonValue part : content->elements()) {
        report_cache_control(part, lost);
        if (!takes_detail) report_detail(part, lost);
        const auto inner = part.find("content");
        if (inner)
            for (const JsonValue block : inner->elements()) report_cache_control(block, lost);
    }
}

}  // namespace palimpsest
