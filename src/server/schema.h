// schema: the shapes of requests and replies, as JSON Schema, and the check that a value fits.
//
// The schemas that check requests are the ones that /openapi.json shows. Only the keywords in
// schema_keywords are understood; a test refuses any other in the table, so that nothing stands in
// a schema that is not checked. Not here: "description" and "example" say nothing to the checker.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct Schema {
    std::string_view name;
    std::string_view json;
    std::string_view example;
};

// The table; schemas.cpp.
std::span<const Schema> schemas();

std::span<const std::string_view> schema_keywords();

// Schemas after parsing, found by name or by their text. Immutable once built: any thread may use
// it.
class SchemaSet {
public:
    // The schemas of the table.
    SchemaSet();
    SchemaSet(SchemaSet&&) noexcept = default;
    SchemaSet& operator=(SchemaSet&&) noexcept = default;
    // One more, found by its text alone. It must be valid JSON that lives as long as the set.
    void add(std::string_view json);

    // `value` against the schema of that name. invalid_request names the field, what was expected
    // there and what was found.
    Result<void> check(std::string_view name, JsonValue value) const;
    // The same for a schema given by its text; `where` is the name of the value in messages.
    Result<void> check_text(std::string_view json, JsonValue value, std::string where) const;

    // The "type" of a schema given by its text; empty when it has none.
    std::string_view type_of(std::string_view json) const;

private:
    Result<void> check_value(JsonValue schema, JsonValue value, const std::string& where) const;
    const JsonDocument& parsed(std::string_view json) const;

    std::unordered_map<std::string_view, JsonDocument> by_text_;
    std::unordered_map<std::string_view, const JsonDocument*> by_name_;  // of by_text_
};

}  // namespace palimpsest
