// What follows from the edits of a plan: what each of them replaces, frees and costs in the cache.
#pragma once
#include "core/plan.h"
#include "core/scan.h"

namespace palimpsest {

// Sets costs, tokens and the first change of the plan from its edits and the original items, and
// takes out the edits that nothing is left to do for. `in_order`: they stand in the order of their
// seqs.
void set_numbers(Plan& plan, const PlanInput& input, std::span<const ItemFacts> facts,
                 bool in_order);

// What the request takes before and after, and what was aimed at, for people.
std::string numbers_in_words(const Plan& plan);

// Whether the smaller requests make up, in time, for reading anew what stands behind the first byte
// changed; if not, the plan changes nothing and says why. Not asked when the request must shrink
// anyway, or when the cache has expired.
bool pays(Plan& plan, const Policy& policy, const Occasion& occasion);

}  // namespace palimpsest
