// The part `recall` of a policy, in a turn: what is quoted before a new question.
#pragma once
#include <optional>
#include <span>
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
// The conversation as the model will see it.
struct Sight {
    const Header& header;
    std::span<const Item> items = {};
    bool shows_all = false;  // nothing is out of the view
};
// Nothing is out of the view: the rule in most conversations, and found without reading.
bool shows_all(const HotView& view);
// By words and vectors where there is an embedder. It is not waited for longer than turn_patience,
// and passages that have no vector yet not at all.
Result<Recollected> recollect(Memory::State& state, const Sight& sight,
                              const std::vector<Said>& said, const RecallBudget& budget);

}  // namespace palimpsest
