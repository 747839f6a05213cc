// The edits of a portable state that keeps its log: what the view makes of the messages, by index.
// One compaction after the other, as they were made:
//     "compactions":[[{"kind":"folded","from":0,"to":5,"text":"...","reason","pass"},
//                     {"kind":"cleared","from":7,"to":7,"message":{...},"reason","pass"}]]
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/entry.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct StateEdit {
    Treatment treatment = Treatment::dropped;
    std::size_t from = 0, to = 0;  // messages, inclusive
    std::string result = {};       // a raw message of the state's format, or a summary's text
    std::string reason = {}, pass = {};
};
using StateCompaction = std::vector<StateEdit>;

// `compactions` of a state with that many messages; invalid_request says which edit cannot be.
Result<std::vector<StateCompaction>> read_compactions(JsonValue list, std::size_t messages);
void write_compactions(JsonWriter& out, const std::vector<StateCompaction>& compactions);

// Message i stands at seq i + 1.
std::vector<Edit> edits_of(const StateCompaction& compaction, FormatId format);

// A whole number from 0 to below `limit`.
std::optional<std::size_t> index_of(const std::optional<JsonValue>& value, std::size_t limit);

}  // namespace palimpsest
