// A stored memory strategy that is changed field by field.
#include <gtest/gtest.h>

#include "core/policy.h"

using namespace palimpsest;

TEST(strategy, a_patch_sets_and_clears_fields) {
    const auto set = patch_strategy("", R"({"mode":"compact","token_budget":12000})");
    ASSERT_TRUE(set);
    const auto more = patch_strategy(*set, R"({"compact_keep":3,"token_budget":null})");
    ASSERT_TRUE(more);
    EXPECT_EQ(*more, R"({"mode":"compact","compact_keep":3})");
    EXPECT_EQ(*patch_strategy(*more, R"({"mode":null,"compact_keep":null})"), "");
    EXPECT_EQ(patch_strategy(*set, R"({"compact_kep":1})").error().param, "compact_kep");
    EXPECT_EQ(patch_strategy(*set, "{}"), *set);
}

TEST(policy, a_preset_is_changed_as_a_whole_or_not_at_all) {
    const auto refused = patch_strategy(R"("balanced")", R"({"compact_keep":3})");
    ASSERT_FALSE(refused) << *refused;
    EXPECT_EQ(refused.error().param, "mode");
    EXPECT_NE(refused.error().message.find("balanced"), std::string::npos);
    EXPECT_EQ(*patch_strategy(R"("balanced")", "{}"), R"("balanced")");
    EXPECT_EQ(*patch_strategy(R"("balanced")", R"({"mode":null})"), "");
    EXPECT_EQ(*patch_strategy(R"("balanced")", R"({"mode":"compact","compact_keep":3})"),
              R"({"mode":"compact","compact_keep":3})");
}

TEST(strategy, a_patch_knows_a_field_by_its_other_name) {
    const std::string set = R"({"mode":"trim","keep_last_user_turns":4})";
    EXPECT_EQ(*patch_strategy(set, R"({"keep_last_turns":2})"),
              R"({"mode":"trim","keep_last_turns":2})");
    EXPECT_EQ(*patch_strategy(set, R"({"keep_last_turns":null})"), R"({"mode":"trim"})");
    EXPECT_EQ(*patch_strategy(set, R"({"strategy":"summarize"})"),
              R"({"keep_last_user_turns":4,"strategy":"summarize"})");
}
