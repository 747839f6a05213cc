// Settings: who wins over whom, and what a wrong one is told.
#include "engine/settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace palimpsest {
namespace {

using Variables = std::map<std::string, std::string>;

// A directory of its own, gone at the end.
class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "pal_settings_XXXXXX";
        path_ = mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ + "/" + name) << text;
        return path_ + "/" + name;
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

Result<Settings> load(const Folder& folder, const Variables& variables,
                      std::vector<SettingValue> flags) {
    return load_settings(
        {.flags = std::move(flags),
         .environment = [&](const std::string& name) -> std::optional<std::string> {
             const auto found = variables.find(name);
             if (found == variables.end()) return std::nullopt;
             return found->second;
         },
         .directory = folder.path()});
}

std::string message_of(const Result<Settings>& result) {
    return result ? "(no error)" : result.error().message;
}

TEST(settings, defaults_stand_when_nothing_is_said) {
    const Result<Settings> settings = load(Folder(), {}, {});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->store, "sqlite:palimpsest.db");
    EXPECT_EQ(settings->listen, "127.0.0.1:7420");
    EXPECT_EQ(settings->tenant, "default");
    EXPECT_EQ(settings->model, "echo");
    EXPECT_FALSE(settings->json);
}

TEST(settings, flags_win_over_environment_over_file) {
    const Folder folder;
    folder.write("palimpsest.toml", "store = 'memory:'\ntenant = 'file'\nlisten = '[::1]:1'\n");
    const Variables variables{{"PAL_TENANT", "environment"}, {"PAL_LISTEN", "127.0.0.1:2"}};
    const Result<Settings> settings =
        load(folder, variables, {{"listen", "127.0.0.1:3", "--listen"}});
    ASSERT_TRUE(settings) << message_of(settings);
    EXPECT_EQ(settings->store, "memory:");
    EXPECT_EQ(settings->tenant, "environment");
    EXPECT_EQ(settings->listen, "127.0.0.1:3");
}

TEST(settings, config_names_another_file_by_flag_or_environment) {
    const Folder folder;
    folder.write("palimpsest.toml", "tenant = 'usual'\n");
    const std::string other = folder.write("other.toml", "tenant = 'other'\n");
    EXPECT_EQ(load(folder, {{"PAL_CONFIG", other}}, {})->tenant, "other");
    EXPECT_EQ(load(folder, {}, {{"config", other, "--config"}})->tenant, "other");
}

TEST(settings, a_file_that_was_asked_for_must_be_there) {
    const Folder folder;
    const auto settings = load(folder, {}, {{"config", folder.path() + "/none", "--config"}});
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, ErrorCode::invalid_request);
    EXPECT_NE(settings.error().message.find("/none"), std::string::npos);
}

TEST(settings, an_empty_file_is_fine) {
    const Folder folder;
    folder.write("palimpsest.toml", "");
    EXPECT_TRUE(load(folder, {}, {}));
}

TEST(settings, an_unknown_key_names_file_line_and_the_nearest) {
    const Folder folder;
    folder.write("palimpsest.toml", "tenant = 'a'\n\nlisen = '127.0.0.1:1'\n");
    EXPECT_EQ(message_of(load(folder, {}, {})),
              "palimpsest.toml line 3: there is no setting \"lisen\"; did you mean listen?");
}

TEST(settings, config_is_no_key_of_the_file) {
    const Folder folder;
    folder.write("palimpsest.toml", "config = 'x.toml'\n");
    EXPECT_FALSE(load(folder, {}, {}));
}

TEST(settings, a_table_is_not_a_setting) {
    const Folder folder;
    folder.write("palimpsest.toml", "[store]\nurl = 'memory:'\n");
    EXPECT_NE(message_of(load(folder, {}, {})).find("store must be a text"), std::string::npos);
}

TEST(settings, a_wrong_type_in_the_file_says_what_is_allowed) {
    const Folder folder;
    folder.write("palimpsest.toml", "# how many\nstore_threads = \"four\"\n");
    EXPECT_EQ(message_of(load(folder, {}, {})),
              "palimpsest.toml line 2: store_threads must be a whole number from 1 to 1024");
}

TEST(settings, what_is_not_toml_names_the_line) {
    const Folder folder;
    folder.write("palimpsest.toml", "tenant = 'a'\nstore = = 1\n");
    EXPECT_TRUE(message_of(load(folder, {}, {})).starts_with("palimpsest.toml line 2: "));
}

TEST(settings, bad_values_name_their_origin) {
    const Folder folder;
    EXPECT_EQ(message_of(load(folder, {{"PAL_LOG_LEVEL", "loud"}}, {})),
              "PAL_LOG_LEVEL: log_level cannot be \"loud\"; give one of: quiet, info");
    EXPECT_EQ(message_of(load(folder, {}, {{"store_threads", "0", "--store-threads"}})),
              "--store-threads: store_threads cannot be \"0\"; give a whole number from 1 to 1024");
    for (const char* listen : {"7420", ":7420", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x"})
        EXPECT_FALSE(load(folder, {}, {{"listen", listen, "--listen"}})) << listen;
    for (const char* size : {"", "-1", "16 MiB", "16MB", "1TiB", "99999999999999999999KiB", "0"})
        EXPECT_FALSE(load(folder, {}, {{"message_bytes_max", size, "--message-bytes-max"}}))
            << size;
}

TEST(settings, sizes_have_units) {
    const Folder folder;
    folder.write("palimpsest.toml", "message_bytes_max = \"2MiB\"\nbody_bytes_max = 4096\n");
    const Result<Settings> settings = load(folder, {}, {});
    ASSERT_TRUE(settings) << message_of(settings);
    EXPECT_EQ(settings->message_bytes_max, 2u << 20);
    EXPECT_EQ(settings->body_bytes_max, 4096u);
}

TEST(settings, an_address_may_be_of_either_kind) {
    EXPECT_EQ(parse_listen("[::1]:80")->host, "::1");
    EXPECT_EQ(parse_listen("localhost:0")->host, "127.0.0.1");
    EXPECT_EQ(parse_listen("0.0.0.0:65535")->port, 65535);
}

TEST(settings, agents_stand_in_tables) {
    const auto agents = read_agent_settings(
        "[agents.support]\nmodel = \"local\"\nsystem_prompt = \"Help.\"\n"
        "memory_strategy = { mode = \"compact\", compact_keep = 3 }\n"
        "[agents.other]\nmemory_strategy = \"balanced\"\n",
        "palimpsest.toml");
    ASSERT_TRUE(agents) << agents.error().message;
    ASSERT_EQ(agents->size(), 2u);
    EXPECT_EQ((*agents)[0].key, "other");
    EXPECT_EQ((*agents)[0].policy, "balanced");
    EXPECT_EQ((*agents)[1].model, "local");
    EXPECT_EQ((*agents)[1].system_prompt, "Help.");
    EXPECT_EQ((*agents)[1].policy, R"({"compact_keep":3,"mode":"compact"})");
}

TEST(settings, a_bad_agent_names_its_field_and_line) {
    for (const std::string_view line :
         {"modle = \"x\"", "model = 7", "memory_strategy = { mode = \"no\" }"}) {
        const auto agents =
            read_agent_settings("[agents.a]\n" + std::string(line) + "\n", "palimpsest.toml");
        ASSERT_FALSE(agents) << line;
        EXPECT_NE(agents.error().message.find("palimpsest.toml line 2"), std::string::npos)
            << agents.error().message;
    }
}

// Regenerate with: pal help settings > docs/SETTINGS.md
TEST(settings, the_document_is_the_table) {
    std::ifstream file(PAL_SOURCE_DIR "/docs/SETTINGS.md");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), settings_markdown());
}

}  // namespace
}  // namespace palimpsest
