#include "base/json.h"

#include <gtest/gtest.h>

#include "base/json_write.h"

using namespace palimpsest;

namespace {

std::string error_of(std::string_view text, JsonLimits limits = {}) {
    const auto document = parse_json(text, limits);
    return document ? "" : document.error().message;
}

}  // namespace

TEST(json, keeps_the_exact_bytes_of_every_value) {
    const std::string text = R"( { "a" : [1.10, 23e+00 , "x\u0041y"] ,"b":{"c" :null}} )";
    const auto document = parse_json(text);
    ASSERT_TRUE(document) << document.error().message;
    const JsonValue root = document->root();
    EXPECT_EQ(root.raw(), std::string_view(text).substr(1, text.size() - 2));
    std::vector<std::string> raws;
    for (const JsonValue element : root.find("a")->elements()) raws.emplace_back(element.raw());
    EXPECT_EQ(raws, (std::vector<std::string>{"1.10", "23e+00", R"("x\u0041y")"}));
    EXPECT_EQ(root.find("b")->raw(), R"({"c" :null})");
    EXPECT_EQ(root.size(), 2u);
    EXPECT_EQ(root.find("a")->size(), 3u);
    EXPECT_FALSE(root.find("c"));
}

TEST(json, unescapes_strings_and_keys) {
    const std::string text = R"({"\u006bey":"a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00 end"})";
    const auto document = parse_json(text);
    ASSERT_TRUE(document);
    EXPECT_EQ(document->root().find("key")->string(), "a\"\\/\b\f\n\r\té€😀 end");
}

TEST(json, long_strings_with_escapes_anywhere_come_out_whole) {
    for (std::size_t length = 0; length < 70; ++length)
        for (std::size_t escape = 0; escape <= length; escape += 7) {
            std::string plain(length, 'x');
            if (escape < length) plain[escape] = '\n';
            const std::string text = json_string(plain);
            const auto document = parse_json(text);
            ASSERT_TRUE(document);
            EXPECT_EQ(document->root().string(), plain);
        }
}

TEST(json, a_lone_surrogate_escape_stays_in_raw_and_reads_as_a_replacement) {
    const std::string text = R"("\ud800 \udc00 \ud800\ud83d\ude00")";
    const auto document = parse_json(text);
    ASSERT_TRUE(document);
    EXPECT_EQ(document->root().raw(), text);
    EXPECT_EQ(document->root().string(), "\uFFFD \uFFFD \uFFFD😀");
}

TEST(json, numbers_are_read_without_losing_their_spelling) {
    const std::string text = R"([0, -0, 12, 9223372036854775807, 9223372036854775808, 1.5, 1e400])";
    const auto document = parse_json(text);
    ASSERT_TRUE(document);
    std::vector<std::optional<std::int64_t>> integers;
    for (const JsonValue value : document->root().elements()) integers.push_back(value.integer());
    EXPECT_EQ(integers, (std::vector<std::optional<std::int64_t>>{0, 0, 12, INT64_MAX, std::nullopt,
                                                                  std::nullopt, std::nullopt}));
    std::vector<std::optional<double>> numbers;
    for (const JsonValue value : document->root().elements()) numbers.push_back(value.number());
    EXPECT_EQ(numbers[5], 1.5);
    EXPECT_FALSE(numbers[6]);
}

TEST(json, a_value_of_another_kind_reads_as_nothing) {
    const auto document = parse_json(R"([true, 1])");
    ASSERT_TRUE(document);
    const JsonValue root = document->root();
    EXPECT_EQ(root.string(), "");
    EXPECT_FALSE(root.find("x"));
    EXPECT_FALSE(root.integer());
    for (const JsonMember& member : root.members()) FAIL() << member.key;
    for (const JsonValue value : (*root.elements().begin()).elements()) FAIL() << value.raw();
    EXPECT_EQ((*root.elements().begin()).boolean(), true);
}

TEST(json, a_document_may_be_moved_under_its_values) {
    auto document = parse_json(R"({"a":"b\n"})");
    ASSERT_TRUE(document);
    const JsonValue value = *document->root().find("a");
    const JsonDocument moved = std::move(*document);
    EXPECT_EQ(value.string(), "b\n");
    EXPECT_EQ(moved.root().size(), 1u);
}

TEST(json, refuses_duplicate_keys_however_they_are_written) {
    EXPECT_EQ(error_of(R"({"a":1,"b":2,"\u0061":3})"),
              "invalid JSON at byte 0: the object has the key \"a\" twice");
    EXPECT_EQ(error_of(R"([{"x":{"a":1,"a":1}}])"),
              "invalid JSON at byte 6: the object has the key \"a\" twice");
    EXPECT_EQ(error_of(R"({"a":{"b":1},"c":{"b":1}})"), "");
    std::string many = "{";
    for (int i = 0; i < 40; ++i) many += "\"k" + std::to_string(i) + "\":0,";
    EXPECT_EQ(error_of(many + "\"z\":0}"), "");
    EXPECT_NE(error_of(many + "\"k17\":0}"), "");
    const auto first = parse_json(R"({"a":1,"a":2})", {.duplicate_keys = true});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->root().find("a")->integer(), 1);
}

TEST(json, refuses_nesting_beyond_the_limit_and_takes_the_limit_itself) {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_EQ(error_of(nested(64)), "");
    EXPECT_EQ(error_of(nested(65)), "invalid JSON at byte 64: nested deeper than 64 levels");
    EXPECT_EQ(error_of(std::string(100'000, '[')),
              "invalid JSON at byte 64: nested deeper than 64 levels");
    EXPECT_EQ(error_of(nested(3), {.depth = 3}), "");
    EXPECT_NE(error_of(nested(4), {.depth = 3}), "");
}

TEST(json, says_where_it_broke_and_what_was_expected) {
    EXPECT_EQ(error_of(""), "invalid JSON at byte 0: expected a value, found the end of the text");
    EXPECT_EQ(error_of("[1,]"), "invalid JSON at byte 3: expected a value");
    EXPECT_EQ(error_of("[1 2]"), "invalid JSON at byte 3: expected ',' or ']'");
    EXPECT_EQ(error_of("{\"a\" 1}"), "invalid JSON at byte 5: expected ':'");
    EXPECT_EQ(error_of("{,}"), "invalid JSON at byte 1: expected a key in quotes");
    EXPECT_EQ(error_of("{} x"), "invalid JSON at byte 3: expected the end of the text");
}

TEST(json, refuses_what_rfc_8259_does_not_allow) {
    const std::string refused[] = {"01",
                                   "+1",
                                   ".5",
                                   "1.",
                                   "1e",
                                   "1e+",
                                   "-",
                                   "0x1",
                                   "NaN",
                                   "tru",
                                   "nul",
                                   "'a'",
                                   "\"a",
                                   "\"\\x\"",
                                   "\"\\u12g4\"",
                                   "\"\\u12",
                                   "\"a\nb\"",
                                   "\"\\",
                                   "[",
                                   "{\"a\":1",
                                   "[1}",
                                   "]",
                                   "/**/1",
                                   "{\"a\":1,}",
                                   std::string("\"\0\"", 3),
                                   std::string("1\0", 2),
                                   "\xef\xbb\xbf"
                                   "1"};
    for (const std::string& text : refused) EXPECT_NE(error_of(text), "") << text;
}

TEST(json, refuses_broken_utf8_at_every_place_in_a_string) {
    const std::string broken[] = {
        "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xe2\x82"};
    for (const std::string& bytes : broken)
        for (std::size_t before = 0; before < 40; ++before) {
            const std::string text =
                '"' + std::string(before, 'a') + bytes + "aaaaaaaaaaaaaaaaaa\"";
            EXPECT_NE(error_of(text), "") << before;
        }
    EXPECT_EQ(error_of("\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9\""), "");
}

TEST(json, tells_array_from_object_ends_in_nested_empties) {
    const auto document = parse_json(R"([[],{},[{}],""])");
    ASSERT_TRUE(document);
    std::vector<std::size_t> sizes;
    for (const JsonValue value : document->root().elements()) sizes.push_back(value.size());
    EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 0, 1, 0}));
}

TEST(json_writer, puts_commas_and_escapes) {
    std::string out;
    JsonWriter(out)
        .begin_object()
        .field("a", "q\"\\\n\x01é")
        .key("b")
        .begin_array()
        .number(1)
        .number(-2.5)
        .null()
        .begin_object()
        .end_object()
        .boolean(false)
        .end_array()
        .key("c")
        .raw("1.10")
        .end_object();
    EXPECT_EQ(out, R"({"a":"q\"\\\n\u0001é","b":[1,-2.5,null,{},false],"c":1.10})");
}

TEST(json_writer, what_it_writes_reads_back_equal) {
    std::string every;
    for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
    every += "é€😀";
    const std::string text = json_string(every);
    const auto document = parse_json(text);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(document->root().string(), every);
    EXPECT_EQ(json_string("a\xff"
                          "b\xe2\x82"),
              "\"a\uFFFDb\uFFFD\uFFFD\"");
}
