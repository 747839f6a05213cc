// The conformance suite: what every store must do, as one list of small checks. Link the library
// pal_conformance, hand each check a store of yours, and report what comes back:
//
//     for (const ConformanceCheck& check : conformance_checks()) {
//         StoreUnderTest mine = /* a fresh, empty store for every check */;
//         CheckResult result = run_check(check, mine);
//         if (result.outcome == CheckOutcome::failed) std::cerr << check.name << result.message;
//     }
//
// A check calls the store through the port only, from several threads where that is its subject. It
// throws nothing, and turns what a store throws into a failure.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

struct StoreUnderTest {
    // Opens the store. Where `persistent`, opening again after closing gives the same data.
    std::function<Result<std::unique_ptr<Store>>()> open = {};
    bool persistent = false;
    // Moves the clock that the store was opened with. Empty: checks about time are skipped.
    std::function<void(Duration)> advance_clock = {};
};

enum class CheckOutcome : std::uint8_t { passed, failed, skipped };
struct CheckResult {
    CheckOutcome outcome = CheckOutcome::passed;
    std::string message = {};  // what failed, with file and line; or why it was skipped
};

enum class CheckNeeds : std::uint8_t { nothing, clock, reopening, clock_and_reopening };

class Probe;  // what a check works with; see src/store/conformance/probe.h
struct ConformanceCheck {
    std::string_view name = {};  // a sentence, with underscores
    void (*body)(Probe&) = nullptr;
    CheckNeeds needs = CheckNeeds::nothing;
};
std::span<const ConformanceCheck> conformance_checks();

CheckResult run_check(const ConformanceCheck& check, const StoreUnderTest& store);

}  // namespace palimpsest
