// validate: one line of JSON for each broken rule; exit status 1 when the provider would refuse it.
#include "base/json.h"
#include "cli/documents.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"format", "F", "openai_chat, openai_responses or anthropic."},
    {"model", "M", "The model that it is sent to; a body's own model otherwise."},
    {"jsonl", "", "One list or body per line."},
    {"all", "", "Also what providers tolerate."},
};

void print(Output& out, const Violation& violation, std::size_t line) {
    std::string text;
    JsonWriter json(text);
    json.begin_object().field("rule", violation.rule);
    json.key("at").number(std::uint64_t{violation.at});
    if (line > 0) json.key("line").number(std::uint64_t{line});
    json.field("message", violation.message);
    json.field("severity", severity_name(violation.severity)).end_object();
    out.json_line(std::move(text));
}

// JSON with duplicate keys is a broken rule; what is no JSON at all is an error, except on one line
// of many.
Result<std::vector<Violation>> check(FormatId format, const InputDocument& document,
                                     const CheckOptions& options) {
    auto violations = validate_json(format, document.json, options);
    if (violations) return violations;
    const bool twice = parse_json(document.json, {.duplicate_keys = true}).has_value();
    if (!twice && document.line == 0) return violations;
    return std::vector<Violation>{{"json", 0, violations.error().message, Severity::reject}};
}

}  // namespace

extern const Flags validate_flags;
const Flags validate_flags = flags;

Result<int> run_validate(Invocation& call) {
    PAL_TRY(format, format_flag(call.arguments, "format"));
    const std::string model = call.arguments.get("model").value_or("");
    bool sendable = true;
    for (const InputDocument& document : split_documents(call.input, call.arguments.has("jsonl"))) {
        PAL_TRY(violations, check(format, document, {.model = model}));
        for (const Violation& violation : violations)
            if (call.arguments.has("all") || violation.severity != Severity::tolerate)
                print(call.out, violation, document.line);
        sendable = sendable && is_sendable(violations);
    }
    return sendable ? 0 : 1;
}

}  // namespace palimpsest
