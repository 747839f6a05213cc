// Reading around damage, and what stands in for what is lost.
#pragma once
#include <optional>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct LostEntry {
    Seq seq = {};
    std::optional<Entry> rest = {};  // all but its content, where only that is damaged
};
struct ReadAround {
    std::vector<Entry> entries = {};
    std::vector<LostEntry> lost = {};
    std::optional<Error> error = {};  // the first one; there is one when something is lost
};
// The entries of the range, which the log owns. Fails only for other reasons than damage.
Result<ReadAround> read_around(Store& store, const Header& header, Range range, bool content);

// One draft for each, of which so many are messages.
Result<std::vector<Draft>> stand_ins(const std::vector<LostEntry>& lost, std::uint64_t messages,
                                     Time at);
bool may_stand_in(const Body& body);

}  // namespace palimpsest
