// Passes: one strategy each, pure, a file and a row of the table.
//
// A pass looks at the groups and turns of a view and says which should fare how; see PassInput and
// PassResult in palimpsest/compaction.h. It cannot split a group, and what is protected is taken
// out of what it says: the planner does that, not the pass.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/scan.h"
#include "palimpsest/compaction.h"

namespace palimpsest {

// A row of the table: `make` reads the parameters of {"pass": NAME, ...} and refuses what it does
// not know, naming the field.
struct PassKind {
    std::string_view name;
    Result<PassFunction> (*make)(const JsonValue& parameters);
    std::string_view help;
};
std::span<const PassKind> pass_kinds();

struct Protect;

// How far a group is out of reach of passes, by group. Pinned and open groups and what the policy
// protects stay verbatim; the newest group and the latest user message stay, but a single message
// that is too large for the window may still be shortened.
std::vector<Shield> shields(std::span<const Item> items, const Scan& scan, const Protect& protect,
                            const MessageTools* tools);

// Whether it calls tools, in whichever of its items: reasoning may stand before the calls.
bool has_calls(std::span<const Item> items, const Group& group);

// Where a cut before group `at` of the newest turn goes on to: a run of calls that loses the
// thought it began with begins with its next one, so that thinking need not be switched off for it.
// `at` itself where there is no such thought or something before it must stay.
std::size_t cut_at_thought(const PassInput& input, std::size_t at);

// The reach of one result or call: the name of its tool, resolved through the call ids of the
// group.
std::string tool_of(const PassInput& input, const Group& group, std::string_view call_id);

}  // namespace palimpsest
