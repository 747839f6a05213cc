// The parts of the list, one file each. conformance.cpp puts them together in this order.
#pragma once
#include <span>

#include "palimpsest/conformance.h"

namespace palimpsest {

std::span<const ConformanceCheck> name_checks();
std::span<const ConformanceCheck> append_checks();
std::span<const ConformanceCheck> key_checks();
std::span<const ConformanceCheck> header_checks();
std::span<const ConformanceCheck> read_checks();
std::span<const ConformanceCheck> list_checks();
std::span<const ConformanceCheck> fork_checks();
std::span<const ConformanceCheck> checkpoint_checks();
std::span<const ConformanceCheck> scrub_checks();
std::span<const ConformanceCheck> erase_checks();
std::span<const ConformanceCheck> repeat_checks();
std::span<const ConformanceCheck> expiry_checks();
std::span<const ConformanceCheck> record_checks();
std::span<const ConformanceCheck> thread_checks();
std::span<const ConformanceCheck> reopen_checks();

}  // namespace palimpsest
