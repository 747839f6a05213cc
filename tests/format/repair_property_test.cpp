// What holds for every history, however broken.
#include <gtest/gtest.h>

#include "format/random_history.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

std::string shown(const std::vector<Violation>& violations) {
    std::string out;
    for (const Violation& violation : violations)
        if (violation.severity != Severity::tolerate)
            out += std::string(violation.rule) + " at " + std::to_string(violation.at) + ": " +
                   violation.message + "\n";
    return out;
}

void check_history(FormatId format, const std::string& json, const CheckOptions& options) {
    const auto before = validate_json(format, json, options);
    ASSERT_TRUE(before) << before.error().message;
    const auto once = repair_json(format, json, options);
    ASSERT_TRUE(once) << once.error().message;
    const auto after = validate_json(format, once->json, options);
    ASSERT_TRUE(after);
    ASSERT_EQ(shown(*after), "") << json << "\n" << once->json;
    ASSERT_EQ(once->notes.empty(), is_sendable(*before)) << json << "\n" << once->json;
    ASSERT_EQ(once->json == json, is_sendable(*before));
    const auto twice = repair_json(format, once->json, options);
    ASSERT_EQ(twice->json, once->json);
}

}  // namespace

class repair_property : public testing::TestWithParam<FormatId> {};

TEST_P(repair_property, any_history_becomes_sendable_once_and_for_all) {
    for (unsigned seed = 0; seed < 1000; ++seed) {
        test::RandomHistory history(GetParam(), seed + 1);
        ASSERT_NO_FATAL_FAILURE(check_history(GetParam(), history.json(), {})) << seed;
    }
}

TEST_P(repair_property, also_with_a_live_end_and_a_log) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        const std::string said = test::RandomHistory(GetParam(), seed + 7000).json();
        const auto log = read_messages(GetParam(), make_bytes(said));
        ASSERT_TRUE(log);
        const std::string json = test::RandomHistory(GetParam(), seed + 9000).json();
        ASSERT_NO_FATAL_FAILURE(check_history(GetParam(), json, {.open_end = true})) << seed;
        ASSERT_NO_FATAL_FAILURE(check_history(
            GetParam(), json, {.model = "a", .reasoning_model = "b", .continued = seed % 2 == 0}))
            << seed;
        const auto restored = repair_json(GetParam(), json, {.log = *log});
        ASSERT_TRUE(restored);
        ASSERT_EQ(shown(*validate_json(GetParam(), restored->json)), "") << json << "\n"
                                                                         << restored->json;
    }
}

INSTANTIATE_TEST_SUITE_P(formats, repair_property,
                         testing::Values(FormatId::openai_chat, FormatId::openai_responses,
                                         FormatId::anthropic),
                         [](const auto& each) { return std::string(format_name(each.param)); });
