#include "server/models.h"

#include <utility>

namespace palimpsest {

void Models::add(std::shared_ptr<Model> model) {
    Table table = **table_;
    table.models.push_back(std::move(model));
    table_->replace(std::make_unique<Table>(std::move(table)));
}

void Models::answer_to_any_name() {
    Table table = **table_;
    table.any_name = true;
    table_->replace(std::make_unique<Table>(std::move(table)));
}

void Models::replace(const Models& others) {
    table_->replace(std::make_unique<Table>(**others.table_));
}

Model* Models::find(const Table& table, std::string_view name) {
    for (const auto& model : table.models)
        if (model->name() == name) return model.get();
    for (const auto& model : table.models)
        if (model->server_name() == name) return model.get();
    return nullptr;
}

Model* Models::find(std::string_view name) const {
    return find(**table_, name);
}

Result<Model*> Models::choose(std::string_view name) const {
    const Table& table = **table_;  // One and the same, whatever is replaced meanwhile.
    if (name.empty()) return table.models.front().get();
    if (Model* const found = find(table, name)) return found;
    if (table.any_name) return table.models.front().get();
    std::string names;
    for (const auto& model : table.models)
        names += (names.empty() ? "" : ", ") + std::string(model->name());
    return fail(ErrorCode::not_found, "there is no such model here; there is: " + names, "model");
}

}  // namespace palimpsest
