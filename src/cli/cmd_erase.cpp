// erase, scrub: the only commands that remove what was said.
#include <algorithm>

#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {

Result<int> run_scrub(Invocation& call) {
    std::vector<Seq> messages;
    for (const std::string& word : call.arguments.from(1)) {
        PAL_TRY(seq, parse_seq(word));
        messages.push_back(seq);
    }
    std::ranges::sort(messages);
    messages.erase(std::ranges::unique(messages).begin(), messages.end());
    PAL_CHECK(call.memory->scrub(call.name(), messages));
    if (call.json())
        call.out.json_line("{\"scrubbed\":" + std::to_string(messages.size()) + "}");
    else
        call.out.line("scrubbed " + std::to_string(messages.size()));
    return 0;
}

Result<int> run_erase(Invocation& call) {
    PAL_TRY(receipt, call.memory->erase(call.name()));
    if (call.json()) {
        print_json(call.out, write_receipt, receipt);
        return 0;
    }
    call.out.line("erased " + std::to_string(receipt.entries) + " entries");
    if (receipt.kept_for.empty()) return 0;
    std::string forks;
    for (const std::string& name : receipt.kept_for)
        forks += (forks.empty() ? "" : ", ") + printable(name);
    call.out.line("kept what these forks share: " + forks);
    return 0;
}

}  // namespace palimpsest
