// compact: computes the edits of a policy and appends them, or only shows them.
#include "cli/cmd_compact.h"
#include "cli/write_flags.h"
#include "core/policy.h"
#include "engine/present.h"
#include "engine/report.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"policy", "JSON|NAME|FILE", "What to do; without it the conversation's own, or balanced."},
    {"format", "F", "Compact a file in this format, without a store, and write its view."},
    {"window", "N", "The tokens that the model takes."},
    {"model", "M", "The model whose window is to be kept; with --format also its tokenizer."},
    {"report", "FILE", "Write what was done as JSON."},
    {"explain", "", "Tell on standard error what was done and why."},
    {"preview", "", "Show what would be done; write nothing."},
    key_flag,
    expect_flag,
};

void print_compaction(Output& out, const Compaction& compaction, bool preview) {
    std::string words(outcome_name(compaction.outcome));
    if (compaction.outcome == Compaction::Outcome::done) {
        words = preview ? "would go" : "went";
        words += " from " + std::to_string(compaction.tokens_before) + " to " +
                 std::to_string(compaction.tokens_after) + " tokens";
        if (!preview) words += ", entry " + std::to_string(compaction.seq.value);
    } else if (!compaction.report.explanation.empty()) {
        words += ": " + compaction.report.explanation;
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

void explain(const Compaction& compaction) {
    explain_compaction(outcome_name(compaction.outcome), compaction.report.explanation,
                       compaction.edits);
}

Result<void> write_report(const std::string& path, const Compaction& compaction) {
    std::string text;
    JsonWriter out(text);
    write_compaction(out, compaction);
    return write_report_file(path, text);
}

}  // namespace

Result<std::string> policy_argument(const std::string& text) {
    // The name of a preset as JSON writes it.
    if (const auto quoted = parse_json(text); quoted && quoted->root().is_string())
        return policy_argument(std::string(quoted->root().string()));
    const bool json = text.find_first_not_of(" \t\r\n") == text.find('{');
    if (!text.empty() && (json || !find_preset(text).empty())) return text;
    if (!text.empty()) {
        auto read = read_input(text);
        const bool names_file = text.find_first_of("./") != std::string::npos;
        if (read || names_file) return read;
    }
    std::string names;
    for (const Preset& preset : presets()) names += " " + std::string(preset.name);
    return fail(ErrorCode::invalid_request,
                "\"" + text + "\" is neither JSON, nor a file, nor a preset; there are" + names,
                "policy");
}

extern const Flags compact_flags;
const Flags compact_flags = flags;

Result<int> run_compact(Invocation& call) {
    std::string policy;
    if (const auto given = call.arguments.get("policy")) {
        PAL_TRY(read, policy_argument(*given));
        policy = std::move(read);
    }
    if (!call.memory) return run_compact_file(call, std::move(policy));
    if (call.arguments.size() == 0)
        return fail(ErrorCode::invalid_request,
                    "pal compact takes a conversation's ID, or --format F and a file");
    PAL_TRY(write, write_options(call.arguments));
    const bool preview = call.arguments.has("preview");
    PAL_TRY(window, call.arguments.number("window"));
    PAL_TRY(compaction, call.memory->compact(call.name(),
                                             {.policy = policy,
                                              .preview = preview,
                                              .model = call.arguments.get("model").value_or(""),
                                              .window = window},
                                             write));
    if (const auto report = call.arguments.get("report"))
        PAL_CHECK(write_report(*report, compaction));
    if (call.arguments.has("explain")) explain(compaction);
    if (compaction.outcome == Compaction::Outcome::unreachable)
        return std::unexpected(unreachable_error(compaction));
    if (call.json())
        print_json(call.out, write_compaction, compaction);
    else
        print_compaction(call.out, compaction, preview);
    return 0;
}

}  // namespace palimpsest
