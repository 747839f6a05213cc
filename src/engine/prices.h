// What a call costs by the prices of its model.
#pragma once
#include "palimpsest/memory.h"
#include "token/models.h"

namespace palimpsest {

// Dollars. Cached tokens and those written to a cache cost what others do where they have no price
// of their own; what has none at all costs nothing.
double price_of(const ModelSpec& model, const Usage& usage);

}  // namespace palimpsest
