// A field that is null is a field that is not there, everywhere in a policy.
#include <gtest/gtest.h>

#include "core/policy.h"

namespace palimpsest {
namespace {

TEST(policy, null_is_absent_in_every_field) {
    for (const std::string_view field :
         {"name", "strategy", "triggers", "last_resort", "target", "min_gain", "pays_within_calls",
          "protect", "window_tokens", "reply_tokens", "summarizer_model", "injection", "recall"}) {
        const auto policy = parse_policy(R"({"passes":[{"pass":"drop_oldest"}],")" +
                                         std::string(field) + "\":null}");
        EXPECT_TRUE(policy) << field << ": " << policy.error().message;
    }
    for (const std::string_view inner :
         {R"("triggers":{"hard":null})", R"("triggers":{"hard":null,"soft":null})",
          R"("triggers":{"hard":null,"soft":{"tokens":9}})",
          R"("triggers":{"hard":{"tokens":null},"soft":null})",
          R"("triggers":{"any":null,"tokens":9})", R"("target":{"tokens":9,"window_share":null})",
          R"("min_gain":{"tokens":9,"dollars":null})", R"("min_gain":{"tokens":null,"dollars":9})",
          R"("protect":{"turns":null,"roles":null,"tools":null,"first_user":null})",
          R"("injection":{"on":null,"max_age_days":null})", R"("recall":{"tokens":null})"}) {
        const auto policy =
            parse_policy(R"({"passes":[{"pass":"drop_oldest"}],)" + std::string(inner) + "}");
        EXPECT_TRUE(policy) << inner << ": " << policy.error().message;
    }
    for (const std::string_view field : {"target", "min_gain", "when"}) {
        const auto policy = parse_policy(R"({"passes":[{"pass":"drop_oldest",")" +
                                         std::string(field) + "\":null}]}");
        EXPECT_TRUE(policy) << field << ": " << policy.error().message;
    }
}

TEST(policy, null_is_absent_beside_the_fields_of_the_other_form) {
    const auto expanded = [](const char* policy) {
        const auto general = parse_policy(policy) ? expand_policy(policy) : std::string();
        return general ? *general : general.error().message;
    };
    EXPECT_EQ(expanded(R"({"mode":null,"passes":[{"pass":"fail"}],"token_budget":null})"),
              R"({"passes":[{"pass":"fail"}]})");
    for (const char* field : {"name", "triggers", "passes", "last_resort", "target", "min_gain",
                              "pays_within_calls", "protect", "window_tokens", "reply_tokens",
                              "injection", "token_budget", "strategy", "recall"})
        EXPECT_EQ(expanded((R"({"mode":"compact",")" + std::string(field) + "\":null}").c_str()),
                  expanded(R"({"mode":"compact"})"))
            << field;
    EXPECT_EQ(expanded(R"({"mode":null})"), expanded("{}"));
    EXPECT_FALSE(parse_policy(R"({"mode":"compact","passes":[]})"));
    EXPECT_FALSE(parse_policy(R"({"mode":"compact","target":5})"));
    EXPECT_FALSE(parse_policy(R"({"mode":"compact","nonsense":null})"));
    EXPECT_FALSE(parse_policy(R"({"passes":[{"pass":"fail"}],"nonsense":null})"));
}

TEST(policy, triggers_that_are_null_fire_nothing_and_leave_the_others) {
    const auto policy = parse_policy(
        R"({"passes":[{"pass":"drop_oldest"}],"triggers":{"hard":null,"soft":{"tokens":9}}})");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->hard.kind, Trigger::Kind::never);
    EXPECT_EQ(policy->soft.name, "tokens");
}

TEST(policy, without_passes_is_refused_also_when_they_are_null) {
    const auto policy = parse_policy(R"({"passes":null})");
    ASSERT_FALSE(policy);
    EXPECT_EQ(policy.error().param, "passes");
}

}  // namespace
}  // namespace palimpsest
