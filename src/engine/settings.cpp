#include "engine/settings.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/nearest.h"

namespace palimpsest {
namespace {

constexpr std::string_view tokenizer_names[] = {"o200k_base", "cl100k_base", "o200k_harmony",
                                                "p50k_base",  "r50k_base",   "approx"};
constexpr std::string_view log_levels[] = {"quiet", "info"};
constexpr std::string_view turns_names[] = {"allow", "wait", "refuse", "fork"};
constexpr std::string_view without_keys_words[] = {"anyone may use it"};
constexpr std::string_view gone_choices[] = {"cancel", "finish"};
constexpr std::string_view unknown_choices[] = {"refuse", "default"};
constexpr std::uint64_t mib = 1u << 20;

constexpr Setting table[] = {
    {"config",
     &Settings::config,
     SettingKind::text,
     SettingScope::general,
     "FILE",
     0,
     0,
     {},
     "The settings file; without it palimpsest.toml of the working directory, if there is one."},
    {"json",
     &Settings::json,
     SettingKind::toggle,
     SettingScope::general,
     "",
     0,
     0,
     {},
     "Print JSON, also for errors (on standard error)."},
    {"store",
     &Settings::store,
     SettingKind::text,
     SettingScope::store,
     "URL",
     0,
     0,
     {},
     "Where conversations are kept; `pal help stores` lists the kinds."},
    {"encryption_key",
     &Settings::encryption_key,
     SettingKind::text,
     SettingScope::store,
     "SOURCE",
     0,
     0,
     {},
     "Where the master key of an encrypted store is: file:PATH, env:NAME or command:COMMAND."},
    {"tenant",
     &Settings::tenant,
     SettingKind::text,
     SettingScope::store,
     "NAME",
     0,
     0,
     {},
     "Whose conversations; the same id in two tenants names two conversations."},
    {"message_bytes_max",
     &Settings::message_bytes_max,
     SettingKind::size,
     SettingScope::store,
     "SIZE",
     1,
     400 * mib,
     {},
     "Larger messages are refused with too_large."},
    {"tokenizer", &Settings::tokenizer, SettingKind::choice, SettingScope::store, "NAME", 0, 0,
     tokenizer_names, "How messages are counted; approx is one token for four bytes."},
    {"tokenizer_file",
     &Settings::tokenizer_file,
     SettingKind::text,
     SettingScope::store,
     "FILE",
     0,
     0,
     {},
     "A local model's tokenizer.json (byte-level BPE), which then counts instead."},
    {"model",
     &Settings::model,
     SettingKind::text,
     SettingScope::model,
     "NAME",
     0,
     0,
     {},
     "The model that answers: one of [models.NAME], or a model of OpenAI or Anthropic by its own "
     "name. echo works offline and repeats what was said."},
    {"summarizer",
     &Settings::summarizer,
     SettingKind::text,
     SettingScope::model,
     "NAME",
     0,
     0,
     {},
     "The model that writes summaries, named as `model` is; without it they are made offline, of "
     "sentences that were said."},
    {"summarizer_prompt",
     &Settings::summarizer_prompt,
     SettingKind::text,
     SettingScope::model,
     "FILE",
     0,
     0,
     {},
     "What that model is told to do, instead of our own words."},
    {"summarizer_window",
     &Settings::summarizer_window,
     SettingKind::number,
     SettingScope::model,
     "N",
     0,
     10'000'000,
     {},
     "Most tokens that it is sent at once, longer parts are divided; 0: its own window."},
    {"summary_deadline_ms",
     &Settings::summary_deadline_ms,
     SettingKind::number,
     SettingScope::model,
     "MS",
     0,
     600'000,
     {},
     "How long a turn that is over its hard limit waits for it; 0: not at all."},
    {"turns", &Settings::turns, SettingKind::choice, SettingScope::model, "HOW", 0, 0, turns_names,
     "What becomes of a turn while another one of its conversation is under way."},
    {"turn_wait_ms",
     &Settings::turn_wait_ms,
     SettingKind::number,
     SettingScope::model,
     "MS",
     0,
     600'000,
     {},
     "How long it waits then, with turns = wait."},
    {"listen",
     &Settings::listen,
     SettingKind::address,
     SettingScope::server,
     "HOST:PORT",
     0,
     0,
     {},
     "Where the server listens; port 0 takes any free one."},
    {"hosts",
     &Settings::hosts,
     SettingKind::text,
     SettingScope::server,
     "NAMES",
     0,
     0,
     {},
     "Names that requests may have in Host, separated by commas; without it the local ones on "
     "loopback, any elsewhere."},
    {"without_keys", &Settings::without_keys, SettingKind::choice, SettingScope::server, "WORDS", 0,
     0, without_keys_words,
     "Lets a server whose store has no keys listen beyond loopback: whoever reaches it may do "
     "everything."},
    {"body_bytes_max",
     &Settings::body_bytes_max,
     SettingKind::size,
     SettingScope::server,
     "SIZE",
     1024,
     512 * mib,
     {},
     "Larger request bodies are refused before they are read."},
    {"connections_max",
     &Settings::connections_max,
     SettingKind::number,
     SettingScope::server,
     "N",
     1,
     1'000'000,
     {},
     "Connections at once; above it idle ones are closed, then new ones refused."},
    {"network_threads",
     &Settings::network_threads,
     SettingKind::number,
     SettingScope::server,
     "N",
     1,
     64,
     {},
     "Threads that read and write sockets."},
    {"store_threads",
     &Settings::store_threads,
     SettingKind::number,
     SettingScope::server,
     "N",
     1,
     1024,
     {},
     "Threads that wait for the store."},
    {"turns_max",
     &Settings::turns_max,
     SettingKind::number,
     SettingScope::server,
     "N",
     1,
     100'000,
     {},
     "Model calls and streams at once; more wait for their turn."},
    {"client_gone", &Settings::client_gone, SettingKind::choice, SettingScope::server, "WHAT", 0, 0,
     gone_choices,
     "When the client of a streamed turn has gone: cancel stops the model and keeps what it said; "
     "finish lets it end. A turn that is not streamed always ends."},
    {"unknown_model", &Settings::unknown_model, SettingKind::choice, SettingScope::server, "WHAT",
     0, 0, unknown_choices,
     "When a client names a model that is not there: refuse it, or let the default model answer."},
    {"grace_ms",
     &Settings::grace_ms,
     SettingKind::number,
     SettingScope::server,
     "MS",
     0,
     600'000,
     {},
     "How long running requests may go on after SIGINT or SIGTERM."},
    {"log_level", &Settings::log_level, SettingKind::choice, SettingScope::server, "LEVEL", 0, 0,
     log_levels, "info: one line of JSON for each request, on standard error; quiet: none."},
};

const Setting* find_setting(std::string_view name) {
    const auto* row = std::ranges::find(table, name, &Setting::name);
    return row == std::end(table) ? nullptr : row;
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
    return {};
}

std::vector<SettingValue> from_environment(const SettingSources& sources) {
    std::vector<SettingValue> values;
    if (!sources.environment) return values;
    for (const Setting& setting : table) {
        const std::string variable = setting_environment(setting);
        const auto text = sources.environment(variable);
        if (text && !text->empty()) values.push_back({std::string(setting.name), *text, variable});
    }
    return values;
}

}  // namespace

std::span<const Setting> setting_table() {
    return table;
}

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
    for (const Setting& setting : table) {
        const std::string fallback = setting_text(setting, Settings{});
        const bool quotes = std::holds_alternative<std::string Settings::*>(setting.field) ||
                            setting.kind == SettingKind::size;
        const std::string value = quotes ? "\"" + fallback + "\"" : fallback;
        out += "\n## " + std::string(setting.name) + "\n\n" + std::string(setting.help) + "\n\n";
        out += "- flag `--" + setting_flag(setting);
        if (!setting.value.empty()) out += " " + std::string(setting.value);
        out += "`, environment `" + setting_environment(setting) + "`\n";
        if (setting.name == "config")
            out += "- not in the file itself\n";
        else
            out += "- file `" + std::string(setting.name) + " = " + value + "` (the default)\n";
        out += "- accepts " + setting_allowed(setting) + "\n";
    }
    out +=
        "\n## models\n\n"
        "Models that are not known, or known otherwise; in the file only. What is not said stays "
        "as "
        "it is.\nPrices are dollars for a million tokens.\n\n"
        "```toml\n[models.my-model]\nwindow = 32768\noutput = 4096\nencoding = \"cl100k_base\"\n"
        "prices = { input = 0.5, cached = 0.1, cache_write = 0.6, output = 1.5 }\n```\n\n"
        "A model that says where it is can be asked (`--model my-model`): every server that speaks "
        "one of\nthe formats will do. The key itself never stands in the file.\n\n"
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
