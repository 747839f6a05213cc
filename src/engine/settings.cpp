#include "engine/settings.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/nearest.h"

namespace palimpsest {
namespace {

constexpr std::uint64_t mib = 1u << 20;

const Setting* find_setting(std::string_view name) {
    const auto row = std::ranges::find(setting_table(), name, &Setting::name);
    return row == setting_table().end() ? nullptr : &*row;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

// "4096", "64KiB", "16MiB", "1GiB".
std::optional<std::uint64_t> parse_size(std::string_view text) {
    struct Unit {
        std::string_view suffix;
        unsigned shift;
    };
    for (const Unit unit : {Unit{"KiB", 10}, Unit{"MiB", 20}, Unit{"GiB", 30}}) {
        if (!text.ends_with(unit.suffix)) continue;
        const auto count = parse_number(text.substr(0, text.size() - unit.suffix.size()));
        if (!count || *count > (UINT64_MAX >> unit.shift)) return {};
        return *count << unit.shift;
    }
    return parse_number(text);
}

std::string size_text(std::uint64_t bytes) {
    if (bytes >= mib && bytes % mib == 0) return std::to_string(bytes / mib) + "MiB";
    if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes / 1024) + "KiB";
    return std::to_string(bytes);
}

std::optional<bool> parse_toggle(std::string_view text) {
    if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
    if (text == "false" || text == "0" || text == "no" || text == "off") return false;
    return {};
}

// Long values (a pasted file) would bury the message.
std::string quoted(std::string_view text) {
    constexpr std::size_t shown_bytes_max = 60;
    if (text.size() <= shown_bytes_max) return "\"" + std::string(text) + "\"";
    return "\"" + std::string(text.substr(0, shown_bytes_max)) + "...\"";
}

std::unexpected<Error> bad_value(const Setting& setting, const SettingValue& value) {
    return fail(ErrorCode::invalid_request,
                value.origin + ": " + std::string(setting.name) + " cannot be " +
                    quoted(value.text) + "; give " + setting_allowed(setting),
                std::string(setting.name));
}

bool fits(const Setting& setting, const std::string& text) {
    switch (setting.kind) {
        case SettingKind::text:
            return !text.empty();
        case SettingKind::choice:
            return std::ranges::find(setting.names, text) != setting.names.end();
        case SettingKind::address:
            return parse_listen(text).has_value();
        case SettingKind::toggle:
            return parse_toggle(text).has_value();
        case SettingKind::number:
        case SettingKind::size: {
            const auto n =
                setting.kind == SettingKind::size ? parse_size(text) : parse_number(text);
            return n && *n >= setting.least && *n <= setting.most;
        }
    }
    return false;
}

Result<void> apply(Settings& settings, const SettingValue& value) {
    const Setting* setting = find_setting(value.name);
    if (!setting)
        return fail(ErrorCode::invalid_request,
                    value.origin + ": there is no setting " + quoted(value.name), value.name);
    if (!fits(*setting, value.text)) return bad_value(*setting, value);
    if (const auto* text = std::get_if<std::string Settings::*>(&setting->field))
        settings.*(*text) = value.text;
    else if (const auto* number = std::get_if<std::uint64_t Settings::*>(&setting->field))
        settings.*(*number) = *parse_size(value.text);
    else
        settings.*(std::get<bool Settings::*>(setting->field)) = *parse_toggle(value.text);
    return {};
}

// None when there is no such file; that is an error only for a file that was asked for.
Result<std::optional<std::string>> read_file(const std::string& path, bool must_exist) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (file.is_open() && file.peek() == std::ifstream::traits_type::eof() && !file.bad())
        file.clear(std::ios::eofbit);
    else if (file.is_open())
        text << file.rdbuf();
    if (!file.is_open() && !must_exist) return std::optional<std::string>();
    if (!file.is_open() || file.fail())
        return fail(ErrorCode::invalid_request,
                    "cannot read the settings file " + quoted(path) + "; check its name and rights",
                    "config");
    return std::optional(std::move(text).str());
}

Result<void> apply_file(Settings& settings, const SettingSources& sources) {
    const bool named = !settings.config.empty();
    const std::string path = named ? settings.config : sources.directory + "/palimpsest.toml";
    PAL_TRY(text, read_file(path, named));
    if (!text) return {};
    PAL_TRY(values, read_settings_file(*text, named ? path : "palimpsest.toml"));
    for (const SettingValue& value : values) PAL_CHECK(apply(settings, value));
    PAL_TRY(models, read_model_settings(*text, named ? path : "palimpsest.toml"));
    settings.models = std::move(models.models);
    settings.endpoints = std::move(models.endpoints);
    PAL_TRY(agents, read_agent_settings(*text, named ? path : "palimpsest.toml"));
    settings.agents = std::move(agents);
    settings.file_text = *std::move(text);
    settings.has_file = true;
    return {};
}

std::vector<SettingValue> from_environment(const SettingSources& sources) {
    std::vector<SettingValue> values;
    if (!sources.environment) return values;
    for (const Setting& setting : setting_table()) {
        const std::string variable = setting_environment(setting);
        const auto text = sources.environment(variable);
        if (text && !text->empty()) values.push_back({std::string(setting.name), *text, variable});
    }
    return values;
}

std::string setting_markdown(const Setting& setting) {
    const std::string fallback = setting_text(setting, Settings{});
    const bool quotes = std::holds_alternative<std::string Settings::*>(setting.field) ||
                        setting.kind == SettingKind::size;
    const std::string value = quotes ? "\"" + fallback + "\"" : fallback;
    std::string out = "\n## " + std::string(setting.name) + "\n\n";
    out += std::string(setting.help) + "\n\n- flag `--" + setting_flag(setting);
    if (!setting.value.empty()) out += " " + std::string(setting.value);
    out += "`, environment `" + setting_environment(setting) + "`\n";
    if (setting.name == "config")
        out += "- not in the file itself\n";
    else
        out += "- file `" + std::string(setting.name) + " = " + value + "` (the default)\n";
    out += "- accepts " + setting_allowed(setting) + "\n";
    if (setting.live) out += "- a running server takes a new value on SIGHUP\n";
    return out;
}

}  // namespace

std::string setting_flag(const Setting& setting) {
    std::string flag(setting.name);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

std::string setting_environment(const Setting& setting) {
    std::string variable = "PAL_";
    for (const char c : setting.name)
        variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return variable;
}

std::string setting_text(const Setting& setting, const Settings& settings) {
    if (const auto* text = std::get_if<std::string Settings::*>(&setting.field))
        return settings.*(*text);
    if (const auto* toggle = std::get_if<bool Settings::*>(&setting.field))
        return settings.*(*toggle) ? "true" : "false";
    const std::uint64_t number = settings.*(std::get<std::uint64_t Settings::*>(setting.field));
    return setting.kind == SettingKind::size ? size_text(number) : std::to_string(number);
}

std::string setting_allowed(const Setting& setting) {
    std::string choices;
    for (const std::string_view name : setting.names)
        choices += (choices.empty() ? "" : ", ") + std::string(name);
    switch (setting.kind) {
        case SettingKind::text:
            return "a text that is not empty";
        case SettingKind::choice:
            return "one of: " + choices;
        case SettingKind::address:
            return "an address and a port, as 127.0.0.1:7420 or [::1]:7420";
        case SettingKind::toggle:
            return "true or false";
        case SettingKind::size:
            return "a size from " + size_text(setting.least) + " to " + size_text(setting.most) +
                   ", in bytes or as 64KiB, 16MiB";
        case SettingKind::number:
            return "a whole number from " + std::to_string(setting.least) + " to " +
                   std::to_string(setting.most);
    }
    return {};
}

Result<Settings> load_settings(const SettingSources& sources) {
    const std::vector<SettingValue> environment = from_environment(sources);
    // Which file is read must be known before it is read.
    Settings settings;
    for (const auto* values : {&environment, &sources.flags})
        for (const SettingValue& value : *values)
            if (value.name == "config") PAL_CHECK(apply(settings, value));
    PAL_CHECK(apply_file(settings, sources));
    for (const auto* values : {&environment, &sources.flags})
        for (const SettingValue& value : *values) PAL_CHECK(apply(settings, value));
    return settings;
}

std::string settings_markdown() {
    std::string out =
        "# Settings\n\n"
        "Flags win over the environment, the environment over the settings file, the file over "
        "the\n"
        "defaults. The file is `palimpsest.toml` in the working directory, or the one that "
        "`--config`\nnames. Written by `pal help settings`; a test compares.\n";
    for (const Setting& setting : setting_table()) out += setting_markdown(setting);
    out +=
        "\n## models\n\n"
        "Models that are not known, or known otherwise; in the file only. What is not said stays "
        "as "
        "it is.\nPrices are dollars for a million tokens.\n\n"
        "```toml\n[models.my-model]\nwindow = 32768\noutput = 4096\nencoding = \"cl100k_base\"\n"
        "prices = { input = 0.5, cached = 0.1, cache_write = 0.6, output = 1.5 }\n```\n\n"
        "A model that says where it is can be asked (`--model my-model`): every server that speaks "
        "one of\nthe formats will do. The key itself never stands in the file. Where the format "
        "insists on a limit for\nthe answer (anthropic) and a request names none, `output` is "
        "sent, and kept free in the window.\n\n"
        "```toml\n[models.local]\nurl = \"http://localhost:11434/v1\"\n"
        "format = \"openai_chat\"        # or openai_responses, anthropic\n"
        "model = \"llama3.1:8b\"         # what its server calls it; else the name above\n"
        "key_env = \"LOCAL_KEY\"         # or key_file = \"FILE\"; neither: no key is sent\n"
        "parameters = { temperature = 0.2 }\nheaders = { \"x-team\" = \"blue\" }\n"
        "retries = 2                    # of what was refused for now\n"
        "connect_timeout_ms = 5000\nfirst_byte_timeout_ms = 120000\nidle_timeout_ms = 60000\n"
        "total_timeout_ms = 600000\nproxy = \"none\"                 # else by the environment\n"
        "ca_file = \"ca.pem\"\n```\n"
        "\n## agents\n\n"
        "What the conversations of an agent have where neither the request nor they themselves say "
        "it; in\nthe file only (`PUT /api/v1/agents/KEY` keeps one in the store, which then wins). "
        "A request names\nits agent in `agent_type`.\n\n"
        "```toml\n[agents.support]\nmodel = \"local\"\n"
        "system_prompt = \"You help customers.\"\n"
        "memory_strategy = { mode = \"compact\", compact_keep = 2 }  # or the name of a preset\n"
        "```\n";
    return out;
}

Result<Listen> parse_listen(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    const auto port = colon == text.npos ? std::nullopt : parse_number(text.substr(colon + 1));
    if (!port || *port > 65535 || colon == 0)
        return fail(ErrorCode::invalid_request,
                    quoted(text) + " is no address with a port, as 127.0.0.1:7420", "listen");
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    return Listen{std::string(host), static_cast<std::uint16_t>(*port)};
}

}  // namespace palimpsest
