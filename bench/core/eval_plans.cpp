// Properties of plans over a million random logs, policies and budgets (or as many as are asked
// for): the same cases that the tests run thousands of.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../../tests/scenarios/random_plan.h"

using namespace palimpsest;

int main(int argc, char** argv) {
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::map<PlanOutcome, std::uint64_t> outcomes;
    std::uint64_t faults = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        PlanOutcome outcome = PlanOutcome::not_due;
        const std::string fault = check_case(seed, &outcome);
        ++outcomes[outcome];
        if (fault.empty()) continue;
        if (++faults <= 20)
            std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(seed), fault.c_str(),
                        CaseMaker(seed).make().policy.c_str());
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%llu random cases in %.0f s, %llu faults;", static_cast<unsigned long long>(count),
                took.count(), static_cast<unsigned long long>(faults));
    for (const auto& [outcome, times] : outcomes)
        std::printf(" %s %llu", std::string(outcome_name(outcome)).c_str(),
                    static_cast<unsigned long long>(times));
    std::puts("");
    return faults == 0 ? 0 : 1;
}
