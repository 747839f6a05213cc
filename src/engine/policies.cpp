#include "engine/policies.h"

#include <algorithm>

namespace palimpsest {

Result<void> check_summary_models(const PolicyInForce& in_force, const SummaryTerms& terms) {
    if (!in_force.policy || in_force.of_settings || terms.models.empty()) return {};
    const auto allowed = [&](const std::string& name) {
        return name.empty() || std::ranges::find(terms.models, name) != terms.models.end();
    };
    const Policy& policy = *in_force.policy;
    if (allowed(policy.summarizer_model) &&
        std::ranges::all_of(policy.passes, allowed, &PolicyPass::model) &&
        std::ranges::all_of(policy.last_resort, allowed, &PolicyPass::model))
        return {};
    return fail(ErrorCode::forbidden,
                "this key may not ask the model that the memory strategy names for summaries",
                "summarizer_model");
}

Result<std::shared_ptr<const Policy>> Policies::read(std::string_view text) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = kept_.find(text); found != kept_.end()) return found->second.policy;
    }
    PAL_TRY(policy, parse_policy(text, extensions_));
    auto shared = std::make_shared<const Policy>(std::move(policy));
    if (text.size() > text_bytes_max) return shared;
    const std::lock_guard lock(mutex_);
    // Texts come from clients: a flood of different ones must not grow it.
    if (kept_.size() >= kept_max) kept_.clear();
    kept_.emplace(text, Kept{shared});
    return shared;
}

// A size is checked once for a text that is kept.
Result<std::shared_ptr<const Policy>> Policies::read_given(std::string_view text) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = kept_.find(text);
        if (found != kept_.end() && found->second.in_size) return found->second.policy;
    }
    PAL_CHECK(check_policy_size(text));
    PAL_TRY(policy, read(text));
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(text); found != kept_.end()) found->second.in_size = true;
    return std::move(policy);
}

Result<PolicyInForce> Policies::read_chosen(std::string_view text) {
    if (text.empty()) return PolicyInForce{};
    PAL_TRY(policy, read(text));
    return PolicyInForce{std::string(text), policy, text == server_};
}

Result<PolicyInForce> Policies::choose(PolicyLevels levels) {
    levels.server = server_;
    const std::string_view text = choose_policy(levels);
    if (text.empty()) return PolicyInForce{};
    // The others stand already, and so does what is one of them.
    const bool given =
        text == levels.request && text != levels.conversation && text != levels.agent;
    if (given) PAL_CHECK(read_given(text));
    return read_chosen(text);
}

}  // namespace palimpsest
