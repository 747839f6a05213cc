// What import and export share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// Tells on standard error what did not come along, a line for each.
void warn_of_losses(const std::string& what, const std::vector<std::string>& lost);

inline bool is_redis_url(std::string_view place) {
    return place.starts_with("redis://") || place.starts_with("rediss://");
}

}  // namespace palimpsest
