// The chain of forks, walked once for all stores.
//
// A log owns the seqs above its base; its parent owns the rest. A read over a conversation is cut
// at each base and put together again, so that no store has to know about chains.
#pragma once
#include <optional>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// As Store::read, over all that the conversation can see. Cost: one read for each log that owns
// some of what is asked for.
Result<std::vector<Entry>> read_lineage(Store& store, const Header& header, const ReadQuery& query);

// One entry; not_found when there is none at that position.
Result<Entry> read_entry(Store& store, const Header& header, Seq seq);

// The newest entry of these kinds at or below `at`, without reading anything else.
Result<std::optional<Entry>> newest_entry(Store& store, const Header& header, Kinds kinds, Seq at,
                                          bool content = true);

// The header of the log in the chain that owns `seq`: the parent of a fork at that seq.
Result<Header> owner_of(Store& store, const Header& header, Seq seq);

// What a fork of `header` at `at` starts from. invalid_request when `at` is beyond its end.
Result<ForkPoint> fork_point(Store& store, const Header& header, Seq at);

}  // namespace palimpsest
