// The part `recall` of a policy: how much may come back beside a new question; see recollect.h.
#pragma once
#include <cstdint>

namespace palimpsest {

struct RecallBudget {
    std::uint64_t tokens = 0;  // 0: off
    double least_share = 0.5;  // of the best one's score: what is worse is left out
};

}  // namespace palimpsest
