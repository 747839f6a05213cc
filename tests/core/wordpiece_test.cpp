// WordPiece: pieces of words, what is left out, and limits.
#include "core/wordpiece.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

constexpr std::string_view vocabulary = R"({"model":{"type":"WordPiece","vocab":{
    "[UNK]":0,"[CLS]":1,"[SEP]":2,"un":3,"##aff":4,"##able":5,"run":6,"##ning":7,",":8,"!":9,
    "cafe":10,"東":11,"京":12,"[":13,"]":14,"sep":15,"##a":16,"ᄒ":17,"##ᅡ":18,"##ᆫ":19,"a":20}}})";

std::vector<std::uint32_t> ids(std::string_view text, std::size_t limit = 64) {
    const auto pieces = WordPiece::open(vocabulary);
    EXPECT_TRUE(pieces.has_value());
    return pieces->encode(text, limit);
}
using Ids = std::vector<std::uint32_t>;

TEST(wordpiece, takes_the_longest_piece_first) {
    EXPECT_EQ(ids("unaffable running"), (Ids{1, 3, 4, 5, 6, 7, 2}));
}

TEST(wordpiece, a_word_with_an_unknown_rest_is_unknown_as_a_whole) {
    EXPECT_EQ(ids("unaffxyz run"), (Ids{1, 0, 6, 2}));
}

TEST(wordpiece, case_and_accents_do_not_count) {
    EXPECT_EQ(ids("CAFÉ cafe\xcc\x81"), (Ids{1, 10, 10, 2}));
}

TEST(wordpiece, punctuation_and_ideographs_stand_alone) {
    EXPECT_EQ(ids("run,run!"), (Ids{1, 6, 8, 6, 9, 2}));
    EXPECT_EQ(ids("東京"), (Ids{1, 11, 12, 2}));
}

TEST(wordpiece, hangul_is_taken_apart) {
    EXPECT_EQ(ids("한"), (Ids{1, 17, 18, 19, 2}));
}

TEST(wordpiece, the_name_of_a_special_token_is_text) {
    EXPECT_EQ(ids("[SEP]"), (Ids{1, 13, 15, 14, 2}));
}

TEST(wordpiece, control_characters_and_broken_bytes_are_left_out) {
    EXPECT_EQ(ids(std::string_view("r\0u\x01n", 5)), (Ids{1, 6, 2}));
    EXPECT_EQ(ids("ru\xff\xc3n\xe2\x80\x8d"), (Ids{1, 6, 2}));
    EXPECT_EQ(ids("run\nrun\trun"), (Ids{1, 6, 6, 6, 2}));
}

TEST(wordpiece, an_empty_text_has_its_ends) {
    EXPECT_EQ(ids(""), (Ids{1, 2}));
    EXPECT_EQ(ids(" \n\xc2\xa0"), (Ids{1, 2}));
}

TEST(wordpiece, what_is_beyond_the_limit_is_cut_and_the_end_stays) {
    EXPECT_EQ(ids("run run run run", 4), (Ids{1, 6, 6, 2}));
    EXPECT_EQ(ids("unaffable", 4), (Ids{1, 3, 4, 2}));
    EXPECT_EQ(ids(std::string(1 << 20, 'a'), 16), (Ids{1, 0, 2}));
    EXPECT_EQ(ids(std::string(100, 'a'), 256).size(), 102u);
    EXPECT_EQ(ids(std::string(101, 'a'), 256), (Ids{1, 0, 2}));
}

TEST(wordpiece, refuses_what_is_no_vocabulary_of_its_kind) {
    for (const std::string_view text :
         {"", "[]", R"({"model":{}})", R"({"model":{"vocab":{"a":0}}})",
          R"({"model":{"vocab":{"[UNK]":-1,"[CLS]":1,"[SEP]":2}}})"})
        EXPECT_FALSE(WordPiece::open(text).has_value()) << text;
}

}  // namespace
}  // namespace palimpsest
