#include "core/policy.h"

#include <algorithm>

#include "core/pass_parameters.h"

namespace palimpsest {
namespace {

Result<PolicyPass> read_pass(const JsonValue& value) {
    const auto name = value.find("pass");
    if (!name || !name->is_string())
        return fail(ErrorCode::invalid_request,
                    "every element of \"passes\" is an object with a field \"pass\", a name",
                    "passes");
    for (const PassKind& kind : pass_kinds()) {
        if (kind.name != name->string()) continue;
        PAL_TRY(run, kind.make(value));
        return PolicyPass{std::string(kind.name), std::move(run)};
    }
    std::string message = "there is no pass \"" + std::string(name->string()) + "\"; there are";
    for (const PassKind& kind : pass_kinds()) message += " \"" + std::string(kind.name) + "\"";
    return fail(ErrorCode::invalid_request, std::move(message), "passes");
}

Result<Triggers> read_triggers(const JsonValue& value) {
    if (!value.is_object())
        return fail(ErrorCode::invalid_request, "\"triggers\" must be an object", "triggers");
    PAL_CHECK(only_fields(value, {"messages", "turns"}));
    PAL_TRY(messages, count_field(value, "messages"));
    PAL_TRY(turns, count_field(value, "turns"));
    return Triggers{messages, turns};
}

}  // namespace

Result<Policy> parse_policy(std::string_view json) {
    auto document = parse_json(json);
    if (!document)
        return fail(ErrorCode::invalid_request,
                    "the policy is not JSON: " + document.error().message, "policy");
    const JsonValue root = document->root();
    if (!root.is_object())
        return fail(ErrorCode::invalid_request, "a policy must be a JSON object", "policy");
    PAL_CHECK(only_fields(root, {"name", "triggers", "passes"}));
    Policy policy;
    if (const auto name = root.find("name")) policy.name = name->string();
    if (const auto triggers = root.find("triggers")) {
        PAL_TRY(read, read_triggers(*triggers));
        policy.triggers = read;
    }
    const auto passes = root.find("passes");
    if (passes && !passes->is_array())
        return fail(ErrorCode::invalid_request, "\"passes\" must be a list", "passes");
    if (passes)
        for (const JsonValue value : passes->elements()) {
            PAL_TRY(pass, read_pass(value));
            policy.passes.push_back(std::move(pass));
        }
    return policy;
}

}  // namespace palimpsest
