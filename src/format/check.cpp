#include "format/check.h"

#include <algorithm>

#include "base/utf8.h"

namespace palimpsest {

void Findings::add(std::string_view rule, std::size_t at, std::string message) {
    const Rule* row = find_rule(rule);
    violations_.push_back(
        {row ? row->id : rule, at, std::move(message), row ? row->severity : Severity::reject});
}

std::vector<Violation> Findings::take() {
    std::stable_sort(violations_.begin(), violations_.end(),
                     [](const Violation& a, const Violation& b) { return a.at < b.at; });
    return std::move(violations_);
}

std::string quoted(std::string_view text) {
    return '"' + std::string(utf8_prefix(text, 80)) + (text.size() > 80 ? "...\"" : "\"");
}

void check_known_role(const NeutralMessage& message, std::size_t at, Findings& findings) {
    if (message.role != Role::other) return;
    findings.add("roles", at,
                 "the role " + quoted(message.role_text) +
                     " is unknown: use system, user, "
                     "assistant or tool, or leave the message out");
}

void check_arguments(const NeutralMessage& message, std::size_t at, Findings& findings) {
    for (const NeutralPart& part : message.parts) {
        if (!is_function_call(part) || part.custom) continue;
        const auto document = parse_json(part.arguments);
        if (document && document->root().is_object()) continue;
        findings.add(
            "arguments", at,
            "the arguments of call " + quoted(part.id) + " are not a JSON object: " +
                (document ? "they are a " + std::string(json_kind_name(document->root().kind()))
                          : document.error().message));
    }
}

}  // namespace palimpsest
