#include "core/metadata.h"

#include <gtest/gtest.h>

using namespace palimpsest;

TEST(metadata, a_merge_replaces_removes_and_keeps_by_name) {
    EXPECT_EQ(*merge_metadata(R"({"a":1,"b":"x","c":[1.10]})", R"({"b":null,"d":true,"a":2})"),
              R"({"c":[1.10],"d":true,"a":2})");
    EXPECT_EQ(*merge_metadata("{}", "{}"), "{}");
}

TEST(metadata, anything_but_an_object_is_refused_by_name) {
    for (const char* bad : {"[]", "\"x\"", "{", "", "null", R"({"a":1,"a":2})"}) {
        const auto merged = merge_metadata("{}", bad);
        ASSERT_FALSE(merged) << bad;
        EXPECT_EQ(merged.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(merged.error().param, "metadata");
    }
}

TEST(metadata, more_than_64_kib_is_too_large_and_changes_nothing) {
    Header header;
    header.metadata = R"({"a":1})";
    HeaderPatch patch;
    patch.owner = "eve";
    patch.metadata_merge = R"({"b":")" + std::string(70'000, 'x') + "\"}";
    const auto done = apply_patch(header, patch);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::too_large);
    EXPECT_EQ(header.owner, "");
    EXPECT_EQ(header.revision, 0u);
}

TEST(metadata, labels_are_the_plain_top_level_fields) {
    const auto labels = labels_of(R"({"s":"a\"b","n":1.10,"t":true,"o":{},"l":[],"z":null})");
    EXPECT_EQ(labels,
              (std::map<std::string, std::string>{{"s", "a\"b"}, {"n", "1.10"}, {"t", "true"}}));
}
