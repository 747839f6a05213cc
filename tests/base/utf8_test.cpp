#include "base/utf8.h"

#include <gtest/gtest.h>

using namespace palimpsest;

TEST(utf8, accepts_every_code_point_and_refuses_surrogates) {
    for (char32_t code = 0; code <= 0x10ffff; ++code) {
        std::string text;
        append_utf8(text, code);
        ASSERT_EQ(utf8_length(text), text.size()) << std::hex << static_cast<unsigned>(code);
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        ASSERT_EQ(text == utf8_replacement, surrogate || code == 0xfffd);
    }
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
    EXPECT_FALSE(is_utf8("\xc1\xbf"));
    EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
    EXPECT_FALSE(is_utf8("abcdefgh\xe2\x82"));
    EXPECT_TRUE(is_utf8("abcdefgh\xe2\x82\xac!"));
}

TEST(utf8, cuts_between_code_points_only) {
    const std::string_view text = "a€b😀c";
    EXPECT_EQ(utf8_prefix(text, 3), "a");
    EXPECT_EQ(utf8_prefix(text, 4), "a€");
    EXPECT_EQ(utf8_prefix(text, 8), "a€b");
    EXPECT_EQ(utf8_prefix(text, 99), text);
    EXPECT_EQ(utf8_suffix(text, 4), "c");
    EXPECT_EQ(utf8_suffix(text, 5), "😀c");
    EXPECT_EQ(utf8_suffix(text, 0), "");
}

TEST(utf8, replaces_what_is_broken) {
    EXPECT_EQ(to_utf8("a\xff€\xe2\x82"), "a\uFFFD€\uFFFD\uFFFD");
}
