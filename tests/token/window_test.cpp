// The bit arithmetic against the plain splitter: every start that a window reports is a start, and
// the starts it reports have no gap.
#include "token/window.h"

#include "token/appending_counter.h"
#include "token/counter.h"
#include "token/encoding.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace palimpsest {
namespace {

ByteMasks masks_of(std::string_view text) {
    ByteMasks m;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 'A' && c <= 'Z') m.upper |= bit;
        if (c >= 'a' && c <= 'z') m.lower |= bit;
        if (c >= '0' && c <= '9') m.digit |= bit;
        if (c == ' ') m.space |= bit;
        if (c == '\t' || c == '\v' || c == '\f') m.blank |= bit;
        if (c == '\r' || c == '\n') m.newline |= bit;
        if (c >= 0x80) m.high |= bit;
        if (c == '\'') m.quote |= bit;
        if (c == '/') m.slash |= bit;
    }
    return m;
}

std::string random_text(std::mt19937& random, std::size_t size) {
    static const std::vector<std::string> parts = {
        " ",      " ",      "  ",     "\n",        "\r\n",   "\t",     "\n\n    ", " \n",
        "'",      "'s",     "'S",     "'re",       "'LL",    "'l",     "'v",       "a",
        "foo",    "Bar",    "HTTP",   "camelCase", "1",      "22",     "3333",     "1234567",
        "/",      "//",     "!",      "...",       "{\n",    "}\n",    "/*",       "!\n/",
        "\v",     "\"",     "don't",  "it's'd",    "\u00e9", "\u6f22", "\u3000",   "\u017f",
        "\x01",   "the",    " of",    "    ",      "\u0301", "\u01c5", "\u0416",   "\u0436",
        "\u0661", "\u2028", "\u200d", "\u6f22A"};
    std::string text;
    while (text.size() < size) text += parts[random() % parts.size()];
    return text;
}

template <Family family>
void compare(const std::string& text) {
    const std::uint64_t found = window::piece_starts<family>(masks_of(text), text.data());
    std::uint64_t expected = 0;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < text.data() + 64; at = piece_end<family>(at, end))
        expected |= std::uint64_t{1} << (at - text.data());
    const auto last = 63 - std::countl_zero(found);
    ASSERT_EQ(found, expected & window::up_to(static_cast<unsigned>(last))) << text;
}

TEST(window, reports_starts_without_error_or_gap) {
    std::mt19937 random(3);
    for (int i = 0; i < 60000; ++i) {
        const std::string text = random_text(random, 96);
        compare<Family::o200k>(text);
        compare<Family::cl100k>(text);
        if (HasFatalFailure()) return;
    }
}

TEST(window, gets_far_in_ordinary_text) {
    const std::string text =
        "The quick brown fox doesn't jump over 1234 lazy dogs;\n    if (x) { y = \"z\"; }  // end "
        "of it";
    EXPECT_GT(
        63 - std::countl_zero(window::piece_starts<Family::o200k>(masks_of(text), text.data())),
        50);
    EXPECT_GT(
        63 - std::countl_zero(window::piece_starts<Family::cl100k>(masks_of(text), text.data())),
        50);
}

TEST(counter, wide_and_plain_count_long_text_as_it_is_encoded) {
    std::mt19937 random(5);
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = *open_encoding(spec.name);
        Counter wide(*encoding, {.cache_bits = 6});
        Counter plain(*encoding, {.cache_bits = 6, .wide = false});
        for (int i = 0; i < 400; ++i) {
            const std::string text = random_text(random, 500);
            const std::size_t expected = encoding->encode(text).size();
            ASSERT_EQ(wide.count(text), expected) << spec.name << ": " << text;
            ASSERT_EQ(plain.count(text), expected) << spec.name << ": " << text;
        }
    }
}

TEST(appending_counter, is_right_after_every_byte_that_completes_a_character) {
    std::mt19937 random(9);
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = *open_encoding(spec.name);
        Counter wide(*encoding, {.cache_bits = 6});
        Counter plain(*encoding, {.cache_bits = 6, .wide = false});
        for (int i = 0; i < 150; ++i) {
            const std::string text = random_text(random, 120);
            AppendingCounter first(wide), second(plain);
            for (std::size_t n = 0; n < text.size(); ++n) {
                first.append(text.substr(n, 1));
                second.append(text.substr(n, 1));
                if (n + 1 < text.size() && (text[n + 1] & 0xC0) == 0x80) continue;
                const std::size_t expected = encoding->encode(text.substr(0, n + 1)).size();
                ASSERT_EQ(first.count(), expected) << spec.name << ": " << text.substr(0, n + 1);
                ASSERT_EQ(second.count(), expected) << spec.name << ": " << text.substr(0, n + 1);
            }
        }
    }
}

TEST(appending_counter, no_continuation_changes_what_was_closed) {
    const auto encoding = *open_encoding("o200k_base");
    Counter plain(*encoding, {.cache_bits = 6, .wide = false});
    const std::string_view heads[] = {"x \u6f22AB",       "a  \n  ",    "AB\u6f22CC'",
                                      "A\u6f22B\u6f22'r", "!\n \n\t ",  "12 \u0301A\u0301",
                                      "\u01c5\u02b0A",    "  \n \n   ", "\u6f22A \u6f22B'"};
    const std::string_view tails[] = {"s",      "e", "\n", " ", "b", "B", "\u6f22",
                                      "\u0301", "'", "/",  "1", "!", "ll"};
    for (const std::string_view head : heads)
        for (const std::string_view one : tails)
            for (const std::string_view two : tails) {
                AppendingCounter counter(plain);
                counter.append("some words before it, ");
                counter.append(head);
                counter.append(one);
                counter.append(two);
                EXPECT_EQ(counter.count(), encoding->encode(counter.text()).size())
                    << counter.text();
            }
}

// Words, signs and white space without end, what ends them, and what joins them again.
TEST(appending_counter, is_exact_in_pieces_of_thousands_of_bytes) {
    const std::string_view units[] = {
        "abcxyz", "ABC",          "   ", "!?",      "\u6f22\u5b57", "\t \n",  "!!/",
        "\u0301", "aB",           "123", "\u6f22A", "\r\n",         "\u01c5", "\u0430\u0411",
        "\u3000", "\u0661\u0662", "'",   "/\n"};
    const std::string_view ends[] = {"'",  "'l",     "'ll", " ",  " and then\n",
                                     "Ab", "\u6f22", "1",   "!\n"};
    std::mt19937 random(11);
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = *open_encoding(spec.name);
        Counter counter(*encoding, {.cache_bits = 6});
        for (int i = 0; i < 60; ++i) {
            AppendingCounter growing(counter);
            for (int run = 0; run < 3; ++run) {
                const std::string_view unit = units[random() % std::size(units)];
                const std::size_t times = 700 + random() % 300;
                for (std::size_t n = 0; n < times; ++n) {
                    growing.append(unit);
                    if (n % 97 != 0) continue;
                    ASSERT_EQ(growing.count(), encoding->encode(growing.text()).size())
                        << spec.name << ": ..." << growing.text().substr(growing.text().size() - 9);
                }
                for (int n = 0; n < 3; ++n) {
                    growing.append(ends[random() % std::size(ends)]);
                    ASSERT_EQ(growing.count(), encoding->encode(growing.text()).size())
                        << spec.name << ": ..." << growing.text().substr(growing.text().size() - 9);
                }
            }
        }
    }
}

TEST(appending_counter, is_exact_in_bytes_that_are_no_text) {
    std::mt19937 random(12);
    for (const EncodingSpec& spec : encoding_table()) {
        const auto encoding = *open_encoding(spec.name);
        Counter counter(*encoding, {.cache_bits = 6});
        for (const std::string head : {"", "word", "two words \n\t ", "\u6f22  "}) {
            AppendingCounter growing(counter);
            growing.append(head);
            growing.append("\xFF");
            for (int n = 0; n < 400; ++n) {
                growing.append(random_text(random, 1));
                if (n % 7 == 0) growing.append("\xC3");
                ASSERT_EQ(growing.count(), encoding->encode(growing.text()).size()) << spec.name;
            }
        }
    }
}

TEST(appending_counter, holds_back_a_cut_character_and_counts_other_bytes_like_the_encoding) {
    const auto encoding = *open_encoding("o200k_base");
    Counter counter(*encoding, {});
    AppendingCounter growing(counter);
    growing.append("caf\xc3");
    EXPECT_EQ(growing.count(), encoding->count("caf"));
    growing.append("\xa9 \xf0\x9f");
    EXPECT_EQ(growing.count(), encoding->count("caf\u00e9 "));
    growing.append("\x98\x80!");
    EXPECT_EQ(growing.count(), encoding->count("caf\u00e9 \U0001F600!"));
    growing.append("\xff then \xe4");
    EXPECT_EQ(growing.count(), encoding->count(growing.text()));
    growing.append("more");
    EXPECT_EQ(growing.count(), encoding->count(growing.text()));
}

}  // namespace
}  // namespace palimpsest
