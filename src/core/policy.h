// A policy: when to compact, how, to what, and what to protect. Read from JSON, never half: what is
// not understood is an error that names the field.
//
//     "balanced"                                            a preset, by its name
//     {"mode": "compact", "compact_keep": 2, ...}           the memory strategy object
//     {"triggers": {...}, "passes": [...], "target": ...}   the general form
//
// The first two are names for general policies: expand_policy() writes them out.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/recall_budget.h"
#include "core/trigger.h"
#include "palimpsest/compaction.h"

namespace palimpsest {

// A number of tokens, or a share of the window.
struct Amount {
    std::optional<std::uint64_t> tokens = {};
    std::optional<double> window_share = {};
    bool empty() const { return !tokens && !window_share; }
    // None when it is a share and the window is not known.
    std::optional<std::uint64_t> in(std::uint64_t window) const;
};

struct PolicyPass {
    std::string name = {};
    PassFunction run = {};
    std::string model = {};       // that it names for its summaries
    Amount target = {};           // its own stop; empty: the policy's
    Amount min_gain = {};         // all or nothing: what it cannot free so much of it leaves alone
    Trigger when = {};            // it runs only when this is due too; never: always
    bool removes_oldest = false;  // it folds or drops the oldest groups until the target is met
};

struct Protect {
    std::size_t turns = 0, tool_uses = 0;  // the newest so many
    bool first_user = false;
    bool run_start = true;  // where the newest run of calls can begin; not for the last resort
    std::vector<Role> roles = {Role::system};
    std::vector<std::string> tools = {};  // lower case
    std::function<bool(const Item&)> predicate = {};
};

struct SummaryInjection {
    bool on = false;
    std::uint32_t max_age_days = 14;
    std::uint32_t max_chars = 4000;
};

struct Policy {
    Fingerprint print = {};  // of the text that it was read from
    std::string name = {};
    std::string strategy = "none";  // for metrics and events: none, trim, compact, summarize, own
    Trigger hard = {}, soft = {};
    std::vector<PolicyPass> passes = {};
    // What is done when the passes left too much for the window; empty: drop_oldest and shorten.
    std::vector<PolicyPass> last_resort = {};
    Amount target = {};                   // empty: three quarters of the trigger that fired
    Amount min_gain = {};                 // of the whole compaction
    double min_gain_dollars = 0;          // the same in money, over the calls below or ten
    std::uint32_t pays_within_calls = 0;  // 0: not asked; else the edit must have paid for itself
    Protect protect = {};
    std::uint64_t window_tokens = 0;  // at most so much of the model's window; 0: all of it
    std::uint64_t reply_tokens = 0;   // kept free when the request says nothing
    std::string summarizer_model = {};
    SummaryInjection injection = {};
    RecallBudget recall = {};  // what comes back beside a new question
    bool is_none() const { return passes.empty(); }
};

Result<Policy> parse_policy(std::string_view json, const Extensions& extensions = {});

// For a policy that somebody gives; one that stands in a store or in an export is read whatever its
// size is. `standing`: the one that it replaces; what is as large as there is taken.
Result<void> check_policy_size(std::string_view given, std::string_view standing = {});

// As JSON, for whoever shows it: a preset may stand in a header by its bare name. Empty: null.
std::string policy_json(std::string_view policy);

// Whether every name is new and every function there.
Result<void> check_extensions(const Extensions& extensions);

// The same policy in the general form, as JSON. Fails as parse_policy does.
Result<std::string> expand_policy(std::string_view json);

// The first level that is present is used whole. A level is absent when it is empty or "null".
struct PolicyLevels {
    std::string_view request = {}, conversation = {}, agent = {}, server = {};
};
std::string_view choose_policy(const PolicyLevels& levels);

// The strategy object with the patch's fields put in; a null takes its field out. "" when nothing
// is left. Fails when the result is no policy.
Result<std::string> patch_strategy(std::string_view strategy, std::string_view patch);

// What a request body's own fields ask for ("context_management" of Anthropic and OpenAI,
// OpenAI's "truncation"), as a policy in the general form; "" when they ask for nothing.
Result<std::string> policy_of_request(std::string_view request_body, FormatId format);

// A preset by name: its general form, or "" .
struct Preset {
    std::string_view name, json, help;
};
std::span<const Preset> presets();
std::string_view find_preset(std::string_view name);

// The budget under this policy: its window if that is smaller, its reply if none is given.
Budget budget_under(const Policy& policy, Budget budget);

}  // namespace palimpsest
