// Opening what the settings name.
#pragma once
#include <memory>

#include "engine/settings.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

// Through the running server, when one holds the store and we are none ourselves.
// `memory` brings what the settings do not say.
Result<Memory> open_memory(const Settings& settings, StoreOptions options,
                           MemoryOptions memory = {});
Result<std::unique_ptr<Model>> open_model(const Settings& settings);

}  // namespace palimpsest
