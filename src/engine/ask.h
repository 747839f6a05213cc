// ask: one call of a model, as the answer that `finish` stores.
#pragma once
#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

Result<Answer> ask_model(Model& model, const ModelRequest& request, const OnText& on_text);

}  // namespace palimpsest
