// Normalisation form C; the whole of Unicode was compared with PyPI unicodedata2 when the tables
// were made.
#include "token/nfc.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

TEST(nfc, composes_a_letter_with_its_marks) {
    EXPECT_EQ(to_nfc("e\u0301"), "\u00e9");
    EXPECT_EQ(to_nfc("s\u0307\u0323"), "\u1e69") << "the marks are put in order first";
    EXPECT_EQ(to_nfc("a\u0301\u0301"), "\u00e1\u0301") << "the second has nothing to join";
    EXPECT_EQ(to_nfc("a\u0328\u0301"), "\u0105\u0301") << "there is no letter with both";
    EXPECT_EQ(to_nfc("\u0301e"), "\u0301e") << "a mark at the start stands alone";
}

TEST(nfc, replaces_other_spellings_of_a_character) {
    EXPECT_EQ(to_nfc("\u212b"), "\u00c5");
    EXPECT_EQ(to_nfc("\uf900"), "\u8c48");
    EXPECT_EQ(to_nfc("\U0002f800"), "\u4e3d");
    EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c") << "excluded from composition";
}

TEST(nfc, computes_hangul) {
    EXPECT_EQ(to_nfc("\u1100\u1161\u11a8"), "\uac01");
    EXPECT_EQ(to_nfc("\uac00\u11a8"), "\uac01");
    EXPECT_EQ(to_nfc("\uac01\u11a8"), "\uac01\u11a8");
    EXPECT_EQ(to_nfc("\u1100\u11a8"), "\u1100\u11a8");
}

TEST(nfc, is_sure_of_ordinary_text_only) {
    EXPECT_TRUE(
        is_surely_nfc("caf\u00e9, \u4f60\u597d, \ud55c\uad6d, \u0440\u0443\u0441 \U0001f600"));
    EXPECT_FALSE(is_surely_nfc("cafe\u0301"));
    EXPECT_FALSE(is_surely_nfc("\u212b"));
    EXPECT_FALSE(is_surely_nfc("\u1100\u1161"));
    EXPECT_EQ(to_nfc("\U00040300\u0301"), "\U00040300\u0301") << "far from every table";
}

}  // namespace
}  // namespace palimpsest
