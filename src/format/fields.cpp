#include "format/fields.h"

#include "base/json_write.h"
#include "base/media.h"

namespace palimpsest {

std::string path_text(const Path& path) {
    std::string text = path.above ? path_text(*path.above) : std::string();
    if (path.name.empty()) return text + "[" + std::to_string(path.index) + "]";
    if (!text.empty()) text += '.';
    return text += path.name;
}

std::unexpected<Error> expected_at(const Path& path, std::string_view what) {
    std::string where = path_text(path);
    std::string message = where + ": expected " + std::string(what);
    return fail(ErrorCode::invalid_request, std::move(message), std::move(where));
}

Result<std::string_view> string_field(JsonValue object, std::string_view key, const Path& path) {
    const auto value = object.find(key);
    if (!value || value->is_null()) return std::string_view();
    if (!value->is_string()) return expected_at({&path, key}, "a string");
    return value->string();
}

Result<std::string_view> required_string(JsonValue object, std::string_view key, const Path& path) {
    const auto value = object.find(key);
    if (!value || !value->is_string()) return expected_at({&path, key}, "a string");
    return value->string();
}

std::string_view any_string(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string_view();
}

Result<void> begin_part(NeutralPart& part, JsonValue json, const Path& path,
                        std::string_view what) {
    if (!json.is_object()) return expected_at(path, what);
    part.json = json.raw();
    PAL_TRY(type, required_string(json, "type", path));
    part.type = type;
    return {};
}

void add_text_part(std::vector<NeutralPart>& parts, JsonValue text) {
    NeutralPart& part = parts.emplace_back();
    part.kind = PartKind::text;
    part.type = "text";
    part.text = text.string();
    part.json = text.raw();
}

Result<void> read_role(NeutralMessage& message, std::optional<JsonValue> role) {
    if (!role || !role->is_string()) return expected_at({nullptr, "role"}, "a string");
    message.role_text = role->string();
    message.role = role_by_name(message.role_text);
    return {};
}

void set_url(NeutralPart& part, std::string_view url) {
    const auto data = read_data_url(url);
    part.source_kind = data ? SourceKind::base64 : SourceKind::url;
    part.source = data ? data->base64 : url;
    if (data) part.media_type = data->media_type;
}

Role role_by_name(std::string_view name) {
    if (name == "user") return Role::user;
    if (name == "assistant") return Role::assistant;
    if (name == "tool") return Role::tool;
    if (name == "system" || name == "developer") return Role::system;
    return Role::other;
}

std::string_view joined_text(NeutralMessage& message, const std::vector<NeutralPart>& parts) {
    std::string_view one;
    std::string joined;
    for (const NeutralPart& part : parts) {
        if (part.kind != PartKind::text) continue;
        if (!one.empty() && joined.empty()) joined = one;
        if (!joined.empty()) joined += part.text;
        if (one.empty()) one = part.text;
    }
    return joined.empty() ? one : message.keep(std::move(joined));
}

void lose(std::vector<std::string>& lost, const NeutralPart& part, std::string_view why) {
    lost.push_back(std::string(part.type.empty() ? "part" : part.type) + ": " + std::string(why));
}

std::string url_of(const NeutralPart& part) {
    if (part.source_kind != SourceKind::base64) return std::string(part.source);
    return "data:" + std::string(part.media_type) + ";base64," + std::string(part.source);
}

bool is_textual(const NeutralPart& part) {
    return part.kind == PartKind::text ||
           (part.kind == PartKind::document && part.source_kind == SourceKind::text) ||
           ((part.kind == PartKind::compaction || part.kind == PartKind::speech) &&
            !part.text.empty());
}

std::string_view textual(const NeutralPart& part) {
    return part.kind == PartKind::document ? part.source : part.text;
}

namespace {
constexpr std::string_view text_arguments = "_text_arguments";
constexpr std::string_view custom_input = "_custom_input";
}  // namespace

std::string arguments_object(const NeutralPart& call) {
    if (!call.custom) {
        const auto document = parse_json(call.arguments);
        if (document && document->root().is_object()) return std::string(document->root().raw());
        if (call.arguments.empty()) return "{}";
    }
    std::string out;
    JsonWriter(out)
        .begin_object()
        .field(call.custom ? custom_input : text_arguments, call.arguments)
        .end_object();
    return out;
}

PlainArguments plain_arguments(const NeutralPart& call) {
    const auto document = call.custom ? Result<JsonDocument>(fail(ErrorCode::internal, ""))
                                      : parse_json(call.arguments);
    if (document && document->root().size() == 1 && document->root().is_object()) {
        const JsonMember only = *document->root().members().begin();
        if (only.key == text_arguments) return {std::string(only.value.string()), false};
        if (only.key == custom_input) return {std::string(only.value.string()), true};
    }
    return {std::string(call.arguments), call.custom};
}

}  // namespace palimpsest
