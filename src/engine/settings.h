// Settings: one table gives each its flag, its environment variable, its key in the settings file,
// its default, what it accepts, and its help. A new setting is a field here and a row in the table.
//
// Order: flags > environment > palimpsest.toml > defaults. The names follow from one another:
// `message_bytes_max` is `--message-bytes-max`, `PAL_MESSAGE_BYTES_MAX`, and the key as it stands.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

struct Settings {
    std::string config = {};
    bool json = false;
    std::string store = "sqlite:palimpsest.db";
    std::string encryption_key = {};
    std::string tenant = "default";
    std::uint64_t message_bytes_max = 16u << 20;
    std::string tokenizer = "o200k_base";
    std::string tokenizer_file = {};
    std::string embedder = {};
    std::string embedder_file = {};
    std::string model = "echo";
    std::string summarizer = {};
    std::string summarizer_prompt = {};
    std::uint64_t summarizer_window = 0;
    std::uint64_t summary_deadline_ms = 20'000;
    std::string chat_history = {};
    std::string turns = "allow";
    std::uint64_t turn_wait_ms = 30'000;
    std::string listen = "127.0.0.1:7420";
    std::string hosts = {};
    std::string without_keys = {};
    std::string tls_cert = {};
    std::string tls_key = {};
    std::uint64_t body_bytes_max = 64u << 20;
    std::uint64_t header_bytes_max = 64u << 10;
    std::uint64_t header_timeout_ms = 10'000;
    std::uint64_t body_timeout_ms = 30'000;
    std::uint64_t idle_timeout_ms = 75'000;
    std::uint64_t write_timeout_ms = 30'000;
    std::uint64_t request_timeout_ms = 0;
    std::uint64_t json_depth_max = 64;
    std::uint64_t items_max = 100'000;
    std::uint64_t connections_max = 10'000;
    std::uint64_t streams_max = 4'096;
    std::uint64_t queue_max = 1'024;
    std::uint64_t network_threads = 0;
    std::uint64_t store_threads = 4;
    std::uint64_t turns_max = 4'096;
    std::string client_gone = "cancel";
    std::string unknown_model = "refuse";
    std::uint64_t grace_ms = 5'000;
    std::string log_level = "info";
    std::string otlp_endpoint = {};
    std::uint64_t trace_sample_percent = 100;
    bool trace_content = false;
    std::vector<OwnModel> models = {};     // of the file alone: [models.NAME]
    std::vector<Endpoint> endpoints = {};  // those of them that say where the model is
    std::vector<AgentSpec> agents = {};    // of the file alone: [agents.KEY]
    std::string file_text = {};            // the whole file, to see whether it has changed
    bool has_file = false;                 // it is there
};

enum class SettingKind : std::uint8_t { text, choice, address, number, size, toggle };

// Which commands a setting matters to; a command takes the flags of its scopes. Bits.
enum class SettingScope : std::uint8_t { general = 1, store = 2, model = 4, server = 8 };

struct Setting {
    std::string_view name;
    std::variant<std::string Settings::*, std::uint64_t Settings::*, bool Settings::*> field;
    SettingKind kind = SettingKind::text;
    SettingScope scope = SettingScope::general;
    std::string_view value = {};              // how help names the value
    std::uint64_t least = 0, most = 0;        // numbers and sizes
    std::span<const std::string_view> names;  // choices
    std::string_view help;
    bool live = false;  // a running server takes a new value on SIGHUP
};
std::span<const Setting> setting_table();

std::string setting_flag(const Setting& setting);         // without the dashes
std::string setting_environment(const Setting& setting);  // "PAL_..."
std::string setting_text(const Setting& setting, const Settings& settings);
std::string setting_allowed(const Setting& setting);  // "a whole number from 1 to 64"

// A value and where it stands: "--threads", "PAL_THREADS", "palimpsest.toml line 3".
struct SettingValue {
    std::string name = {};
    std::string text = {};
    std::string origin = {};
};

struct SettingSources {
    std::vector<SettingValue> flags = {};
    std::function<std::optional<std::string>(const std::string& variable)> environment = {};
    std::string directory = ".";  // where palimpsest.toml is looked for; it need not be there
};

// invalid_request names the setting, where it was given, and what is allowed.
Result<Settings> load_settings(const SettingSources& sources);

// The settings of a file's text (TOML 1.0), checked for unknown keys and wrong types.
Result<std::vector<SettingValue>> read_settings_file(std::string_view text, std::string_view file);

// The tables [models.NAME] of a file's text: window, output, encoding, and prices with input,
// cached, cache_write and output, in dollars per million tokens; where the model is: url, format,
// model, key_env, key_file, headers, parameters, retries, proxy, ca_file and time-outs.
struct ModelSettings {
    std::vector<OwnModel> models = {};
    std::vector<Endpoint> endpoints = {};
};
Result<ModelSettings> read_model_settings(std::string_view text, std::string_view file);

// The tables [agents.KEY] of a file's text: model, system_prompt, memory_strategy (a table, or the
// name of a preset).
Result<std::vector<AgentSpec>> read_agent_settings(std::string_view text, std::string_view file);
// A table of the file as JSON, to see whether it has changed; empty: it has none.
std::string table_in_file(std::string_view text, std::string_view name);

// docs/SETTINGS.md.
std::string settings_markdown();

// "127.0.0.1:7420", "[::1]:7420", "localhost:0".
struct Listen {
    std::string host = {};  // an address
    std::uint16_t port = 0;
};
Result<Listen> parse_listen(std::string_view text);

}  // namespace palimpsest
