// JSON Schema, as much of it as is used to describe requests, tools and answers: the check that a
// value fits.
//
// Understood: type, enum, const, properties, required, additionalProperties, items, minItems,
// maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, anyOf,
// oneOf, allOf and $ref. Every other keyword says nothing to the checker: a value that fits a
// schema is never refused, one that does not may pass.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct SchemaScope {
    // The schema that a $ref names; none when there is no such.
    std::function<std::optional<JsonValue>(std::string_view ref)> find = {};
    std::string_view whole = "the value";  // what the value itself is called in messages
};

// invalid_request names the field, what was expected there and what was found. `where` is the name
// of the value in messages; empty: `whole`.
Result<void> check_schema(JsonValue schema, JsonValue value, const SchemaScope& scope,
                          const std::string& where = {});

// The same for a schema by itself, whose references are "#" and "#/a/b".
Result<void> check_own_schema(JsonValue schema, JsonValue value, const std::string& where = {});

}  // namespace palimpsest
