// The one list, and running one check of it.
#include "palimpsest/conformance.h"

#include <exception>
#include <vector>

#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

std::vector<ConformanceCheck> all_checks() {
    std::vector<ConformanceCheck> all;
    for (const auto part :
         {name_checks(), append_checks(), key_checks(), header_checks(), read_checks(),
          list_checks(), fork_checks(), checkpoint_checks(), scrub_checks(), erase_checks(),
          repeat_checks(), expiry_checks(), record_checks(), thread_checks(), reopen_checks()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace

std::span<const ConformanceCheck> conformance_checks() {
    static const std::vector<ConformanceCheck> all = all_checks();
    return all;
}

CheckResult run_check(const ConformanceCheck& check, const StoreUnderTest& store) {
    const bool time =
        check.needs == CheckNeeds::clock || check.needs == CheckNeeds::clock_and_reopening;
    const bool reopening =
        check.needs == CheckNeeds::reopening || check.needs == CheckNeeds::clock_and_reopening;
    if (time && !store.advance_clock)
        return {CheckOutcome::skipped, "needs a clock that can be moved"};
    if (reopening && !store.persistent)
        return {CheckOutcome::skipped, "needs a store that keeps its data when closed"};
    try {
        Probe probe(store);
        check.body(probe);
        return {};
    } catch (const Unmet& failure) {
        return {CheckOutcome::failed, failure.message};
    } catch (const std::exception& thrown) {
        return {CheckOutcome::failed, std::string("the store threw: ") + thrown.what()};
    }
}

}  // namespace palimpsest
