#include "store/sweep_guard.h"

#include <time.h>

namespace palimpsest {

Duration running_time() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec / 1'000'000);
}

}  // namespace palimpsest
