#include "server/schema.h"

#include <cstdlib>

#include "base/json_schema.h"

namespace palimpsest {
namespace {

constexpr std::string_view keywords[] = {
    "$ref",       "additionalProperties",
    "anyOf",      "description",
    "enum",       "items",
    "maxItems",   "maxLength",
    "maximum",    "minItems",
    "minimum",    "minLength",
    "properties", "required",
    "type",
};
constexpr std::string_view ref_prefix = "#/components/schemas/";

}  // namespace

std::span<const std::string_view> schema_keywords() {
    return keywords;
}

SchemaSet::SchemaSet() {
    for (const Schema& schema : schemas()) {
        add(schema.json);
        by_name_.emplace(schema.name, &parsed(schema.json));
    }
}

void SchemaSet::add(std::string_view json) {
    if (by_text_.contains(json)) return;
    Result<JsonDocument> document = parse_json(json);
    if (!document) std::abort();  // A table of this program is broken: the tests meet it first.
    by_text_.emplace(json, *std::move(document));
}

const JsonDocument& SchemaSet::parsed(std::string_view json) const {
    return by_text_.at(json);
}

Result<void> SchemaSet::check(std::string_view name, JsonValue value) const {
    const auto found_name = by_name_.find(name);
    if (found_name == by_name_.end())
        return fail(ErrorCode::internal, "there is no schema " + std::string(name));
    return check_value(found_name->second->root(), value, "");
}

Result<void> SchemaSet::check_text(std::string_view json, JsonValue value,
                                   std::string where) const {
    return check_value(parsed(json).root(), value, where);
}

std::string_view SchemaSet::type_of(std::string_view json) const {
    const std::optional<JsonValue> type = parsed(json).root().find("type");
    return type ? type->string() : std::string_view();
}

Result<void> SchemaSet::check_value(JsonValue schema, JsonValue value,
                                    const std::string& where) const {
    const SchemaScope scope{.find = [this](std::string_view ref) -> std::optional<JsonValue> {
                                return by_name_.at(ref.substr(ref_prefix.size()))->root();
                            },
                            .whole = "the body"};
    return check_schema(schema, value, scope, where);
}

}  // namespace palimpsest
