// OpenAI Responses and Conversations: a flat list of items. A message, a call, an output and a
// piece of reasoning are items of their own; calls and outputs pair by call_id, not by place.
#include "base/json_write.h"
#include "format/fields.h"
#include "format/openai_responses/openai_responses.h"

namespace palimpsest {
namespace {

// Tools that come as an item making the call and an item answering it. `payload` is where the call
// keeps its arguments.
struct PairedTool {
    std::string_view call, output, payload;
    bool custom, builtin;
};
constexpr PairedTool paired_tools[] = {
    {"function_call", "function_call_output", "arguments", false, false},
    {"custom_tool_call", "custom_tool_call_output", "input", true, false},
    {"tool_search_call", "tool_search_output", "arguments", false, true},
    {"local_shell_call", "local_shell_call_output", "action", false, true},
    {"shell_call", "shell_call_output", "action", false, true},
    {"apply_patch_call", "apply_patch_call_output", "operation", false, true},
    {"computer_call", "computer_call_output", "action", false, true},
};

void read_media(NeutralPart& part, JsonValue json) {
    part.name = any_string(json, "filename");
    part.detail = any_string(json, "detail");
    part.source = any_string(json, "file_id");
    if (!part.source.empty()) {
        part.source_kind = SourceKind::file_id;
        return;
    }
    for (const std::string_view field : {"image_url", "file_data", "file_url"}) {
        const std::string_view url = any_string(json, field);
        if (!url.empty()) return set_url(part, url);
    }
}

Result<void> read_part(NeutralPart& part, JsonValue json, const Path& path) {
    PAL_CHECK(begin_part(part, json, path, "a content part (an object)"));
    const std::string_view type = part.type;
    if (type == "input_text" || type == "output_text" || type == "text") {
        part.kind = PartKind::text;
        PAL_TRY(text, required_string(json, "text", path));
        part.text = text;
        const auto annotations = json.find("annotations");
        part.annotated = annotations && annotations->size() > 0;
    } else if (type == "refusal") {
        part.kind = PartKind::refusal;
        part.text = any_string(json, "refusal");
    } else if (type == "input_image") {
        part.kind = PartKind::image;
        read_media(part, json);
    } else if (type == "input_file") {
        part.kind = PartKind::document;
        read_media(part, json);
    } else if (type == "input_audio") {
        part.kind = PartKind::audio;
        const JsonValue audio = json.find("input_audio").value_or(json);
        part.source_kind = SourceKind::base64;
        part.source = any_string(audio, "data");
        part.media_type = any_string(audio, "format");
    }
    return {};
}

constexpr std::string_view content_forms = "a string or a list of content parts";

Result<void> read_message_item(JsonValue json, NeutralMessage& message) {
    PAL_CHECK(read_role(message, json.find("role")));
    const auto content = json.find("content");
    const Path path{nullptr, "content"};
    if (!content) return expected_at(path, content_forms);
    return read_part_list(message.parts, *content, path, content_forms, read_part);
}

bool runs_at_provider(JsonValue json, std::string_view call_id) {
    return call_id.empty() || any_string(json, "execution") == "server";
}

Result<void> read_call_item(JsonValue json, const PairedTool& tool, NeutralMessage& message) {
    message.role = Role::assistant;
    NeutralPart& call = message.parts.emplace_back();
    call.kind = PartKind::tool_call;
    call.type = tool.call;
    call.json = json.raw();
    call.custom = tool.custom;
    call.builtin = tool.builtin;
    call.id = any_string(json, "call_id");
    call.server = tool.builtin && runs_at_provider(json, call.id);
    if (!tool.builtin && call.id.empty()) return expected_at({nullptr, "call_id"}, "a string");
    call.name = tool.builtin ? tool.call : any_string(json, "name");
    const auto payload = json.find(tool.payload);
    if (!tool.builtin && (!payload || !payload->is_string()))
        return expected_at({nullptr, tool.payload}, "a string");
    if (payload) call.arguments = payload->is_string() ? payload->string() : payload->raw();
    return {};
}

Result<void> read_output_item(JsonValue json, const PairedTool& tool, NeutralMessage& message) {
    message.role = Role::tool;
    NeutralPart& result = message.parts.emplace_back();
    result.kind = PartKind::tool_result;
    result.type = tool.output;
    result.json = json.raw();
    result.custom = tool.custom;
    result.builtin = tool.builtin;
    result.id = any_string(json, "call_id");
    if (result.id.empty() && tool.call == "local_shell_call") result.id = any_string(json, "id");
    result.server = tool.builtin && runs_at_provider(json, result.id);
    if (!tool.builtin && result.id.empty()) return expected_at({nullptr, "call_id"}, "a string");
    const auto output = json.find("output");
    if (!tool.builtin && !output) return expected_at({nullptr, "output"}, content_forms);
    if (output) result.content = output->raw();
    if (tool.builtin && output && any_string(*output, "type") == "computer_screenshot") {
        NeutralPart& image = result.inner.emplace_back();
        image.kind = PartKind::image;
        image.type = "computer_screenshot";
        image.json = output->raw();
        read_media(image, *output);
    }
    if (!tool.builtin) {
        PAL_CHECK(
            read_part_list(result.inner, *output, {nullptr, "output"}, content_forms, read_part));
        result.text = joined_text(message, result.inner);
    }
    return {};
}

void read_reasoning_item(JsonValue json, NeutralMessage& message) {
    message.role = Role::assistant;
    NeutralPart part{.kind = PartKind::reasoning, .type = "reasoning", .json = json.raw()};
    part.id = any_string(json, "id");
    part.signature = any_string(json, "encrypted_content");
    std::vector<NeutralPart> texts;
    for (const std::string_view field : {"content", "summary"})
        if (const auto list = json.find(field); list && texts.empty())
            for (const JsonValue element : list->elements())
                texts.push_back({.kind = PartKind::text, .text = any_string(element, "text")});
    part.text = joined_text(message, texts);
    message.parts.push_back(std::move(part));
}

Role role_of_item(JsonValue json, std::string_view type) {
    if (const std::string_view role = any_string(json, "role"); !role.empty())
        return role_by_name(role);
    if (type.ends_with("_output")) return Role::tool;
    if (type == "mcp_approval_response") return Role::user;
    if (type == "item_reference" || type == "compaction_trigger") return Role::other;
    return Role::assistant;
}

// What a generator of images made stands in its call.
void add_picture(NeutralPart& call, JsonValue json) {
    const auto result = json.find("result");
    if (call.type != "image_generation_call" || !result || !result->is_string()) return;
    call.inner.push_back({.kind = PartKind::image,
                          .source_kind = SourceKind::base64,
                          .type = "image",
                          .source = result->string(),
                          .media_type = "image/png",
                          .json = result->raw()});
}

// Tools that the provider carries out and answers in the same item, compactions, the unknown.
void read_other_item(JsonValue json, std::string_view type, NeutralMessage& message) {
    message.role = role_of_item(json, type);
    message.role_text = type;
    NeutralPart part{.type = type, .json = json.raw()};
    if (type.ends_with("_call")) {
        part.kind = PartKind::tool_call;
        part.server = true;
        part.id = any_string(json, "id");
        part.name = type;
        part.arguments = json.raw();
        add_picture(part, json);
    } else if (type.starts_with("compaction") && type != "compaction_trigger") {
        part.kind = PartKind::compaction;
        part.signature = any_string(json, "encrypted_content");
    }
    message.parts.push_back(std::move(part));
}

// ---- writing --------------------------------------------------------------------------------

bool write_media(JsonWriter& out, const NeutralPart& part) {
    if (part.kind == PartKind::audio || part.source_kind == SourceKind::none) return false;
    const bool image = part.kind == PartKind::image;
    out.begin_object().field("type", image ? "input_image" : "input_file");
    if (!image && part.source_kind == SourceKind::base64)
        out.field("filename", part.name.empty() ? "file" : part.name);
    if (part.source_kind == SourceKind::file_id) {
        out.field("file_id", part.source);
    } else {
        const bool url = part.source_kind == SourceKind::url;
        out.field(image ? "image_url" : url ? "file_url" : "file_data", url_of(part));
    }
    if (image) out.field("detail", part.detail.empty() ? "auto" : part.detail);
    out.end_object();
    return true;
}

void write_part(JsonWriter& out, const NeutralPart& part, Role role,
                std::vector<std::string>& lost) {
    if (part.kind == PartKind::refusal) {
        out.begin_object().field("type", "refusal").field("refusal", part.text).end_object();
    } else if (is_textual(part)) {
        const bool ours = role == Role::assistant;
        out.begin_object().field("type", ours ? "output_text" : "input_text");
        out.field("text", textual(part));
        if (ours) out.key("annotations").begin_array().end_array();
        out.end_object();
    } else if (role == Role::assistant || !is_media(part) || !write_media(out, part)) {
        lose(lost, part, "has no form in Responses");
    }
}

std::string_view written_role(const NeutralMessage& message) {
    if (message.role == Role::assistant) return "assistant";
    if (message.role != Role::system) return "user";
    return message.role_text == "developer" ? "developer" : "system";
}

// The run of texts and media that was gathered, as one message item.
void flush_message(std::vector<std::string>& items, std::vector<const NeutralPart*>& run,
                   const NeutralMessage& message, std::vector<std::string>& lost) {
    if (run.empty()) return;
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("role", written_role(message)).key("content");
    if (run.size() == 1 && is_textual(*run[0])) {
        out.string(textual(*run[0]));
    } else {
        out.begin_array();
        for (const NeutralPart* part : run) write_part(out, *part, message.role, lost);
        out.end_array();
    }
    out.end_object();
    items.push_back(std::move(text));
    run.clear();
}

std::string write_call(const NeutralPart& part) {
    const PlainArguments arguments = plain_arguments(part);
    const PairedTool& tool = paired_tools[arguments.custom ? 1 : 0];
    std::string text;
    JsonWriter(text)
        .begin_object()
        .field("type", tool.call)
        .field("call_id", part.id)
        .field("name", part.name)
        .field(tool.payload, arguments.text)
        .end_object();
    return text;
}

std::string write_output(const NeutralPart& part, std::vector<std::string>& lost) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("type", paired_tools[part.custom ? 1 : 0].output);
    out.field("call_id", part.id).key("output");
    if (part.is_error) lose(lost, part, "an output item has no error flag");
    if (part.inner.empty()) {
        out.string(part.text);
    } else if (part.inner.size() == 1 && is_textual(part.inner[0])) {
        out.string(textual(part.inner[0]));
    } else {
        out.begin_array();
        for (const NeutralPart& inner : part.inner) write_part(out, inner, Role::tool, lost);
        out.end_array();
    }
    out.end_object();
    return text;
}

}  // namespace

Result<void> read_openai_responses(JsonValue json, NeutralMessage& message) {
    if (!json.is_object()) return fail(ErrorCode::invalid_request, "expected an item (an object)");
    const auto type_field = json.find("type");
    if (type_field && !type_field->is_string()) return expected_at({nullptr, "type"}, "a string");
    const std::string_view type = type_field ? type_field->string() : "message";
    if (type == "message") return read_message_item(json, message);
    for (const PairedTool& tool : paired_tools) {
        if (type == tool.call) return read_call_item(json, tool, message);
        if (type == tool.output) return read_output_item(json, tool, message);
    }
    if (type == "reasoning")
        read_reasoning_item(json, message);
    else
        read_other_item(json, type, message);
    return {};
}

std::vector<std::string> write_openai_responses(const NeutralMessage& message,
                                                std::vector<std::string>& lost) {
    std::vector<std::string> items;
    std::vector<const NeutralPart*> run;
    for (const NeutralPart& part : message.parts) {
        if (part.annotated) lose(lost, part, "citations are not carried over");
        if (is_function_call(part) || is_function_result(part)) {
            flush_message(items, run, message, lost);
            items.push_back(part.kind == PartKind::tool_call ? write_call(part)
                                                             : write_output(part, lost));
        } else if (part.kind == PartKind::reasoning) {
            lose(lost, part, "reasoning is not carried over");
        } else if (part.kind == PartKind::tool_call || part.kind == PartKind::tool_result) {
            lose(lost, part, "a tool of another provider");
        } else if (is_textual(part) || is_media(part) || part.kind == PartKind::refusal) {
            run.push_back(&part);
        } else {
            lose(lost, part, "has no form in Responses");
        }
    }
    flush_message(items, run, message, lost);
    return items;
}

}  // namespace palimpsest
