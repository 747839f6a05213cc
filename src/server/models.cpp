#include "server/models.h"

namespace palimpsest {

void Models::add(std::shared_ptr<Model> model) {
    all_.push_back(std::move(model));
}

Model* Models::find(std::string_view name) const {
    for (const auto& model : all_)
        if (model->name() == name) return model.get();
    for (const auto& model : all_)
        if (model->server_name() == name) return model.get();
    return nullptr;
}

Result<Model*> Models::choose(std::string_view name) const {
    if (name.empty()) return &first();
    if (Model* const found = find(name)) return found;
    if (any_name_) return &first();
    std::string names;
    for (const auto& model : all_)
        names += (names.empty() ? "" : ", ") + std::string(model->name());
    return fail(ErrorCode::not_found, "there is no such model here; there is: " + names, "model");
}

}  // namespace palimpsest
