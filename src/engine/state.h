// What a Memory holds: the store, how to count, and views that were used lately. The views are
// used only where the store has just said that they are still true, so several processes may work
// on one store.
#pragma once
#include <memory>

#include "base/replaceable.h"
#include "engine/calibrations.h"
#include "engine/hot_views.h"
#include "engine/measure.h"
#include "engine/meters.h"
#include "engine/model_table.h"
#include "engine/policies.h"
#include "engine/usage_totals.h"
#include "palimpsest/memory.h"

namespace palimpsest {

class StoreIndex;  // search/store_index.h

struct Memory::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();  // writes what waits: usage, samples

    MemoryOptions shared;  // what a Memory beside it has in common with it
    std::unique_ptr<Meters> meters;
    std::unique_ptr<Store> store;  // a MeteredStore
    std::shared_ptr<const Tokenizer> tokenizer;
    Clock clock;
    std::size_t message_bytes_max = 0;
    bool call_notes = true;
    Replaceable<ModelTable> models;
    Replaceable<std::vector<OwnModel>> own_models;  // the rows of it that were given
    ModelTable::Warn warn;
    std::unique_ptr<HotViews> hot;
    std::unique_ptr<Measures> measures;
    std::unique_ptr<Policies> policies;
    std::unique_ptr<StoreIndex> index;
    std::shared_ptr<Embedder> embedder;      // null: search compares words only
    std::shared_ptr<Summarizer> summarizer;  // null: the deterministic text of the plan
    Duration summary_deadline = {};
    bool background = false;
    Replaceable<std::vector<AgentSpec>> agents;
    Turns turns = Turns::allow;
    Duration turn_wait = {}, turn_lease = {};
    std::unique_ptr<UsageTotals> totals;
    std::unique_ptr<Calibrations> calibrations;
    std::function<void(std::string_view line)> log;
};

}  // namespace palimpsest
