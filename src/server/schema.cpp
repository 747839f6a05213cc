#include "server/schema.h"

#include <algorithm>
#include <cstdlib>

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

std::unexpected<Error> wrong(const std::string& where, const std::string& what) {
    const std::string name = where.empty() ? "the body" : "'" + where + "'";
    return fail(ErrorCode::invalid_request, name + " " + what, where);
}

bool is_integer(JsonValue value) {
    return value.kind() == JsonKind::number &&
           value.raw().find_first_of(".eE") == std::string_view::npos;
}

bool has_type(JsonValue value, std::string_view type) {
    if (type == "integer") return is_integer(value);
    return json_kind_name(value.kind()) == type;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) out += between;
        out += word;
    }
    return out;
}

std::vector<std::string> types_of(JsonValue schema) {
    std::vector<std::string> types;
    const std::optional<JsonValue> type = schema.find("type");
    if (type && type->is_string()) types.emplace_back(type->string());
    if (type)
        for (const JsonValue one : type->elements()) types.emplace_back(one.string());
    return types;
}

std::string found(JsonValue value) {
    if (value.kind() == JsonKind::number && !is_integer(value)) return "a number with a fraction";
    return std::string(json_kind_name(value.kind()));
}

Result<void> check_type(JsonValue schema, JsonValue value, const std::string& where) {
    const std::vector<std::string> types = types_of(schema);
    const auto fits = [&](const std::string& type) { return has_type(value, type); };
    if (types.empty() || std::ranges::any_of(types, fits)) return {};
    return wrong(where, "must be of type " + join(types, " or ") + ", not " + found(value));
}

Result<void> check_enum(JsonValue schema, JsonValue value, const std::string& where) {
    const std::optional<JsonValue> allowed = schema.find("enum");
    if (!allowed) return {};
    std::vector<std::string> words;
    for (const JsonValue one : allowed->elements()) {
        if (one.is_string() ? value.is_string() && one.string() == value.string()
                            : one.raw() == value.raw())
            return {};
        words.emplace_back(one.raw());
    }
    return wrong(where, "must be one of " + join(words, ", "));
}

// A bound keyword against a size or a number, both as doubles: exact up to 2^53, and no bound of
// ours is larger.
Result<void> check_bounds(JsonValue schema, double amount, std::string_view low,
                          std::string_view high, const std::string& where) {
    const std::string unit = low == "minLength"  ? " characters long"
                             : low == "minItems" ? " items long"
                                                 : "";
    const std::optional<JsonValue> least = schema.find(low);
    if (least && amount < least->number().value_or(0))
        return wrong(where, "must be at least " + std::string(least->raw()) + unit);
    const std::optional<JsonValue> most = schema.find(high);
    if (most && amount > most->number().value_or(0))
        return wrong(where, "must be at most " + std::string(most->raw()) + unit);
    return {};
}

double characters(std::string_view text) {
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
    return static_cast<double>(std::ranges::count_if(text, starts));
}

Result<void> check_scalar(JsonValue schema, JsonValue value, const std::string& where) {
    if (value.is_string())
        return check_bounds(schema, characters(value.string()), "minLength", "maxLength", where);
    if (value.kind() != JsonKind::number) return {};
    const std::optional<double> number = value.number();
    if (!number) return wrong(where, "is a number that is out of range");
    return check_bounds(schema, *number, "minimum", "maximum", where);
}

std::string inside(const std::string& where, std::string_view key) {
    return where.empty() ? std::string(key) : where + "." + std::string(key);
}

std::string known_names(std::optional<JsonValue> properties) {
    std::vector<std::string> names;
    if (properties)
        for (const JsonMember member : properties->members()) names.emplace_back(member.key);
    return names.empty() ? "no fields are known here" : "known are: " + join(names, ", ");
}

}  // namespace

std::span<const std::string_view> schema_keywords() {
    return keywords;
}

SchemaSet::SchemaSet() {
    for (const Schema& schema : schemas()) {
        add(schema.json);
        by_name_.emplace(schema.name, schema.json);
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
    return check_value(parsed(found_name->second).root(), value, "");
}

Result<void> SchemaSet::check_text(std::string_view json, JsonValue value,
                                   std::string where) const {
    return check_value(parsed(json).root(), value, where);
}

std::string_view SchemaSet::type_of(std::string_view json) const {
    const std::optional<JsonValue> type = parsed(json).root().find("type");
    return type ? type->string() : std::string_view();
}

JsonValue SchemaSet::resolve(JsonValue schema) const {
    const std::optional<JsonValue> ref = schema.find("$ref");
    if (!ref) return schema;
    return parsed(by_name_.at(ref->string().substr(ref_prefix.size()))).root();
}

Result<void> SchemaSet::check_value(JsonValue schema, JsonValue value,
                                    const std::string& where) const {
    schema = resolve(schema);
    if (const std::optional<JsonValue> any = schema.find("anyOf"))
        return check_any(*any, value, where);
    PAL_CHECK(check_type(schema, value, where));
    PAL_CHECK(check_enum(schema, value, where));
    if (value.is_object()) return check_object(schema, value, where);
    if (value.is_array()) return check_array(schema, value, where);
    return check_scalar(schema, value, where);
}

// When no alternative fits, the complaint of the only one that has the right type is the helpful
// one; otherwise the types are listed.
Result<void> SchemaSet::check_any(JsonValue any, JsonValue value, const std::string& where) const {
    std::vector<std::string> types;
    std::vector<Error> close;
    for (const JsonValue alternative : any.elements()) {
        const JsonValue schema = resolve(alternative);
        Result<void> result = check_value(schema, value, where);
        if (result) return {};
        if (check_type(schema, value, where)) close.push_back(std::move(result).error());
        for (std::string& type : types_of(schema)) types.push_back(std::move(type));
    }
    if (close.size() == 1) return std::unexpected(std::move(close[0]));
    return wrong(where, "must be of type " + join(types, " or ") + ", not " + found(value));
}

Result<void> SchemaSet::check_object(JsonValue schema, JsonValue value,
                                     const std::string& where) const {
    if (const std::optional<JsonValue> required = schema.find("required"))
        for (const JsonValue name : required->elements())
            if (!value.find(name.string()))
                return wrong(inside(where, name.string()), "is required");
    for (const JsonMember member : value.members()) PAL_CHECK(check_member(schema, member, where));
    return {};
}

Result<void> SchemaSet::check_member(JsonValue schema, const JsonMember& member,
                                     const std::string& where) const {
    const std::string place = inside(where, member.key);
    const std::optional<JsonValue> properties = schema.find("properties");
    const std::optional<JsonValue> known =
        properties ? properties->find(member.key) : std::optional<JsonValue>();
    if (known) return check_value(*known, member.value, place);
    const std::optional<JsonValue> others = schema.find("additionalProperties");
    if (!others || others->boolean() == true) return {};
    if (others->is_object()) return check_value(*others, member.value, place);
    return wrong(place, "is an unknown field; " + known_names(properties));
}

Result<void> SchemaSet::check_array(JsonValue schema, JsonValue value,
                                    const std::string& where) const {
    PAL_CHECK(
        check_bounds(schema, static_cast<double>(value.size()), "minItems", "maxItems", where));
    const std::optional<JsonValue> items = schema.find("items");
    if (!items) return {};
    std::size_t index = 0;
    for (const JsonValue element : value.elements()) {
        PAL_CHECK(check_value(*items, element, where + "[" + std::to_string(index) + "]"));
        ++index;
    }
    return {};
}

}  // namespace palimpsest
