// A conversation's metadata: a JSON object of at most 64 KiB. Stores merge and filter by these
// rules.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/store.h"

namespace palimpsest {

constexpr std::size_t metadata_bytes_max = 64 * 1024;

// `patch`'s fields replace those of the same name, null removes them, the others stay in order.
// invalid_request when either is not a JSON object, too_large when the result is.
Result<std::string> merge_metadata(std::string_view old, std::string_view patch);

// What a filter compares: the top-level fields that are strings, numbers or booleans. A string
// stands for its text, the others for their JSON spelling.
std::map<std::string, std::string> labels_of(std::string_view metadata);

// Applies the patch and counts the revision up. Fails as merge_metadata does; `header` is then
// unchanged.
Result<void> apply_patch(Header& header, const HeaderPatch& patch);

}  // namespace palimpsest
