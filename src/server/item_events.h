// item_events: an item that is there already, told as the events of a stream that brings it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

// `item` is JSON as it is shown. `sequence` is the number of the next event.
std::string write_item_events(std::string_view item, std::size_t output_index,
                              std::uint64_t& sequence);

}  // namespace palimpsest
