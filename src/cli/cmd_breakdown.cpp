// breakdown: where the tokens of the next request go, what they cost, and how far each trigger is.
#include "cli/command.h"
#include "engine/present.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"model", "NAME", "Whose window and prices; default: the newest call's."},
    {"policy", "JSON|NAME", "Whose triggers; default: the conversation's, else balanced."},
};

void print_breakdown(Output& out, const TokenBreakdown& breakdown) {
    Table parts({"PART", "TOKENS", "SHARE", "DOLLARS"});
    const double whole =
        static_cast<double>(breakdown.window > 0 ? breakdown.window : breakdown.used);
    for (const TokenBreakdown::Part& part : breakdown.parts) {
        const double share = whole > 0 ? 100.0 * static_cast<double>(part.tokens) / whole : 0;
        parts.add({part.name, std::to_string(part.tokens), fmt::format("{:.1f} %", share),
                   part.dollars > 0 ? fmt::format("{:.6f}", part.dollars) : "-"});
    }
    parts.print(out);
    out.line(fmt::format("{} tokens are used{}{}", breakdown.used,
                         breakdown.window ? fmt::format(" of {}", breakdown.window) : "",
                         breakdown.model.empty() ? "" : ", model " + breakdown.model));
    if (breakdown.triggers.empty()) {
        out.line("no trigger: nothing is compacted by itself");
        return;
    }
    Table triggers({"TRIGGER", "LEVEL", "NOW", "FIRES AT", "DUE"});
    for (const TokenBreakdown::Distance& one : breakdown.triggers)
        triggers.add({one.trigger, one.level, fmt::format("{:g}", one.now),
                      fmt::format("{:g}", one.at), one.due ? "yes" : "no"});
    triggers.print(out);
}

}  // namespace

extern const Flags breakdown_flags;
const Flags breakdown_flags = flags;

Result<int> run_breakdown(Invocation& call) {
    BreakdownOptions options;
    options.model = call.arguments.get("model").value_or("");
    options.policy = call.arguments.get("policy").value_or("");
    PAL_TRY(breakdown, call.memory->breakdown(call.name(), options));
    if (call.json())
        print_json(call.out, write_breakdown, breakdown);
    else
        print_breakdown(call.out, breakdown);
    return 0;
}

}  // namespace palimpsest
