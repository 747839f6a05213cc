// The compiled tables inside the binary, used in place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

// Character classes: 0x1100 block numbers, then blocks of 256 classes (see table_layout.h).
extern "C" __attribute__((visibility("hidden"))) const std::uint8_t pal_table_classes[];

namespace palimpsest {

// The table of a vocabulary ("o200k_base"), or nullptr. Aligned to 64 bytes; lives for ever.
const std::byte* vocabulary_table(std::string_view name);

}  // namespace palimpsest
