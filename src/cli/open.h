// Opening what the settings name.
#pragma once
#include <memory>

#include "engine/settings.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

// For conversations whose request, header and agent name none: what `pal serve` compacts them by,
// so that every command tells of them what the server will do.
constexpr std::string_view default_policy = "balanced";

// The store of the settings, or the server that holds it; `options` get the settings' key. Who may
// not make a store does not encrypt one either: one that is empty and not encrypted is opened as it
// lies there. Others open with the key, or not at all.
Result<std::unique_ptr<Store>> open_store_of(const Settings& settings, StoreOptions& options);

// Through the running server, when one holds the store and we are none ourselves.
// `memory` brings what the settings do not say.
Result<Memory> open_memory(const Settings& settings, StoreOptions options,
                           MemoryOptions memory = {});
Result<std::unique_ptr<Model>> open_model(const Settings& settings);
// An answer is no longer than a message may be.
Result<std::unique_ptr<Model>> open_endpoint(const Settings& settings, Endpoint endpoint);

}  // namespace palimpsest
