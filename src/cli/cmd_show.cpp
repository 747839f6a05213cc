// show: what is known about a conversation beside its entries.
#include "base/ids.h"
#include "base/time.h"
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

void print_header(Output& out, const Header& header) {
    const auto line = [&](std::string name, std::string_view value) {
        if (value.empty()) return;
        name.resize(14, ' ');
        out.line(out.styled(Style::dim, name) + printable(value));
    };
    line("id", header.name.id);
    line("title", header.title);
    line("owner", header.owner);
    line("system prompt", header.system_prompt);
    line("metadata", header.metadata == "{}" ? "" : header.metadata);
    line("policy", header.policy);
    line("messages", std::to_string(header.messages));
    line("end", std::to_string(header.end.value));
    line("created", format_time(header.created));
    line("updated", format_time(header.updated));
    line("accessed", format_time(header.accessed));
    line("expires", header.expires ? format_time(*header.expires) : "");
    line("forked at", header.parent ? std::to_string(header.base.value) : "");
    line("revision", std::to_string(header.revision));
    line("log", hex(header.log));
}

}  // namespace

Result<int> run_show(Invocation& call) {
    PAL_TRY(header, call.memory->head(call.name()));
    if (call.json())
        print_json(call.out, write_header, header);
    else
        print_header(call.out, header);
    return 0;
}

}  // namespace palimpsest
