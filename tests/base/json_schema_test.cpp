// The checker of JSON Schema: what fits passes, what does not is named.
#include "base/json_schema.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

std::string complaint(std::string_view schema, std::string_view value) {
    const auto rules = parse_json(schema), given = parse_json(value);
    if (!rules || !given) return "?";
    const auto fits = check_own_schema(rules->root(), given->root());
    return fits ? "" : fits.error().message;
}

TEST(json_schema, names_the_field_that_does_not_fit) {
    constexpr std::string_view schema =
        R"({"type":"object","required":["name"],"additionalProperties":false,"properties":{
            "name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0},
            "tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":2}}})";
    EXPECT_EQ(complaint(schema, R"({"name":"x","age":3,"tags":["a"]})"), "");
    EXPECT_EQ(complaint(schema, R"({"age":3})"), "'name' is required");
    EXPECT_EQ(complaint(schema, R"({"name":""})"), "'name' must be at least 1 characters long");
    EXPECT_EQ(complaint(schema, R"({"name":"x","age":1.5})"),
              "'age' must be of type integer, not a number with a fraction");
    EXPECT_EQ(complaint(schema, R"({"name":"x","tags":["a","c"]})"),
              R"('tags[1]' must be one of "a", "b")");
    EXPECT_EQ(complaint(schema, R"({"name":"x","more":1})"),
              "'more' is an unknown field; known are: name, age, tags");
    EXPECT_EQ(complaint(schema, "[]"), "the value must be of type object, not array");
}

TEST(json_schema, follows_references_of_the_schema_itself) {
    constexpr std::string_view tree =
        R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["v"],
            "properties":{"v":{"type":"number"},"next":{"$ref":"#/$defs/node"}}}}})";
    EXPECT_EQ(complaint(tree, R"({"v":1,"next":{"v":2}})"), "");
    EXPECT_EQ(complaint(tree, R"({"v":1,"next":{"next":{}}})"), "'next.v' is required");
    EXPECT_NE(complaint(R"({"$ref":"#/$defs/none"})", "1"), "");
}

TEST(json_schema, a_schema_that_refers_to_itself_ends) {
    EXPECT_NE(complaint(R"({"$ref":"#"})", "1"), "");
    EXPECT_NE(complaint(R"({"allOf":[{"$ref":"#"}]})", "1"), "");
}

TEST(json_schema, alternatives_constants_and_open_bounds) {
    constexpr std::string_view either = R"({"oneOf":[{"type":"string"},{"type":"null"}]})";
    EXPECT_EQ(complaint(either, "null"), "");
    EXPECT_EQ(complaint(either, "1"), "the value must be of type string or null, not number");
    EXPECT_EQ(complaint(R"({"const":"x"})", R"("y")"), R"(the value must be "x")");
    EXPECT_EQ(complaint(R"({"exclusiveMinimum":0})", "0"), "the value must be greater than 0");
}

}  // namespace
}  // namespace palimpsest
