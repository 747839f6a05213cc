// Help, from the tables alone: nothing here names a command or a flag.
#include <algorithm>

#include "cli/command.h"

namespace palimpsest {
namespace {

bool in_scope(const Command& command, SettingScope scope) {
    if (scope == SettingScope::general) return true;
    if (scope == SettingScope::store && command.store != StoreUse::none) return true;
    return (command.scopes & static_cast<std::uint8_t>(scope)) != 0;
}

std::string flag_line(std::string flag, std::string_view value, std::string_view help) {
    flag = "  --" + flag;
    if (!value.empty()) flag += " " + std::string(value);
    if (flag.size() < 28) flag.resize(28, ' ');
    return flag + "  " + std::string(help);
}

}  // namespace

std::vector<const Setting*> settings_of(const Command& command) {
    std::vector<const Setting*> settings;
    for (const Setting& setting : setting_table())
        if (in_scope(command, setting.scope)) settings.push_back(&setting);
    return settings;
}

std::vector<KnownFlag> known_flags(const Command& command) {
    std::vector<KnownFlag> known{{"help", false, false}};
    if (command.flags)
        for (const Flag& flag : *command.flags)
            known.push_back({std::string(flag.name), !flag.value.empty(), flag.repeats});
    for (const Setting* setting : settings_of(command))
        known.push_back({setting_flag(*setting), setting->kind != SettingKind::toggle, false});
    return known;
}

ArgumentCount argument_count(std::string_view synopsis) {
    ArgumentCount count;
    while (!synopsis.empty()) {
        const std::size_t space = std::min(synopsis.find(' '), synopsis.size());
        const std::string_view word = synopsis.substr(0, space);
        if (!word.starts_with('[')) ++count.least;
        ++count.most;
        if (word.find("...") != word.npos) count.most = SIZE_MAX;
        synopsis.remove_prefix(std::min(space + 1, synopsis.size()));
        if (count.most == SIZE_MAX) break;
    }
    return count;
}

std::string command_help(const Command& command) {
    std::string text = "usage: pal " + std::string(command.name);
    if (!command.synopsis.empty()) text += " " + std::string(command.synopsis);
    text += " [FLAGS]\n\n" + std::string(command.help) + "\n";
    if (command.flags && !command.flags->empty()) {
        text += "\nflags:\n";
        for (const Flag& flag : *command.flags)
            text += flag_line(std::string(flag.name), flag.value, flag.help) + "\n";
    }
    if (command.more_help) text += "\n" + command.more_help();
    text +=
        "\nsettings (also from the environment and palimpsest.toml, see `pal help settings`):\n";
    for (const Setting* setting : settings_of(command)) {
        std::string help(setting->help);
        const std::string fallback = setting_text(*setting, Settings{});
        if (!fallback.empty() && setting->kind != SettingKind::toggle)
            help += " [" + fallback + "]";
        text += flag_line(setting_flag(*setting), setting->value, help) + "\n";
    }
    return text;
}

std::string general_help() {
    std::string text =
        "pal: conversation memory that is never rewritten\n\n"
        "usage: pal COMMAND [ARGUMENTS] [FLAGS]\n\n";
    for (const Command& command : command_table()) {
        std::string usage = "  " + std::string(command.name);
        if (!command.synopsis.empty()) usage += " " + std::string(command.synopsis);
        if (usage.size() < 28) usage.resize(28, ' ');
        text += usage + "  " + std::string(command.help) + "\n";
    }
    text +=
        "\n`pal help COMMAND` explains one of them; `pal help settings`, `pal help errors` and\n"
        "`pal help stores` print tables. Try:\n"
        "  echo '{\"role\":\"user\",\"content\":\"Hello\"}' | pal append alice && pal view alice\n";
    return text;
}

}  // namespace palimpsest
