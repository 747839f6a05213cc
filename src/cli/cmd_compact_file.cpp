// compact --format: one conversation from a file, its view out, without a store.
#include <cstdio>
#include <fstream>

#include "cli/cmd_compact.h"
#include "cli/documents.h"
#include "engine/compact_document.h"
#include "engine/model_table.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

// For people, beside the document: what became of which messages, and why.
void explain(const Plan& plan) {
    explain_compaction(outcome_name(plan.outcome), plan.explanation, plan.edits);
}

}  // namespace

Result<void> write_report_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text << '\n';
    file.flush();
    if (!file)
        return fail(ErrorCode::invalid_request, "cannot write '" + path + "'; is its folder there?",
                    "report");
    return {};
}

void explain_compaction(std::string_view outcome, const std::string& explanation,
                        std::span<const Edit> edits) {
    std::fprintf(stderr, "%s: %s\n", std::string(outcome).c_str(),
                 explanation.empty() ? "nothing was due" : explanation.c_str());
    for (const Edit& edit : edits)
        std::fprintf(stderr, "%llu-%llu %s, %u to %u tokens: %s (%s)\n",
                     static_cast<unsigned long long>(edit.range.from.value),
                     static_cast<unsigned long long>(edit.range.to.value),
                     std::string(treatment_name(edit.treatment)).c_str(), edit.before.tokens,
                     edit.after.tokens, edit.reason.c_str(), edit.pass.c_str());
}

Result<int> run_compact_file(Invocation& call, std::string policy) {
    DocumentOptions options;
    PAL_TRY(format, format_flag(call.arguments, "format"));
    PAL_TRY(window, call.arguments.number("window"));
    options.format = format;
    options.window = window.value_or(0);
    options.model = call.arguments.get("model").value_or("");
    if (!policy.empty()) options.policy = std::move(policy);
    const ModelTable models(call.settings.models, {});
    options.models = &models;
    PAL_TRY(json, read_input(call.arguments.size() > 0 ? call.arguments[0] : "-"));
    PAL_TRY(done, compact_document(json, options));
    if (const auto report = call.arguments.get("report"))
        PAL_CHECK(write_report_file(*report, plan_report(done.plan)));
    if (call.arguments.has("explain"))
        explain(done.plan);
    else if (!done.plan.edits.empty() && !done.plan.little_room.empty())
        std::fprintf(stderr, "%s\n", done.plan.little_room.c_str());
    for (const std::string& repair : done.repairs)
        std::fprintf(stderr, "repaired: %s\n", printable(repair).c_str());
    if (done.open_end)
        std::fprintf(stderr,
                     "the last calls have no results yet: add them before it is sent, or let "
                     "`pal repair` answer them\n");
    print_document(call.out, std::move(done.json));
    return 0;
}

}  // namespace palimpsest
