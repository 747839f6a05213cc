// The settings file: TOML, through toml++, which only this file includes.
#include "base/nearest.h"
#include "engine/settings.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace palimpsest {
namespace {

std::string place(std::string_view file, const toml::source_region& source) {
    return std::string(file) + " line " + std::to_string(source.begin.line);
}

const Setting* find_setting(std::string_view name) {
    for (const Setting& setting : setting_table())
        if (setting.name == name && name != "config") return &setting;
    return nullptr;
}

std::unexpected<Error> unknown_key(std::string_view key, const std::string& origin) {
    std::vector<std::string_view> known;
    for (const Setting& setting : setting_table())
        if (setting.name != "config") known.push_back(setting.name);
    const std::string_view nearest = nearest_name(key, known);
    std::string message = origin + ": there is no setting \"" + std::string(key) + "\"";
    if (!nearest.empty())
        message += "; did you mean " + std::string(nearest) + "?";
    else
        message += "; `pal help settings` lists them";
    return fail(ErrorCode::invalid_request, std::move(message), std::string(key));
}

// The value as a flag would have it; none when it is of the wrong type for the setting.
std::optional<std::string> text_of(const Setting& setting, const toml::node& node) {
    const bool number = setting.kind == SettingKind::number || setting.kind == SettingKind::size;
    if (const auto* integer = node.as_integer())
        return number ? std::optional(std::to_string(integer->get())) : std::nullopt;
    if (const auto* toggle = node.as_boolean())
        return setting.kind == SettingKind::toggle
                   ? std::optional<std::string>(toggle->get() ? "true" : "false")
                   : std::nullopt;
    const auto* text = node.as_string();
    const bool takes_text =
        setting.kind != SettingKind::number && setting.kind != SettingKind::toggle;
    return text && takes_text ? std::optional(text->get()) : std::nullopt;
}

// One key of a [models.NAME] table; false when it is unknown or of the wrong type or size.
bool take_number(const toml::node& node, std::optional<std::uint32_t>& into) {
    const auto number = node.value_exact<std::int64_t>();
    if (!number || *number < 1 || *number > UINT32_MAX) return false;
    into = static_cast<std::uint32_t>(*number);
    return true;
}

bool take_prices(const toml::node& node, OwnModel& model) {
    if (!node.is_table()) return false;
    for (const auto& [key, value] : *node.as_table()) {
        const auto price = value.value<double>();
        if (!value.is_number() || !price || !(*price >= 0)) return false;
        if (key.str() == "input")
            model.input_price = price;
        else if (key.str() == "cached")
            model.cached_price = price;
        else if (key.str() == "cache_write")
            model.cache_write_price = price;
        else if (key.str() == "output")
            model.output_price = price;
        else
            return false;
    }
    return true;
}

bool take_encoding(const toml::node& node, OwnModel& model) {
    model.encoding = node.value_exact<std::string>().value_or("");
    return open_tokenizer(model.encoding).has_value();
}

bool take_field(std::string_view key, const toml::node& node, OwnModel& model) {
    if (key == "window") return take_number(node, model.window_tokens);
    if (key == "output") return take_number(node, model.output_tokens);
    if (key == "encoding") return take_encoding(node, model);
    return key == "prices" && take_prices(node, model);
}

std::unexpected<Error> bad_model(std::string_view file, const toml::node& node,
                                 const std::string& what) {
    return fail(ErrorCode::invalid_request,
                place(file, node.source()) + ": " + what +
                    "; a table [models.NAME] has window and output (tokens), encoding (such as "
                    "o200k_base) and prices (input, cached, cache_write, output)",
                "models");
}

}  // namespace

Result<std::vector<SettingValue>> read_settings_file(std::string_view text, std::string_view file) {
    const toml::parse_result parsed = toml::parse(text, file);
    if (!parsed)
        return fail(ErrorCode::invalid_request,
                    place(file, parsed.error().source()) +
                        ": this is not TOML: " + std::string(parsed.error().description()),
                    "config");
    std::vector<SettingValue> values;
    for (const auto& [key, node] : parsed.table()) {
        if (key.str() == "models") continue;  // read_model_settings()
        const std::string origin = place(file, node.source());
        const Setting* setting = find_setting(key.str());
        if (!setting) return unknown_key(key.str(), origin);
        auto value = text_of(*setting, node);
        if (!value)
            return fail(ErrorCode::invalid_request,
                        origin + ": " + std::string(setting->name) + " must be " +
                            setting_allowed(*setting),
                        std::string(setting->name));
        values.push_back({std::string(setting->name), *std::move(value), origin});
    }
    return values;
}

Result<std::vector<OwnModel>> read_model_settings(std::string_view text, std::string_view file) {
    const toml::parse_result parsed = toml::parse(text, file);
    std::vector<OwnModel> models;
    const toml::node* all = parsed ? parsed.table().get("models") : nullptr;
    if (!all) return models;
    if (!all->is_table()) return bad_model(file, *all, "models is no table");
    for (const auto& [name, fields] : *all->as_table()) {
        OwnModel model{.name = std::string(name.str())};
        if (!fields.is_table()) return bad_model(file, fields, model.name + " is no table");
        for (const auto& [key, node] : *fields.as_table())
            if (!take_field(key.str(), node, model))
                return bad_model(file, node,
                                 "models." + model.name + "." + std::string(key.str()) +
                                     " is unknown or has a wrong value");
        models.push_back(std::move(model));
    }
    return models;
}

}  // namespace palimpsest
