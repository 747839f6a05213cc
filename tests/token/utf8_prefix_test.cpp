// How much of a text is UTF-8: the wide way against the plain one, at every place of a block.
#include "token/utf8_prefix.h"

#include "token/utf8_wide.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace palimpsest {
namespace {

// Short texts go the plain way.
bool is_plain_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t most = std::min<std::size_t>(60, text.size() - at);
        const std::size_t good = utf8_prefix(text.substr(at, most));
        if (good == 0) return false;
        at += good;
    }
    return true;
}

TEST(utf8_wide, agrees_with_the_plain_way_on_every_pair_of_bytes) {
    if (!has_utf8_wide()) GTEST_SKIP();
    for (unsigned first = 0x80; first < 0x100; ++first)
        for (unsigned second = 0; second < 0x100; ++second)
            for (const std::string_view tail : {"", "\x80", "\x80\x80", "\xbf\xbf\xbf"})
                for (const std::size_t place : {0u, 29u, 30u, 31u, 32u, 63u}) {
                    std::string text(place, 'a');
                    text += {static_cast<char>(first), static_cast<char>(second)};
                    text += tail;
                    ASSERT_EQ(is_utf8_wide(text), is_plain_utf8(text))
                        << std::hex << first << ' ' << second << " and " << tail.size();
                }
}

TEST(utf8_wide, agrees_with_the_plain_way_on_random_text) {
    if (!has_utf8_wide()) GTEST_SKIP();
    const std::string_view parts[] = {"a",          "abcdefgh",     "\u00e9",       "\u6f22",
                                      "\U0001f600", "\u07ff",       "\u0800",       "\uffff",
                                      "\U0010ffff", "\u6f22\u5b57", "\xed\x9f\xbf", "\xee\x80\x80"};
    const std::string_view broken[] = {"\xc3",         "\xe6\xbc",     "\xf0\x9f\x98",
                                       "\x80",         "\xff",         "\xc0\x80",
                                       "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    std::mt19937 random(4);
    int wrong = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (auto n = random() % 60; n > 0; --n)
            text += random() % 200 == 0 ? broken[random() % std::size(broken)]
                                        : parts[random() % std::size(parts)];
        ASSERT_EQ(is_utf8_wide(text), is_plain_utf8(text));
        wrong += !is_plain_utf8(text);
        EXPECT_EQ(utf8_prefix(text) == text.size(), is_plain_utf8(text));
    }
    EXPECT_GT(wrong, 500);
}

}  // namespace
}  // namespace palimpsest
