// models: the models that clients can ask for, by the names that they use.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/replaceable.h"
#include "palimpsest/error.h"
#include "palimpsest/model.h"

namespace palimpsest {

// Copies are the same models, also after a replace. A model lives as long as one of them, so
// pointers to it stay good when it is no longer among those that can be asked.
class Models {
public:
    using List = std::vector<std::shared_ptr<Model>>;

    Models() { table_->replace(std::make_unique<Table>()); }

    // The first model answers where a request names none. Before the server runs.
    void add(std::shared_ptr<Model> model);
    // A name that nobody has means the first model, too. Before the server runs.
    void answer_to_any_name();
    // From any thread: `others` are those that can be asked from now on.
    void replace(const Models& others);

    bool empty() const { return all().empty(); }
    const List& all() const { return (*table_)->models; }
    Model& first() const { return *all().front(); }

    // By the name that our users know, else by the one that its server has for it; null: none.
    Model* find(std::string_view name) const;
    // The same; the first one for an empty name, not_found with the names that there are.
    Result<Model*> choose(std::string_view name) const;

private:
    struct Table {
        List models = {};
        bool any_name = false;
    };
    static Model* find(const Table& table, std::string_view name);

    std::shared_ptr<Replaceable<Table>> table_ = std::make_shared<Replaceable<Table>>();
};

}  // namespace palimpsest
