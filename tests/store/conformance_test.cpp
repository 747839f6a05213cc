// The conformance suite over every row of store_kinds(). A new row is covered as soon as it says
// in stores_under_test.cpp where its data lies; until then its checks fail.
#include "palimpsest/conformance.h"

#include <gtest/gtest.h>

#include <set>

#include "store/stores_under_test.h"

namespace palimpsest {
namespace {

struct Case {
    std::string_view scheme;
    const ConformanceCheck* check;
};

bool needs_reopening(const ConformanceCheck& check) {
    return check.needs == CheckNeeds::reopening || check.needs == CheckNeeds::clock_and_reopening;
}

// A store that ends with its process has nothing to reopen: those checks are not asked of it.
std::vector<Case> cases() {
    std::vector<Case> all;
    for (const std::string_view scheme : stores_under_test())
        for (const ConformanceCheck& check : conformance_checks())
            if (!needs_reopening(check) || is_persistent(scheme)) all.push_back({scheme, &check});
    return all;
}
void PrintTo(const Case& of, std::ostream* out) {
    *out << of.scheme << " " << of.check->name;
}

class Conformance : public testing::TestWithParam<Case> {};

TEST_P(Conformance, holds) {
    TestStore store(GetParam().scheme);
    const CheckResult result = run_check(*GetParam().check, store.under_test());
    EXPECT_EQ(result.outcome, CheckOutcome::passed) << result.message;
}

std::string case_name(const testing::TestParamInfo<Case>& of) {
    return std::string(of.param.scheme) + "_" + std::string(of.param.check->name);
}
INSTANTIATE_TEST_SUITE_P(stores, Conformance, testing::ValuesIn(cases()), case_name);

TEST(conformance_list, names_every_check_once) {
    std::set<std::string_view> names;
    for (const ConformanceCheck& check : conformance_checks())
        EXPECT_TRUE(names.insert(check.name).second) << check.name;
}

TEST(conformance_list, skips_checks_of_time_for_a_store_without_a_clock) {
    const StoreUnderTest store{.open = [] { return open_store("memory:"); }};
    std::size_t skipped = 0;
    for (const ConformanceCheck& check : conformance_checks())
        if (check.needs != CheckNeeds::nothing)
            skipped += run_check(check, store).outcome == CheckOutcome::skipped ? 1 : 0;
    EXPECT_GT(skipped, 30U);
}

TEST(conformance_list, fails_a_store_that_cannot_be_opened) {
    const StoreUnderTest store{.open = [] { return open_store("nowhere:"); }};
    EXPECT_EQ(run_check(conformance_checks().front(), store).outcome, CheckOutcome::failed);
}

}  // namespace
}  // namespace palimpsest
