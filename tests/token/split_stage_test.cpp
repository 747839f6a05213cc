// The steps of a tokenizer.json's splitting. What is expected was said by PyPI tokenizers 0.23.3;
// bench/token/diff_tokenizers.py compares more.
#include "token/split_stage.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace palimpsest {
namespace {

using Parts = std::vector<std::string_view>;

Parts deepseek(std::string_view text) {
    const Stage stages[] = {Stage::digits, Stage::cjk, Stage::deepseek_words};
    return split_stages(text, stages);
}

TEST(split_stage, cuts_digits_then_ideographs_then_words_as_deepseek_does) {
    EXPECT_EQ(deepseek("Hello, world!  \u4f60\u597d\u4e16\u754c12345 "
                       "\u30c6\u30b9\u30c8\u30fb\u30c7\u30fc\u30bf\n\n  x_id#\u00e9"),
              (Parts{"Hello", ",", " world", "!", "  ", "\u4f60\u597d\u4e16\u754c", "123", "45",
                     " ", "\u30c6\u30b9\u30c8", "\u30fb", "\u30c7\u30fc\u30bf", "\n\n", " ", " x",
                     "_id", "#", "\u00e9"}));
    EXPECT_EQ(deepseek("a  1 \u200d\u200b!a\u0301 x'll\r\n\t y"),
              (Parts{"a", "  ", "1", " ", "\u200d\u200b", "!a", "\u0301", " x", "'ll", "\r\n", "\t",
                     " y"}))
        << "a part that no expression matches stays whole";
    EXPECT_EQ(deepseek("\u20ac5 \u200dab \x01\x02"
                       "cd 3\u00b2\u0661 [x]{\n}"),
              (Parts{"\u20ac", "5", " ", "\u200dab", " ", "\x01",
                     "\x02"
                     "cd",
                     " ", "3\u00b2\u0661", " [", "x", "]{\n", "}"}));
}

TEST(split_stage, knows_expressions_by_their_spelling_alone) {
    EXPECT_EQ(find_stage("\\p{N}{1,3}"), Stage::digits);
    EXPECT_EQ(find_stage("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), Stage::cjk);
    EXPECT_FALSE(find_stage("\\p{N}{1,4}"));
    EXPECT_FALSE(find_stage(""));
}

TEST(split_stage, gives_every_byte_to_one_part) {
    const Stage one[] = {Stage::o200k};
    EXPECT_EQ(split_stages("don't stop", one), (Parts{"don't", " stop"}));
    EXPECT_TRUE(split_stages("", one).empty());
}

}  // namespace
}  // namespace palimpsest
