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
