// The two things of the outside world that nearly everything needs: what time it is, and luck.
// Pure folders are handed both and include neither.
#pragma once
#include <cstdint>

#include "palimpsest/types.h"

namespace palimpsest {

Time system_now();
// From the operating system's generator; aborts if there is none.
LogId random_log_id();
std::uint64_t random_u64();

}  // namespace palimpsest
