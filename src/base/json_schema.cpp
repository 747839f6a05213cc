// Invariant: the walk ends for every schema, also for one that refers to itself without end.
#include "base/json_schema.h"

#include <algorithm>
#include <vector>

namespace palimpsest {
namespace {

constexpr int depth_max = 256;

// The keywords of one schema. It is walked once for all of them: a schema has few, and each value
// is held against many.
class Keywords {
public:
    enum Word : std::uint8_t {
        ref,
        any_of,
        one_of,
        all_of,
        type,
        only,
        choice,
        required,
        properties,
        others,
        items,
        min_items,
        max_items,
        min_length,
        max_length,
        minimum,
        maximum,
        above,
        below,
    };

    explicit Keywords(JsonValue schema) : schema_(schema) {
        for (const JsonMember member : schema.members()) {
            const auto named = std::ranges::find(names, member.key);
            if (named == std::end(names)) continue;
            std::uint32_t& place = places_[named - std::begin(names)];
            if (place == nowhere) place = member.value.place();
        }
    }

    std::optional<JsonValue> find(Word word) const {
        const std::uint32_t place = places_[word];
        return place == nowhere ? std::nullopt : std::optional(schema_.at_place(place));
    }
    JsonValue schema() const { return schema_; }

private:
    static constexpr std::string_view names[] = {
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
        "type",
        "const",
        "enum",
        "required",
        "properties",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    };
    static constexpr std::uint32_t nowhere = 0;  // the root, which is nobody's member

    JsonValue schema_;
    std::uint32_t places_[std::size(names)] = {};
};

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

std::vector<std::string> types_of(const Keywords& schema) {
    std::vector<std::string> types;
    const std::optional<JsonValue> type = schema.find(Keywords::type);
    if (type && type->is_string()) types.emplace_back(type->string());
    if (type)
        for (const JsonValue one : type->elements()) types.emplace_back(one.string());
    return types;
}

bool fits_type(const Keywords& schema, JsonValue value) {
    const std::optional<JsonValue> type = schema.find(Keywords::type);
    if (!type) return true;
    if (type->is_string()) return has_type(value, type->string());
    if (type->size() == 0) return true;
    for (const JsonValue one : type->elements())
        if (has_type(value, one.string())) return true;
    return false;
}

std::string found(JsonValue value) {
    if (value.kind() == JsonKind::number && !is_integer(value)) return "a number with a fraction";
    return std::string(json_kind_name(value.kind()));
}

bool same_value(JsonValue a, JsonValue b) {
    return a.is_string() ? b.is_string() && a.string() == b.string() : a.raw() == b.raw();
}

double characters(std::string_view text) {
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
    return static_cast<double>(std::ranges::count_if(text, starts));
}

// Which value is looked at. It is spelt out only where something is wrong with it.
struct Where {
    const Where* outer = nullptr;
    std::string_view key = {};  // its field of the outer one; of the outermost: its name
    std::optional<std::size_t> index = {};

    std::string text() const {
        if (!outer) return std::string(key);
        std::string out = outer->text();
        if (index) return out + "[" + std::to_string(*index) + "]";
        if (!out.empty()) out += '.';
        return out.append(key);
    }
};

std::string known_names(std::optional<JsonValue> properties) {
    std::vector<std::string> names;
    if (properties)
        for (const JsonMember member : properties->members()) names.emplace_back(member.key);
    return names.empty() ? "no fields are known here" : "known are: " + join(names, ", ");
}

class Checker {
public:
    explicit Checker(const SchemaScope& scope) : scope_(scope) {}

    Result<void> check(JsonValue schema, JsonValue value, const Where& where, int depth) {
        PAL_TRY(resolved, resolve(schema, where));
        return check(resolved, value, where, depth);
    }

private:
    Result<void> check(const Keywords& schema, JsonValue value, const Where& where, int depth) {
        if (depth > depth_max) return wrong(where, "has a schema that refers to itself");
        if (schema.schema().boolean() == false) return wrong(where, "must not be there");
        for (const Keywords::Word word : {Keywords::any_of, Keywords::one_of})
            if (const auto any = schema.find(word)) PAL_CHECK(check_any(*any, value, where, depth));
        if (const auto all = schema.find(Keywords::all_of))
            for (const JsonValue one : all->elements())
                PAL_CHECK(check(one, value, where, depth + 1));
        PAL_CHECK(check_type(schema, value, where));
        PAL_CHECK(check_choice(schema, value, where));
        if (value.is_object()) return check_object(schema, value, where, depth);
        if (value.is_array()) return check_array(schema, value, where, depth);
        return check_scalar(schema, value, where);
    }

    std::unexpected<Error> wrong(const Where& where, const std::string& what) const {
        std::string place = where.text();
        const std::string name = place.empty() ? std::string(scope_.whole) : "'" + place + "'";
        return fail(ErrorCode::invalid_request, name + " " + what, std::move(place));
    }

    Result<Keywords> resolve(JsonValue schema, const Where& where) const {
        for (int hops = 0; hops < depth_max; ++hops) {
            const Keywords words(schema);
            const auto ref = words.find(Keywords::ref);
            if (!ref || !ref->is_string()) return words;
            const auto named = scope_.find ? scope_.find(ref->string()) : std::nullopt;
            if (!named)
                return wrong(where, "has a schema that refers to " + std::string(ref->string()) +
                                        ", which is not there");
            schema = *named;
        }
        return wrong(where, "has a schema that refers to itself");
    }

    Result<void> check_type(const Keywords& schema, JsonValue value, const Where& where) const {
        if (fits_type(schema, value)) return {};
        return wrong(where,
                     "must be of type " + join(types_of(schema), " or ") + ", not " + found(value));
    }

    Result<void> check_choice(const Keywords& schema, JsonValue value, const Where& where) const {
        if (const auto only = schema.find(Keywords::only); only && !same_value(*only, value))
            return wrong(where, "must be " + std::string(only->raw()));
        const std::optional<JsonValue> allowed = schema.find(Keywords::choice);
        if (!allowed) return {};
        std::vector<std::string> words;
        for (const JsonValue one : allowed->elements()) {
            if (same_value(one, value)) return {};
            words.emplace_back(one.raw());
        }
        return wrong(where, "must be one of " + join(words, ", "));
    }

    // When no alternative fits, the complaint of the only one that has the right type is the
    // helpful one; otherwise the types are listed.
    Result<void> check_any(JsonValue any, JsonValue value, const Where& where, int depth) {
        std::vector<std::string> types;
        std::vector<Error> close;
        for (const JsonValue alternative : any.elements()) {
            PAL_TRY(schema, resolve(alternative, where));
            Result<void> result = check(schema, value, where, depth + 1);
            if (result) return {};
            if (fits_type(schema, value)) close.push_back(std::move(result).error());
            for (std::string& type : types_of(schema)) types.push_back(std::move(type));
        }
        if (close.size() == 1) return std::unexpected(std::move(close[0]));
        return wrong(where, "must be of type " + join(types, " or ") + ", not " + found(value));
    }

    Result<void> check_object(const Keywords& schema, JsonValue value, const Where& where,
                              int depth) {
        if (const std::optional<JsonValue> required = schema.find(Keywords::required))
            for (const JsonValue name : required->elements())
                if (!value.find(name.string()))
                    return wrong({&where, name.string()}, "is required");
        for (const JsonMember member : value.members())
            PAL_CHECK(check_member(schema, member, where, depth));
        return {};
    }

    Result<void> check_member(const Keywords& schema, const JsonMember& member, const Where& where,
                              int depth) {
        const Where place{&where, member.key};
        const std::optional<JsonValue> properties = schema.find(Keywords::properties);
        const std::optional<JsonValue> known =
            properties ? properties->find(member.key) : std::optional<JsonValue>();
        if (known) return check(*known, member.value, place, depth + 1);
        const std::optional<JsonValue> others = schema.find(Keywords::others);
        if (!others || others->boolean() == true) return {};
        if (others->is_object()) return check(*others, member.value, place, depth + 1);
        return wrong(place, "is an unknown field; " + known_names(properties));
    }

    Result<void> check_array(const Keywords& schema, JsonValue value, const Where& where,
                             int depth) {
        PAL_CHECK(check_bounds(schema, static_cast<double>(value.size()), Keywords::min_items,
                               Keywords::max_items, where));
        const std::optional<JsonValue> items = schema.find(Keywords::items);
        if (!items) return {};
        std::size_t index = 0;
        for (const JsonValue element : value.elements()) {
            PAL_CHECK(check(*items, element, {&where, {}, index}, depth + 1));
            ++index;
        }
        return {};
    }

    Result<void> check_scalar(const Keywords& schema, JsonValue value, const Where& where) const {
        if (value.is_string())
            return check_bounds(schema, characters(value.string()), Keywords::min_length,
                                Keywords::max_length, where);
        if (value.kind() != JsonKind::number) return {};
        const std::optional<double> number = value.number();
        if (!number) return wrong(where, "is a number that is out of range");
        const auto above = schema.find(Keywords::above), below = schema.find(Keywords::below);
        if (above && above->number() && *number <= *above->number())
            return wrong(where, "must be greater than " + std::string(above->raw()));
        if (below && below->number() && *number >= *below->number())
            return wrong(where, "must be less than " + std::string(below->raw()));
        return check_bounds(schema, *number, Keywords::minimum, Keywords::maximum, where);
    }

    // A bound keyword against a size or a number, both as doubles: exact up to 2^53.
    Result<void> check_bounds(const Keywords& schema, double amount, Keywords::Word low,
                              Keywords::Word high, const Where& where) const {
        const char* const unit = low == Keywords::min_length  ? " characters long"
                                 : low == Keywords::min_items ? " items long"
                                                              : "";
        const std::optional<JsonValue> least = schema.find(low);
        if (least && amount < least->number().value_or(0))
            return wrong(where, "must be at least " + std::string(least->raw()) + unit);
        const std::optional<JsonValue> most = schema.find(high);
        if (most && amount > most->number().value_or(0))
            return wrong(where, "must be at most " + std::string(most->raw()) + unit);
        return {};
    }

    const SchemaScope& scope_;
};

std::optional<JsonValue> follow(JsonValue root, std::string_view ref) {
    if (!ref.starts_with('#')) return std::nullopt;
    ref.remove_prefix(1);
    JsonValue at = root;
    while (!ref.empty()) {
        if (ref.front() != '/') return std::nullopt;
        ref.remove_prefix(1);
        const std::size_t end = std::min(ref.find('/'), ref.size());
        const auto next = at.find(ref.substr(0, end));
        if (!next) return std::nullopt;
        at = *next;
        ref.remove_prefix(end);
    }
    return at;
}

}  // namespace

Result<void> check_schema(JsonValue schema, JsonValue value, const SchemaScope& scope,
                          const std::string& where) {
    return Checker(scope).check(schema, value, {nullptr, where}, 0);
}

Result<void> check_own_schema(JsonValue schema, JsonValue value, const std::string& where) {
    const SchemaScope scope{.find = [&](std::string_view ref) { return follow(schema, ref); }};
    return check_schema(schema, value, scope, where);
}

}  // namespace palimpsest
