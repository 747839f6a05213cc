// Times as the whole milliseconds since 1970 that stores keep.
#pragma once
#include <cstdint>

#include "palimpsest/types.h"

namespace palimpsest {

inline std::int64_t ms_of(Time time) {
    return time.time_since_epoch().count();
}
inline Time time_of(std::int64_t ms) {
    return Time(std::chrono::milliseconds(ms));
}

}  // namespace palimpsest
