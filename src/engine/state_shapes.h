// The shapes of a portable state: what stands in the bytes, read and written. See chat.h.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/state_edits.h"
#include "palimpsest/chat.h"

namespace palimpsest {

struct StateParts {
    std::vector<std::string> messages = {};  // raw, of the state's format
    std::vector<std::size_t> pinned = {};
    std::vector<std::pair<std::size_t, std::string>> summaries = {};  // index, text
    std::vector<StateCompaction> compactions = {};                    // of a whole log
    std::size_t processed = 0;                                        // that a model has seen
    std::string provider = {};                                        // as it was read
    StateShape shape = StateShape::own;                               // as it was read
};

// Bytes that cannot be taken as they are, are treated as the options say, and reported.
Result<StateParts> read_state(std::string_view state, FormatId format, const StateOptions& options,
                              StateReport& report);
Result<std::string> write_state(const StateParts& parts, FormatId format,
                                const StateOptions& options, StateReport& report);

}  // namespace palimpsest
