#include "base/hash.h"

#include <gtest/gtest.h>

using namespace palimpsest;

TEST(hash, is_the_same_in_pieces_and_at_once) {
    const std::string text(1000, 'x');
    Hasher hasher;
    hasher.add(text.substr(0, 1));
    hasher.add(text.substr(1, 500));
    hasher.add(text.substr(501));
    EXPECT_EQ(hasher.digest(), hash_bytes(text));
    EXPECT_NE(hash_bytes("a"), hash_bytes("b"));
}

TEST(hash, is_fixed_for_ever) {
    // Hashes are stored: these values are XXH3-128 with seed 0 and must not move.
    EXPECT_EQ(hash_bytes(""), (Fingerprint{0x6001c324468d497fULL, 0x99aa06d3014798d8ULL}));
}

TEST(hash, fields_keep_their_borders) {
    Hasher one, two;
    one.field("ab");
    one.field("c");
    two.field("a");
    two.field("bc");
    EXPECT_NE(one.digest(), two.digest());
}
