// What attachments say of themselves; images are the smallest that hold a header.
#include "base/media.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

TEST(decode_base64, reads_both_alphabets_up_to_what_is_neither) {
    EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
    EXPECT_EQ(decode_base64("-_-_"), decode_base64("+/+/"));
    EXPECT_EQ(decode_base64("aGVs bG8="), "hel");
    EXPECT_EQ(base64_bytes("aGVsbG8="), 5u);
}

TEST(image_size, reads_webp_of_all_three_kinds) {
    const auto size = [](std::string_view base64) {
        const auto found = image_size(base64);
        return found ? std::pair{found->width, found->height} : std::pair{0u, 0u};
    };
    // "RIFF", 4 bytes, "WEBP", the kind, 4 bytes, then 640 by 480 as each kind writes it.
    EXPECT_EQ(size("UklGRgAAAABXRUJQVlA4WAAAAAAAAAAAfwIA3wEA"), std::pair(640u, 480u));
    EXPECT_EQ(size("UklGRgAAAABXRUJQVlA4IAAAAAAAAACdASqAAuAB"), std::pair(640u, 480u));
    EXPECT_EQ(size("UklGRgAAAABXRUJQVlA4TAAAAAAvf8J3AAAAAAAA"), std::pair(640u, 480u));
    EXPECT_FALSE(image_size("UklGRgAAAABXRUJQ"));
}

TEST(pdf_pages, counts_page_objects_and_no_page_trees) {
    EXPECT_EQ(pdf_pages("<< /Type /Pages >> << /Type /Page >> << /Type/Page\n>>"), 2u);
    EXPECT_EQ(pdf_pages("nothing to see"), 1u);
    EXPECT_EQ(pdf_pages("/Type"), 1u);
}

TEST(read_data_url, gives_type_and_data) {
    const auto url = read_data_url("data:text/plain;base64,QQ==");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->media_type, "text/plain");
    EXPECT_EQ(url->base64, "QQ==");
    EXPECT_FALSE(read_data_url("https://example.org/;base64,x"));
    EXPECT_FALSE(read_data_url("data:text/plain,hello"));
}

}  // namespace
}  // namespace palimpsest
