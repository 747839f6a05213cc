// Passes and triggers of the user's own, before they are taken.
#include <set>

#include "core/pass.h"
#include "core/policy.h"

namespace palimpsest {
namespace {

Result<void> check_own(std::string_view what, const std::string& name, bool callable,
                       std::set<std::string, std::less<>>& taken) {
    const std::string own = std::string(what) + " \"" + name + "\"";
    const auto refuse = [&](std::string_view why) {
        return fail(ErrorCode::invalid_request, own + " of your own " + std::string(why), name);
    };
    if (name.empty()) return refuse("has no name");
    if (!callable) return refuse("has no function");
    if (!taken.insert(name).second) return refuse("has a name that is taken");
    return {};
}

}  // namespace

Result<void> check_extensions(const Extensions& extensions) {
    std::set<std::string, std::less<>> passes, triggers = {"any", "all", "hard", "soft"};
    for (const PassKind& kind : pass_kinds()) passes.emplace(kind.name);
    for (const TriggerKind& kind : trigger_kinds()) triggers.emplace(kind.name);
    for (const OwnPass& own : extensions.passes)
        PAL_CHECK(check_own("the pass", own.name, own.run != nullptr, passes));
    for (const OwnTrigger& own : extensions.triggers)
        PAL_CHECK(check_own("the trigger", own.name, own.is_due != nullptr, triggers));
    return {};
}

}  // namespace palimpsest
