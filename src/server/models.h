// models: the models that clients can ask for, by the names that they use.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/model.h"

namespace palimpsest {

// Immutable once the server runs. Copies share the models.
class Models {
public:
    // The first model answers where a request names none.
    void add(std::shared_ptr<Model> model);
    // A name that nobody has means the first model, too.
    void answer_to_any_name() { any_name_ = true; }
    bool empty() const { return all_.empty(); }
    const std::vector<std::shared_ptr<Model>>& all() const { return all_; }
    Model& first() const { return *all_.front(); }

    // By the name that our users know, else by the one that its server has for it; null: none.
    Model* find(std::string_view name) const;
    // The same; the first one for an empty name, not_found with the names that there are.
    Result<Model*> choose(std::string_view name) const;

private:
    std::vector<std::shared_ptr<Model>> all_;
    bool any_name_ = false;
};

}  // namespace palimpsest
