// What a round of edits makes of the items, and of what the request takes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan_draft.h"

namespace palimpsest {

// The items after the edits: rewritten ones in their places, a summary in the place of the first
// that it stands for.
std::vector<Item> items_after(std::span<const Item> items, const std::vector<PlanDraft::Made>& made,
                              const MessageTools* tools);

std::uint64_t used_after(std::uint64_t used, const std::vector<PlanDraft::Made>& made,
                         std::uint32_t per_message);

}  // namespace palimpsest
