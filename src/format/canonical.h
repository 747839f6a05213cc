// One spelling for every JSON value, so that equal values have equal bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

// lasting: without the fields that differ between two copies of the same thing.
enum class JsonKeep : std::uint8_t { all, lasting };

// Appends `json` with keys sorted, no white space and one spelling of every string; numbers keep
// theirs. Text that is not JSON is appended as it is.
void append_canonical(std::string& out, std::string_view json, JsonKeep keep);

}  // namespace palimpsest
