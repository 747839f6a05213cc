// The part `recall` of a policy, in a turn: what is quoted before a new question.
#pragma once
#include <optional>
#include <vector>

#include "core/recollect.h"
#include "engine/hot_views.h"
#include "engine/input.h"
#include "engine/state.h"

namespace palimpsest {

struct Recollected {
    std::optional<Said> quotation = {};  // none when nothing out of the view is about the question
    std::string warning = {};            // why words alone were compared
};
// By words and vectors where there is an embedder. It is not waited for longer than turn_patience,
// and passages that have no vector yet not at all.
Result<Recollected> recollect(Memory::State& state, const HotView& view,
                              const std::vector<Said>& said, const RecallBudget& budget);

}  // namespace palimpsest
