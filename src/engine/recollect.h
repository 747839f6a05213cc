// The part `recall` of a policy, in a turn: what is quoted before a new question.
#pragma once
#include <optional>
#include <vector>

#include "core/recollect.h"
#include "engine/hot_views.h"
#include "engine/input.h"
#include "engine/state.h"

namespace palimpsest {

// None when nothing that is out of the view is about the question.
Result<std::optional<Said>> recollect(Memory::State& state, const HotView& view,
                                      const std::vector<Said>& said, const RecallBudget& budget);

}  // namespace palimpsest
