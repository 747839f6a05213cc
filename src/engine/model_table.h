// The models that a Memory knows: the built-in table, with the rows that the user changed or added
// before it. Warns of each unknown model once.
#pragma once
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/memory.h"
#include "token/models.h"

namespace palimpsest {

class ModelTable {
public:
    using Warn = std::function<void(std::string_view message)>;
    ModelTable(std::vector<OwnModel> own, Warn warn);

    // Never null. A model that nobody knows gets a small window and a wasteful vocabulary.
    const ModelSpec& find(std::string_view name) const;
    // The same, and whether it is known; nobody is warned.
    ModelMatch match(std::string_view name) const { return find_model(name, rows_); }

private:
    void warn_once(std::string_view name) const;

    const std::vector<OwnModel> own_;  // The rows look into these.
    std::vector<ModelSpec> rows_;
    Warn warn_;
    mutable std::mutex mutex_;  // Guards warned_.
    mutable std::set<std::string, std::less<>> warned_;
};

// What the planner asks of a model.
ModelFacts facts_of(const ModelSpec& model);

}  // namespace palimpsest
