// One walk over the items of a view. Items lie far apart in memory: what planning asks of each of
// them again and again is put next to each other here.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/view.h"

namespace palimpsest {

struct ItemFacts {
    Seq from = {};  // of its range
    std::uint32_t tokens = 0;
    Treatment treatment = Treatment::verbatim;  // folded: it is a summary
    Role role = Role::user;
    bool pinned = false, reasoning = false;
    bool starts_turn = false;
    bool answers = false;  // an assistant's message without calls
    bool results = false;  // it carries results of tools
};

struct Scan {
    std::vector<ItemFacts> facts = {};  // by item
    std::vector<Group> groups = {};
    std::vector<Turn> turns = {};
    bool in_order = true;  // items stand in the order of their seqs
};
Scan scan_items(std::span<const Item> items);

std::vector<Turn> turns_of(std::span<const ItemFacts> facts, std::span<const Group> groups);

// The ranges of ascending indexes into items that are in order: what stands next to each other is
// one range, with the gaps in between, which hold nothing that is shown.
std::vector<Range> runs_of(std::span<const Item> items, std::span<const std::size_t> chosen);

}  // namespace palimpsest
