// tokenizer.json files: a small one that is complete, and the ways in which one is refused.
#include "token/tokenizer_json.h"

#include <gtest/gtest.h>

#include <string>

namespace palimpsest {
namespace {

std::string spelled(unsigned byte) {
    static unsigned next = 0;
    if (byte == 0) next = 256;
    const bool shifted = byte < 33 || (byte > 126 && byte < 161) || byte == 173;
    const unsigned code = shifted ? next++ : byte;
    if (code == '"' || code == '\\') return std::string("\\") + static_cast<char>(code);
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

struct Variant {
    std::string split =
        R"({"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false})";
    std::string normalizer = "null";
    std::string model = "";  // more fields of the model
    std::string merges = R"(["a b","ab c",["c","d"],"\u0120 ab"])";
};

// Bytes are tokens 0 to 255, then ab, abc, cd, " ab".
std::string file_of(const Variant& variant) {
    std::string vocabulary;
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary += "\"" + spelled(byte) + "\":" + std::to_string(byte) + ",";
    vocabulary += R"("ab":256,"abc":257,"cd":258,"\u0120ab":259,"xyz":260)";
    return R"({"normalizer":)" + variant.normalizer +
           R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + variant.split +
           R"(,{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},
           "model":{"type":"BPE",)" +
           variant.model + R"("vocab":{)" + vocabulary + R"(},"merges":)" + variant.merges + "}}";
}

Result<std::shared_ptr<const JsonTokenizer>> load(const Variant& variant) {
    const std::string json = file_of(variant);
    return load_tokenizer_json({.json = json, .name = "small", .scheme = 400});
}

using Ids = std::vector<Token>;

TEST(tokenizer_json, merges_in_the_order_of_the_list) {
    const auto small = load({});
    ASSERT_TRUE(small) << small.error().message;
    EXPECT_EQ((*small)->encode("abcd"), (Ids{257, 'd'})) << "ab, then abc: cd comes too late";
    EXPECT_EQ((*small)->encode("cd ab"), (Ids{258, 259}));
    EXPECT_EQ((*small)->encode("cab 1234"), (Ids{'c', 256, ' ', '1', '2', '3', '4'}));
    EXPECT_EQ((*small)->encode("\u00e9\xff"), (Ids{0xC3, 0xA9, 0xFF}));
    EXPECT_EQ((*small)->count("abcd"), 2u);
    EXPECT_EQ((*small)->name(), "small");
    EXPECT_EQ((*small)->scheme(), 400);
}

TEST(tokenizer_json, a_whole_word_needs_no_merges_if_the_file_says_so) {
    EXPECT_EQ((*load({}))->encode("xyz"), (Ids{'x', 'y', 'z'}));
    EXPECT_EQ((*load({.model = R"("ignore_merges":true,)"}))->encode("xyz"), (Ids{260}));
}

TEST(tokenizer_json, decodes_what_it_encodes_and_names_an_id_that_is_not_there) {
    const auto small = *load({});
    const std::string text = "abcd \u6f22 xyz\n";
    EXPECT_EQ(*small->decode(small->encode(text)), text);
    const auto none = small->decode(Ids{'a', 999});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("999"), std::string::npos);
}

TEST(tokenizer_json, normalises_if_the_file_says_so) {
    const std::string_view apart = "e\u0301";
    EXPECT_EQ((*load({}))->encode(apart), (Ids{'e', 0xCC, 0x81}));
    const Ids together{0xC3, 0xA9};
    EXPECT_EQ((*load({.normalizer = R"({"type":"NFC"})"}))->encode(apart), together);
    EXPECT_EQ((*load({.normalizer = R"({"type":"Sequence","normalizers":[{"type":"NFC"}]})"}))
                  ->encode(apart),
              together);
    EXPECT_TRUE(load({.normalizer = R"({"type":"Sequence","normalizers":[]})"}));
}

TEST(tokenizer_json, takes_several_splits_one_after_another) {
    const std::string digits =
        R"({"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":"Isolated","invert":false})";
    const Variant two{.split = digits + "," + Variant{}.split};
    const auto staged = load(two);
    ASSERT_TRUE(staged) << staged.error().message;
    EXPECT_EQ((*staged)->encode("ab12ab"), (Ids{256, '1', '2', 256}));
}

TEST(tokenizer_json, refuses_a_pipeline_it_cannot_follow_and_names_it) {
    const auto refusal = [](const Variant& variant) {
        const auto loaded = load(variant);
        EXPECT_FALSE(loaded);
        EXPECT_EQ(loaded.error().code, ErrorCode::unprocessable);
        return loaded.error().message;
    };
    EXPECT_NE(refusal({.normalizer = R"({"type":"Lowercase"})"}).find("Lowercase"),
              std::string::npos);
    EXPECT_NE(refusal({.split = R"({"type":"Metaspace"})"}).find("Metaspace"), std::string::npos);
    EXPECT_NE(
        refusal({.split = R"({"type":"Split","pattern":{"Regex":"[ab]"},"behavior":"Isolated"})"})
            .find("[ab]"),
        std::string::npos);
    EXPECT_NE(
        refusal(
            {.split =
                 R"({"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":"Removed","invert":true})"})
            .find("Removed"),
        std::string::npos)
        << "what does not match would be dropped";
    EXPECT_NE(refusal({.model = R"("byte_fallback":true,)"}).find("byte_fallback"),
              std::string::npos);
    EXPECT_NE(refusal({.merges = R"(["q w"])"}).find("merge"), std::string::npos);
}

TEST(tokenizer_json, refuses_what_is_no_such_file) {
    EXPECT_EQ(load_tokenizer_json({.json = "{}", .name = "x"}).error().code,
              ErrorCode::invalid_request);
    EXPECT_FALSE(load_tokenizer_json({.json = "not json", .name = "x"}));
}

}  // namespace
}  // namespace palimpsest
