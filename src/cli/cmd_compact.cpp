// compact: computes the edits of a policy and appends them, or only shows them.
#include "cli/command.h"
#include "cli/write_flags.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"policy", "JSON|FILE", "What to do; without it the conversation's own policy."},
    {"preview", "", "Show what would be done; write nothing."},
    key_flag,
    expect_flag,
};

// JSON as it stands, or the name of a file that holds it.
Result<std::string> policy_text(const Arguments& arguments) {
    const std::string policy = arguments.get("policy").value_or("");
    if (policy.empty() || policy.find_first_not_of(" \t\r\n") == policy.find('{')) return policy;
    return read_input(policy);
}

void print_compaction(Output& out, const Compaction& compaction, bool preview) {
    std::string words(outcome_name(compaction.outcome));
    if (compaction.outcome == Compaction::Outcome::done) {
        words = preview ? "would go" : "went";
        words += " from " + std::to_string(compaction.tokens_before) + " to " +
                 std::to_string(compaction.tokens_after) + " tokens";
        if (!preview) words += ", entry " + std::to_string(compaction.seq.value);
    }
    out.line(words);
    if (compaction.edits.empty()) return;
    Table table({"KIND", "FROM", "TO", "BEFORE", "AFTER", "WHY"});
    for (const Edit& edit : compaction.edits)
        table.add({std::string(treatment_name(edit.treatment)),
                   std::to_string(edit.range.from.value), std::to_string(edit.range.to.value),
                   std::to_string(edit.before.tokens), std::to_string(edit.after.tokens),
                   edit.reason});
    table.print(out);
}

}  // namespace

extern const Flags compact_flags;
const Flags compact_flags = flags;

Result<int> run_compact(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(policy, policy_text(call.arguments));
    if (policy.empty()) {
        PAL_TRY(header, call.memory->head(call.name()));
        policy = header.policy;
    }
    const bool preview = call.arguments.has("preview");
    PAL_TRY(compaction,
            call.memory->compact(call.name(), {.policy = policy, .preview = preview}, write));
    if (call.json())
        print_json(call.out, write_compaction, compaction);
    else
        print_compaction(call.out, compaction, preview);
    return 0;
}

}  // namespace palimpsest
