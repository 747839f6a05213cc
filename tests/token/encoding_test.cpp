// The encodings against ids made by the original, against the plain reference, and at the edges:
// special tokens, bytes that are not UTF-8, ids that do not exist.
#include "token/encoding.h"

#include "token/counter.h"
#include "token/reference_encoder.h"
#include "token/token_vectors.h"

#include <gtest/gtest.h>

#include <random>

namespace palimpsest {
namespace {

using Ids = std::vector<Token>;

std::shared_ptr<const Encoding> open(std::string_view name) {
    return *open_encoding(name);
}

TEST(encoding, gives_the_ids_of_the_original_on_every_vector) {
    const std::string_view names[] = {"o200k_base", "cl100k_base", "p50k_base", "r50k_base"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        const auto encoding = open(names[i]);
        const auto counter = encoding->counter();
        for (const TokenVector& vector : token_vectors()) {
            EXPECT_EQ(encoding->encode(vector.text), vector.ids[i]) << names[i] << vector.text;
            EXPECT_EQ(encoding->count(vector.text), vector.ids[i].size()) << vector.text;
            EXPECT_EQ(counter->count(vector.text), vector.ids[i].size()) << vector.text;
            EXPECT_EQ(encoding->decode(vector.ids[i]).value(), vector.text);
        }
    }
}

TEST(encoding, special_tokens_are_text_unless_asked_for) {
    const auto o200k = open("o200k_base");
    const std::string_view text = "a<|endoftext|>b<|endofprompt|><|end";
    EXPECT_EQ(o200k->encode(text, Specials::recognised),
              (Ids{64, 199999, 65, 200018, 27, 91, 419}));
    EXPECT_EQ(o200k->decode(o200k->encode(text)).value(), text);
    EXPECT_GT(o200k->encode(text).size(), 7u);
    const auto cl100k = open("cl100k_base");
    EXPECT_EQ(cl100k->encode("<|fim_prefix|>x<|fim_suffix|><|fim_middle|>", Specials::recognised),
              (Ids{100258, 87, 100260, 100259}));
}

TEST(encoding, harmony_has_named_and_reserved_tokens) {
    const auto harmony = open("o200k_harmony");
    const std::string text =
        "<|start|>user<|message|>hi<|end|><|reserved_200013|><|reserved_201087|><|reserved_201088|"
        ">";
    const Ids ids = harmony->encode(text, Specials::recognised);
    ASSERT_GT(ids.size(), 8u);
    EXPECT_EQ(Ids(ids.begin(), ids.begin() + 8),
              (Ids{200006, 1428, 200008, 3686, 200007, 200013, 201087, 27}));
    EXPECT_EQ(harmony->decode(ids).value(), text);
    EXPECT_EQ(harmony->encode("<|reserved_200018|><|endofprompt|>", Specials::recognised),
              (Ids{200018, 200018}));
    EXPECT_EQ(harmony->decode(Ids{200018}).value(), "<|endofprompt|>");
    EXPECT_NE(harmony->encode("<|reserved_200002|>", Specials::recognised), Ids{200002})
        << "that id has a name of its own";
}

TEST(encoding, bytes_that_are_not_utf8_come_back_unchanged) {
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = open(spec.name);
        for (const std::string text :
             {"\xff", "abc \xc3", "a  \n \xe4\xbd", "\xed\xa0\x80 x",
              "ok\xf0\x9f\x98 more \x80 text", "\xc0\xaf\xf4\x90\x80\x80"}) {
            const Ids ids = encoding->encode(text);
            EXPECT_EQ(encoding->decode(ids).value(), text) << spec.name;
            EXPECT_EQ(encoding->count(text), ids.size());
        }
    }
}

// Ids from Encoding._encode_bytes of PyPI tiktoken 0.14.0.
TEST(encoding, bytes_that_are_not_utf8_get_the_ids_of_the_original) {
    const auto o200k = open("o200k_base");
    EXPECT_EQ(o200k->encode("\377"), (Ids{187}));
    EXPECT_EQ(o200k->encode("hello wor\303"), (Ids{24912, 6785, 127}));
    EXPECT_EQ(o200k->encode("x  \012 \012\344\275"), (Ids{87, 4066, 793, 2100}));
    EXPECT_EQ(o200k->encode("don't\360\237\230 stop, 123\376 go"),
              (Ids{91418, 13865, 5666, 11, 220, 7633, 186, 810}));
    EXPECT_EQ(o200k->encode(" caf\303\251\303"), (Ids{30469, 127}));
}

TEST(encoding, refuses_to_decode_ids_that_do_not_exist) {
    const auto p50k = open("p50k_base");
    EXPECT_EQ(p50k->decode(Ids{50256}).value(), "<|endoftext|>");
    const auto decoded = p50k->decode(Ids{0, 50281});
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::invalid_request);
    EXPECT_NE(decoded.error().message.find("50281"), std::string::npos);
    EXPECT_FALSE(open("o200k_base")->decode(Ids{199998}));
}

TEST(encoding, every_token_encodes_to_itself) {
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = open(spec.name);
        Merger merger(encoding->vocabulary());
        for (Token id = 0; id < encoding->vocabulary().ids(); ++id) {
            const auto bytes = encoding->vocabulary().bytes(id);
            if (bytes.empty()) continue;
            ASSERT_EQ(merger.merge(bytes), Ids{id}) << spec.name;
        }
    }
}

std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> parts = {
        " ",      "  ",     "\n",     "\r\n",    "\t",     "\u00a0", "\u3000", "\u0085",
        "'",      "'s",     "'S",     "'\u017f", "'re",    "'LL",    "'ve",    "a",
        "foo",    "Bar",    "HTTP",   "iPhone",  "\u00e9", "\u00c9", "\u01c5", "\u0301",
        "\u6f22", "\u304b", "\u0440", "\u0420",  "\u0e44", "1",      "22",     "3333",
        "\u0661", "/",      "//",     "!",       "...",    "{",      "<|",     "\U0001F600",
        "\ue000", "aaaa",   "=====",  "\u02b0"};
    std::string text;
    for (auto n = 1 + random() % 14; n > 0; --n) text += parts[random() % parts.size()];
    return text;
}

TEST(encoding, agrees_with_the_plain_reference_on_random_text) {
    std::mt19937 random(7);
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = open(spec.name);
        const ReferenceEncoder reference(*encoding);
        Counter wide(*encoding, {.cache_bits = 4});
        Counter plain(*encoding, {.cache_bits = 4, .wide = false});
        for (int i = 0; i < 1500; ++i) {
            std::string text = random_text(random);
            if (i % 8 == 0) text += random_text(random) + random_text(random) + random_text(random);
            const Ids expected = reference.encode(text);
            ASSERT_EQ(encoding->encode(text), expected) << spec.name << ": " << text;
            ASSERT_EQ(wide.count(text), expected.size()) << spec.name << ": " << text;
            ASSERT_EQ(plain.count(text), expected.size()) << spec.name << ": " << text;
        }
    }
}

TEST(encoding, long_runs_without_a_border_agree_with_the_reference) {
    std::mt19937 random(11);
    const auto encoding = open("o200k_base");
    const ReferenceEncoder reference(*encoding);
    Counter counter(*encoding, {});
    for (const std::string_view alphabet :
         {"a", " ", "-", "ab", "abcdefghijklmnopqrstuvwxyz", "=-+*"}) {
        std::string text;
        for (int i = 0; i < 400; ++i) text += alphabet[random() % alphabet.size()];
        const Ids expected = reference.encode(text);
        EXPECT_EQ(encoding->encode(text), expected) << alphabet;
        EXPECT_EQ(counter.count(text), expected.size()) << alphabet;
    }
}

TEST(encoding, open_lists_the_names_there_are) {
    const auto opened = open_encoding("gpt9");
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("o200k_harmony"), std::string::npos);
    EXPECT_EQ(open_tokenizer("cl100k_base").value()->scheme(), 3);
}

}  // namespace
}  // namespace palimpsest
