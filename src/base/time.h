// Times as people and JSON write them: RFC 3339, always with a zone, milliseconds kept.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

std::string format_time(Time time);  // "2026-11-15T09:30:00.125Z"
Result<Time> parse_time(std::string_view text);
// "90s", "15m", "24h", "7d", "250ms"; 0 and negative ones are refused.
Result<Duration> parse_duration(std::string_view text);

}  // namespace palimpsest
