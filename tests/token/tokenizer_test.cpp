// The port: the table of schemes, `approx`, and a user's own function.
#include "palimpsest/tokenizer.h"

#include <gtest/gtest.h>
#include <set>

namespace palimpsest {
namespace {

TEST(tokenizer, approx_is_a_quarter_of_the_bytes_rounded_up) {
    const auto approx = approx_tokenizer();
    EXPECT_EQ(approx->count(""), 0u);
    EXPECT_EQ(approx->count("a"), 1u);
    EXPECT_EQ(approx->count("abcd"), 1u);
    EXPECT_EQ(approx->count("abcde"), 2u);
    EXPECT_EQ(approx->count("\u00e9\u00e9\u00e9"), 2u) << "bytes, not characters";
    EXPECT_EQ(approx->scheme(), scheme_approx);
}

TEST(tokenizer, scheme_numbers_and_names_are_unique_and_built_in) {
    std::set<std::uint16_t> numbers;
    std::set<std::string_view> names;
    for (const TokenScheme& scheme : token_schemes()) {
        EXPECT_TRUE(numbers.insert(scheme.number).second) << scheme.name;
        EXPECT_TRUE(names.insert(scheme.name).second) << scheme.name;
        EXPECT_LT(scheme.number, scheme_own_first);
    }
}

TEST(tokenizer, open_refuses_an_unknown_name_and_says_which_there_are) {
    const auto opened = open_tokenizer("o300k");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::not_found);
    EXPECT_NE(opened.error().message.find("approx"), std::string::npos);
    ASSERT_TRUE(open_tokenizer("approx"));
}

TEST(tokenizer, a_plain_function_is_a_tokenizer_and_has_a_counter) {
    const auto five = make_tokenizer({.name = "five", .scheme = 300, .count = [](std::string_view) {
                                          return std::uint64_t{5};
                                      }});
    EXPECT_EQ(five->name(), "five");
    EXPECT_EQ(five->scheme(), 300);
    EXPECT_EQ(five->count("anything"), 5u);
    EXPECT_EQ(five->counter()->count("anything else"), 5u);
}

}  // namespace
}  // namespace palimpsest
