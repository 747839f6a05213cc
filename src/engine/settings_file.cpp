// The settings file: TOML, through toml++, which only this file includes.
#include "base/json.h"
#include "base/json_write.h"
#include "base/nearest.h"
#include "core/policy.h"
#include "engine/settings.h"
#include "model/dialects.h"
#include "palimpsest/format.h"
#include "token/models.h"

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
                    "o200k_base), prices (input, cached, cache_write, output), and where the model "
                    "is: url, format, model, key_env, key_file, headers, parameters, retries, "
                    "proxy, ca_file, connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms, "
                    "total_timeout_ms",
                "models");
}

// ---- where a model is ---------------------------------------------------------------------------

std::string json_of(const toml::node& node);

std::string json_of_table(const toml::table& table) {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    for (const auto& [key, value] : table) out.key(key.str()).raw(json_of(value));
    out.end_object();
    return json;
}

std::string json_of(const toml::node& node) {
    std::string json;
    JsonWriter out(json);
    if (const auto* table = node.as_table()) return json_of_table(*table);
    if (const auto* list = node.as_array()) {
        out.begin_array();
        for (const toml::node& element : *list) out.raw(json_of(element));
        out.end_array();
    } else if (const auto* number = node.as_integer()) {
        out.number(number->get());
    } else if (const auto* real = node.as_floating_point()) {
        out.number(real->get());
    } else if (const auto* toggle = node.as_boolean()) {
        out.boolean(toggle->get());
    } else {
        out.string(node.value<std::string>().value_or(""));
    }
    return json;
}

bool take_headers(const toml::node& node, Endpoint& endpoint) {
    if (!node.is_table()) return false;
    for (const auto& [key, value] : *node.as_table()) {
        if (!value.is_string()) return false;
        endpoint.headers.emplace_back(key.str(), value.as_string()->get());
    }
    return true;
}

bool take_format(const toml::node& node, Endpoint& endpoint) {
    const auto format = format_by_name(node.value_exact<std::string>().value_or(""));
    if (format) endpoint.format = *format;
    return format.has_value();
}

struct TextField {
    std::string_view key;
    std::string Endpoint::* field;
};
constexpr TextField text_fields[] = {
    {"url", &Endpoint::url},         {"model", &Endpoint::model},
    {"key_env", &Endpoint::key_env}, {"key_file", &Endpoint::key_file},
    {"ca_file", &Endpoint::ca_file}, {"proxy", &Endpoint::proxy},
};
struct NumberField {
    std::string_view key;
    int Endpoint::* field;
};
constexpr NumberField number_fields[] = {
    {"retries", &Endpoint::retries},
    {"connect_timeout_ms", &Endpoint::connect_timeout_ms},
    {"first_byte_timeout_ms", &Endpoint::first_byte_timeout_ms},
    {"idle_timeout_ms", &Endpoint::idle_timeout_ms},
    {"total_timeout_ms", &Endpoint::total_timeout_ms},
};

// None: it is no field of an endpoint. False: its value is wrong.
std::optional<bool> take_endpoint_field(std::string_view key, const toml::node& node,
                                        Endpoint& endpoint) {
    for (const TextField& row : text_fields)
        if (row.key == key) {
            endpoint.*(row.field) = node.value_exact<std::string>().value_or("");
            return !(endpoint.*(row.field)).empty();
        }
    for (const NumberField& row : number_fields)
        if (row.key == key) {
            const auto number = node.value_exact<std::int64_t>();
            if (!number || *number < 0 || *number > 86'400'000) return false;
            endpoint.*(row.field) = static_cast<int>(*number);
            return true;
        }
    if (key == "format") return take_format(node, endpoint);
    if (key == "headers") return take_headers(node, endpoint);
    if (key != "parameters") return std::nullopt;
    if (!node.is_table()) return false;
    endpoint.parameters = json_of_table(*node.as_table());
    return true;
}

// A name that nobody knows for a model that its server calls by one that is known: what is not said
// is that one's.
void inherit(OwnModel& model, const std::string& server_name) {
    if (server_name.empty() || find_model(model.name).known) return;
    const ModelMatch match = find_model(server_name);
    if (!match.known) return;
    const auto take = [](std::optional<double>& price, double known) {
        if (!price && known >= 0) price = known;
    };
    if (!model.window_tokens) model.window_tokens = match.spec->window_tokens;
    if (!model.output_tokens) model.output_tokens = match.spec->output_tokens;
    if (model.encoding.empty() && match.spec->exact) model.encoding = match.spec->encoding;
    take(model.input_price, match.spec->prices.input);
    take(model.cached_price, match.spec->prices.cached);
    take(model.cache_write_price, match.spec->prices.cache_write);
    take(model.output_price, match.spec->prices.output);
}

std::optional<std::uint32_t> limit_in(const Endpoint& endpoint) {
    const auto parameters = parse_json(endpoint.parameters);
    if (!parameters) return std::nullopt;
    for (const std::string_view name : {"max_completion_tokens", "max_output_tokens", "max_tokens"})
        if (const auto value = parameters->root().find(name))
            if (const auto number = value->integer(); number && *number > 0)
                return static_cast<std::uint32_t>(std::min<std::int64_t>(*number, UINT32_MAX));
    return std::nullopt;
}

// What its requests keep for an answer is what they ask for: by the parameters, or because their
// format insists on a limit. One that nobody set leaves half of a window that somebody did.
void set_limits(OwnModel& model, Endpoint& endpoint) {
    model.reply_tokens = limit_in(endpoint);
    if (dialect_of(endpoint.format).limit_field.empty()) return;
    const std::string& known_as = endpoint.model.empty() ? model.name : endpoint.model;
    std::uint32_t output = find_model(known_as).spec->output_tokens;
    if (model.window_tokens) output = std::min(output, std::max(*model.window_tokens / 2, 1u));
    endpoint.output_tokens = model.output_tokens.value_or(output);
    if (!model.reply_tokens) model.reply_tokens = endpoint.output_tokens;
}

// One [models.NAME].
Result<void> read_model(const std::string& name, const toml::table& fields, std::string_view file,
                        ModelSettings& settings) {
    OwnModel model{.name = name};
    Endpoint endpoint;
    endpoint.name = name;
    bool is_endpoint = false;
    for (const auto& [key, node] : fields) {
        const std::optional<bool> taken = take_endpoint_field(key.str(), node, endpoint);
        is_endpoint |= taken.has_value();
        if (taken.value_or(take_field(key.str(), node, model))) continue;
        return bad_model(
            file, node,
            "models." + name + "." + std::string(key.str()) + " is unknown or has a wrong value");
    }
    model.same_as = endpoint.model;
    if (is_endpoint) set_limits(model, endpoint);
    inherit(model, endpoint.model);
    settings.models.push_back(std::move(model));
    if (is_endpoint) settings.endpoints.push_back(std::move(endpoint));
    return {};
}

bool take_agent_field(std::string_view key, const toml::node& node, AgentSpec& agent) {
    if (key == "memory_strategy") {
        const auto* table = node.as_table();
        agent.policy = table ? json_of_table(*table) : node.value_exact<std::string>().value_or("");
        return check_policy_size(agent.policy) && parse_policy(agent.policy);
    }
    if (key != "model" && key != "system_prompt") return false;
    std::string& field = key == "model" ? agent.model : agent.system_prompt;
    field = node.value_exact<std::string>().value_or("");
    return !field.empty();
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
        // read_model_settings(), read_agent_settings()
        if (key.str() == "models" || key.str() == "agents") continue;
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

Result<std::vector<AgentSpec>> read_agent_settings(std::string_view text, std::string_view file) {
    const toml::parse_result parsed = toml::parse(text, file);
    std::vector<AgentSpec> agents;
    const toml::node* all = parsed ? parsed.table().get("agents") : nullptr;
    if (!all) return agents;
    const auto bad = [&](const toml::node& node, const std::string& what) {
        return fail(ErrorCode::invalid_request,
                    place(file, node.source()) + ": " + what +
                        "; a table [agents.KEY] has model, system_prompt and memory_strategy",
                    "agents");
    };
    if (!all->is_table()) return bad(*all, "agents is no table");
    for (const auto& [name, fields] : *all->as_table()) {
        if (!fields.is_table()) return bad(fields, std::string(name.str()) + " is no table");
        AgentSpec& agent = agents.emplace_back(AgentSpec{.key = std::string(name.str())});
        for (const auto& [key, node] : *fields.as_table())
            if (!take_agent_field(key.str(), node, agent))
                return bad(node, "agents." + agent.key + "." + std::string(key.str()) +
                                     " is unknown or has a wrong value");
    }
    return agents;
}

std::string table_in_file(std::string_view text, std::string_view name) {
    const toml::parse_result parsed = toml::parse(text);
    const toml::table* table = parsed ? parsed.table()[name].as_table() : nullptr;
    return table ? json_of_table(*table) : std::string();
}

Result<ModelSettings> read_model_settings(std::string_view text, std::string_view file) {
    const toml::parse_result parsed = toml::parse(text, file);
    ModelSettings settings;
    const toml::node* all = parsed ? parsed.table().get("models") : nullptr;
    if (!all) return settings;
    if (!all->is_table()) return bad_model(file, *all, "models is no table");
    for (const auto& [name, fields] : *all->as_table()) {
        if (!fields.is_table())
            return bad_model(file, fields, std::string(name.str()) + " is no table");
        PAL_CHECK(read_model(std::string(name.str()), *fields.as_table(), file, settings));
    }
    return settings;
}

}  // namespace palimpsest
