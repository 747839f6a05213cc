// What is kept of a log's index as records of the store: one value, in parts that a record can
// hold. A copy of what can be made again: whatever does not fit together is as if it were not
// there.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// Which state of the log it was made from.
struct StoredState {
    std::uint64_t epoch = 0, upto = 0;
    std::uint64_t extra = 0;  // the owner's
};
struct StoredValue {
    StoredState state = {};
    std::string bytes = {};
};

constexpr std::string_view words_space = "search";
constexpr std::string_view vectors_space = "vectors";

std::optional<StoredValue> load_parts(Store& store, std::string_view space, const Header& header);
Result<void> save_parts(Store& store, std::string_view space, const Header& header,
                        const StoredState& state, std::string_view bytes);
// No byte of it stays in any file of the store.
Result<void> remove_parts(Store& store, std::string_view space, const std::string& tenant,
                          const LogId& log);

}  // namespace palimpsest
