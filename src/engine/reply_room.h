// How much of a model's window a request keeps free for the answer: the one rule of turns, of
// bodies that are compacted without a store, and of what the gateway edits on its way.
#pragma once
#include <string_view>

#include "base/json.h"
#include "palimpsest/compaction.h"
#include "token/models.h"

namespace palimpsest {

// Sets the budget's reply; its window is known by then. What the request itself asks for counts
// whatever it leaves; where it asks for nothing, what the model is given then, at most half.
void keep_reply_free(Budget& budget, JsonValue request, const ModelSpec& model);
// The same of a request's parameters as text; what cannot be read asks for nothing.
void keep_reply_free(Budget& budget, std::string_view parameters, const ModelSpec& model);

}  // namespace palimpsest
