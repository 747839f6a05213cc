// Triggers: when it is due to compact. A trigger reads sums and times only, never the items, so to
// find nothing due costs the same at any length.
//
//     {"messages": 200, "tokens": 32000}                       any of them
//     {"all": [{"tokens": 32000}, {"idle_s": 300}]}            all of them
//     {"hard": {"window_share": 0.9}, "soft": {"window_share": 0.7}}
//
// Counts (messages, turns, media) fire when there are more; tokens, bytes and times when there are
// so many.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/compaction.h"

namespace palimpsest {

// A tree: a condition, or any/all of several.
struct Trigger {
    enum class Kind : std::uint8_t { never, condition, any, all } kind = Kind::never;
    std::string name = {};            // of the condition: "tokens"
    double value = 0;                 // what it is compared with
    TriggerFunction is_due = {};      // condition
    std::vector<Trigger> parts = {};  // any, all
};

enum class Level : std::uint8_t { none, soft, hard };
std::string_view level_name(Level level);

struct Due {
    Level level = Level::none;
    std::string trigger = {};  // "tokens"; of an all: "tokens+idle_s"
    // The tokens at which it fired, if it is one that counts them: what the default target is
    // taken from.
    std::optional<std::uint64_t> at_tokens = {};
    // Triggers that would be due as well, and rest (see Stall) until the view has so many tokens.
    struct Rest {
        std::string trigger = {};
        std::uint64_t until = 0;
    };
    std::vector<Rest> resting = {};
};

Result<Trigger> read_trigger(const JsonValue& value, const Extensions& extensions);

// What is due in this tree; its level is `level`, or none.
Due due_in(const Trigger& trigger, Level level, const Occasion& occasion);
// The least number of tokens at which it fires; none if it does not count them.
std::optional<std::uint64_t> trigger_tokens(const Trigger& trigger, std::uint64_t window);

// A row of the table.
struct TriggerKind {
    std::string_view name;
    bool (*is_due)(const Occasion& occasion, double value);
    std::string_view help;
};
std::span<const TriggerKind> trigger_kinds();

// The no-progress guard. The same without what rests of the policy with this fingerprint: costs
// more than due_in() only where something is due. Its `resting` stays empty.
Due due_awake(const Trigger& trigger, Level level, const Occasion& occasion,
              const Fingerprint& policy);
// All that is due in this tree and rests. Costs something only where compactions freed nothing.
void add_resting(const Trigger& trigger, Level level, const Occasion& occasion,
                 const Fingerprint& policy, std::vector<Due::Rest>& out);
// After each compaction that was tried and did not end the turn; `tokens` of the view before it.
// What freed something wakes every trigger: the view is another one. True: this one rests now.
bool note_progress(std::vector<Stall>& stalls, const Fingerprint& policy, const Due& due,
                   std::uint64_t tokens, bool freed);

}  // namespace palimpsest
