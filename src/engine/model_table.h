// The models that a Memory knows: the built-in table, with the rows that the user changed or added
// before it. Warns of each unknown model once.
#pragma once
#include <functional>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
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
    // What its server calls it, as far as the rows say.
    std::string_view server_name(std::string_view name) const;
    // The same as find(), and whether it is known; nobody is warned.
    ModelMatch match(std::string_view name) const { return find_model(name, rows_); }

private:
    bool remember(std::string_view name, const ModelSpec& spec) const;  // false: no longer new
    void warn(std::string_view name) const;

    const std::vector<OwnModel> own_;  // The rows look into these.
    std::vector<ModelSpec> rows_;
    Warn warn_;
    // Names that were asked for: a turn asks for one about twenty times, and a search is long.
    mutable std::shared_mutex mutex_;
    mutable std::map<std::string, const ModelSpec*, std::less<>> found_;  // guarded by mutex_
};

// The model that the body of a request names; empty where it names none.
std::string model_named_in(JsonValue body);

// What the planner asks of a model.
ModelFacts facts_of(const ModelSpec& model);

}  // namespace palimpsest
