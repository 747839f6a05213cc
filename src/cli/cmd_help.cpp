// help, version, completion: what the tables say, for people and for the shell.
#include "base/nearest.h"
#include "cli/command.h"

namespace palimpsest {
namespace {

void print_errors(Output& out) {
    Table table({"CODE", "HTTP", "EXIT", "RETRY", "MEANING"});
    for (const ErrorInfo& row : error_table())
        table.add({std::string(row.name), std::to_string(row.http_status),
                   std::to_string(row.exit_status), row.retry ? "yes" : "no",
                   std::string(row.meaning)});
    table.print(out);
}

void print_stores(Output& out) {
    Table table({"STORE", "WHAT IT IS"});
    for (const StoreKind& kind : store_kinds())
        table.add({std::string(kind.scheme) + ":", std::string(kind.help)});
    table.print(out);
}

// ---- the same as JSON ---------------------------------------------------------------------------

void write_setting(JsonWriter& out, const Setting& setting) {
    out.begin_object().field("name", setting.name).field("flag", "--" + setting_flag(setting));
    out.field("environment", setting_environment(setting)).field("value", setting.value);
    out.field("default", setting_text(setting, Settings{})).field("help", setting.help);
    out.end_object();
}

void write_command(JsonWriter& out, const Command& command) {
    out.begin_object().field("command", command.name).field("arguments", command.synopsis);
    out.field("help", command.help).key("flags").begin_array();
    if (command.flags)
        for (const Flag& flag : *command.flags) {
            out.begin_object().field("flag", "--" + std::string(flag.name));
            out.field("value", flag.value).field("help", flag.help).end_object();
        }
    out.end_array().key("settings").begin_array();
    for (const Setting* setting : settings_of(command)) write_setting(out, *setting);
    out.end_array();
    if (command.more_help) out.field("more", command.more_help());
    out.end_object();
}

void write_error_row(JsonWriter& out, const ErrorInfo& row) {
    out.begin_object().field("code", row.name).key("http").number(row.http_status);
    out.key("exit").number(row.exit_status).key("retry").boolean(row.retry);
    out.field("meaning", row.meaning).end_object();
}

void write_store_row(JsonWriter& out, const StoreKind& row) {
    out.begin_object().field("store", std::string(row.scheme) + ":").field("help", row.help);
    out.end_object();
}

// A line for each row of the table that is asked for; false when there is no such table.
bool print_topic_json(Output& out, const std::string& topic) {
    if (topic.empty())
        for (const Command& command : command_table()) print_json(out, write_command, command);
    else if (topic == "settings")
        for (const Setting& setting : setting_table()) print_json(out, write_setting, setting);
    else if (topic == "errors")
        for (const ErrorInfo& row : error_table()) print_json(out, write_error_row, row);
    else if (topic == "stores")
        for (const StoreKind& row : store_kinds()) print_json(out, write_store_row, row);
    else if (const Command* command = find_command(topic))
        print_json(out, write_command, *command);
    else
        return false;
    return true;
}

constexpr std::string_view bash_script = R"(_pal() {
    local word=${COMP_WORDS[COMP_CWORD]} command= i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac
    done
    case $command in
    '') COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word")) ;;
@CASES@    esac
}
complete -o default -F _pal pal
)";

std::string replaced(std::string text, std::string_view what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
}

std::string bash_completion() {
    std::string commands, cases;
    for (const Command& command : command_table()) {
        commands += (commands.empty() ? "" : " ") + std::string(command.name);
        std::string flags;
        for (const KnownFlag& flag : known_flags(command))
            flags += (flags.empty() ? "--" : " --") + flag.name;
        cases += "    " + std::string(command.name) +
                 ") [[ $word == -* ]] && COMPREPLY=($(compgen -W \"" + flags +
                 "\" -- \"$word\")) ;;\n";
    }
    const std::string script = replaced(std::string(bash_script), "@COMMANDS@", commands);
    return replaced(script, "@CASES@", cases);
}

}  // namespace

Result<int> run_help(Invocation& call) {
    const std::string topic = call.arguments.size() ? call.arguments[0] : "";
    if (call.json() && print_topic_json(call.out, topic)) return 0;
    if (topic.empty())
        call.out.write(general_help());
    else if (topic == "settings")
        call.out.write(settings_markdown());
    else if (topic == "errors")
        print_errors(call.out);
    else if (topic == "stores")
        print_stores(call.out);
    else if (const Command* command = find_command(topic))
        call.out.write(command_help(*command));
    else
        return fail(ErrorCode::not_found,
                    "there is no command \"" + clipped(topic, 40) + "\"; `pal help` lists them");
    return 0;
}

Result<int> run_version(Invocation& call) {
    if (call.json())
        call.out.json_line("{\"version\":\"" PAL_VERSION "\"}");
    else
        call.out.line("pal " PAL_VERSION);
    return 0;
}

Result<int> run_completion(Invocation& call) {
    if (call.arguments[0] != "bash")
        return fail(ErrorCode::invalid_request,
                    "there is completion for bash only; use `pal completion bash`");
    call.out.write(bash_completion());
    return 0;
}

}  // namespace palimpsest
