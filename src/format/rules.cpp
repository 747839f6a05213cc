// The validity rules that all formats share, and the table of all rules. Ids with a letter and a
// number are refusals that one provider is known for; they stand in the rows of the formats.
#include "format/check.h"
#include "format/format_table.h"

namespace palimpsest {
namespace {

constexpr std::string_view every = "every";

constexpr Rule shared[] = {
    {"roles", every, Severity::reject,
     "roles are known, and blocks stand in messages of their role"},
    {"empty", every, Severity::reject, "a message has content"},
    {"duplicate_result", every, Severity::reject, "a call is answered once"},
    {"arguments", every, Severity::tolerate, "arguments are a JSON object"},
    {"sampling", every, Severity::reject, "temperature and top_p are within their ranges"},
    {"unfinished", every, Severity::reject,
     "what an interruption cut short stays in the log (field _unfinished)"},
    {"shape", every, Severity::reject, "fields are of the kind that the format defines"},
    {"surrogates", every, Severity::reject, "no text has half of a surrogate pair (a cut emoji)"},
    {"json", every, Severity::reject, "the text is JSON without duplicate keys"},
};

}  // namespace

std::vector<Rule> rule_table() {
    std::vector<Rule> table;
    for (const Format* format : format_table())
        table.insert(table.end(), format->rules.begin(), format->rules.end());
    table.insert(table.end(), std::begin(shared), std::end(shared));
    return table;
}

const Rule* find_rule(std::string_view id) {
    for (const Rule& rule : shared)
        if (rule.id == id) return &rule;
    for (const Format* format : format_table())
        for (const Rule& rule : format->rules)
            if (rule.id == id) return &rule;
    return nullptr;
}

std::string_view severity_name(Severity severity) {
    constexpr std::string_view names[] = {"reject", "limit", "tolerate", "needs_context"};
    return names[static_cast<std::size_t>(severity)];
}

}  // namespace palimpsest
