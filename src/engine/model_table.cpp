#include "engine/model_table.h"

#include <algorithm>
#include <mutex>

namespace palimpsest {
namespace {

constexpr std::size_t names_max = 1000;  // Names come from clients.

// What is not said is as in the built-in row that the name would have had.
ModelSpec row_of(const OwnModel& own) {
    const ModelMatch named = find_model(own.name);
    ModelSpec row = named.known ? *named.spec : *find_model(own.same_as).spec;
    row.name = own.name;
    if (own.reply_tokens) row.reply_tokens = *own.reply_tokens;
    if (own.window_tokens) row.window_tokens = *own.window_tokens;
    if (own.output_tokens) row.output_tokens = *own.output_tokens;
    if (!own.reply_tokens) row.reply_tokens = std::min(row.reply_tokens, row.output_tokens);
    if (!own.encoding.empty()) {
        row.encoding = own.encoding;
        row.exact = own.encoding != "approx";
    }
    if (own.input_price) row.prices.input = *own.input_price;
    if (own.cached_price) row.prices.cached = *own.cached_price;
    if (own.cache_write_price) row.prices.cache_write = *own.cache_write_price;
    if (own.output_price) row.prices.output = *own.output_price;
    return row;
}

}  // namespace

std::string model_named_in(JsonValue body) {
    const auto model = body.find("model");
    return model && model->is_string() ? std::string(model->string()) : std::string();
}

ModelFacts facts_of(const ModelSpec& model) {
    return {.name = std::string(model.name),
            .input_price = model.prices.input,
            .cached_price = model.prices.cached,
            .cache_write_price = model.prices.cache_write,
            .output_price = model.prices.output,
            .cache_least_tokens = model.cache.least_tokens,
            .cache_step_tokens = model.cache.step_tokens,
            .cache_lifetime_s = model.cache.lifetime_s};
}

ModelTable::ModelTable(std::vector<OwnModel> own, Warn warn)
    : own_(std::move(own)), warn_(std::move(warn)) {
    for (const OwnModel& one : own_) rows_.push_back(row_of(one));
    rows_.insert(rows_.end(), model_table().begin(), model_table().end());
}

const ModelSpec& ModelTable::find(std::string_view name) const {
    {
        const std::shared_lock lock(mutex_);
        if (const auto found = found_.find(name); found != found_.end()) return *found->second;
    }
    const ModelMatch match = find_model(name, rows_);
    const bool is_new = remember(name, *match.spec);
    if (is_new && !match.known && !name.empty()) warn(name);
    return *match.spec;
}

std::string_view ModelTable::server_name(std::string_view name) const {
    const auto own = std::ranges::find(own_, name, &OwnModel::name);
    return own == own_.end() || own->same_as.empty() ? name : std::string_view(own->same_as);
}

bool ModelTable::remember(std::string_view name, const ModelSpec& spec) const {
    const std::unique_lock lock(mutex_);
    return found_.size() < names_max && found_.emplace(name, &spec).second;
}

void ModelTable::warn(std::string_view name) const {
    if (!warn_) return;
    const ModelSpec& spec = *find_model(name).spec;
    warn_("the model '" + std::string(name) + "' is not known: its window is taken to be " +
          std::to_string(spec.window_tokens) +
          " tokens; say [models.NAME] window in the settings file");
}

}  // namespace palimpsest
