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

}  // namespace palimpsest
