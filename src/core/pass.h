// Passes: one strategy each, pure, a file and a row of the table.
//
// A pass looks at the items of a view in their groups and turns and says which groups should fare
// how. It cannot split a group, and what is protected is taken out of what it says: a pinned or
// open group, the newest group, the latest user message, and system messages stay whatever a pass
// asks for.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/entry.h"
#include "palimpsest/error.h"
#include "palimpsest/view.h"

namespace palimpsest {

struct PassInput {
    std::span<const Item> items = {};
    std::span<const Group> groups = {};
    std::span<const Turn> turns = {};
    std::vector<bool> is_protected = {};  // by group
};

// What a pass asks for: the groups that should be treated so, ascending.
struct PlannedEdit {
    Treatment treatment = Treatment::dropped;
    std::vector<std::size_t> groups = {};
    std::string reason = {};
};

struct PassResult {
    bool not_enough_history = false;  // there is nothing that it could cut
    std::vector<PlannedEdit> edits = {};
};
using PassFunction = std::function<PassResult(const PassInput&)>;

// A row of the table: `make` reads the parameters of {"pass": NAME, ...} and refuses what it does
// not know, naming the field.
struct PassKind {
    std::string_view name;
    Result<PassFunction> (*make)(const JsonValue& parameters);
    std::string_view help;
};
std::span<const PassKind> pass_kinds();

// Groups that no pass may touch.
std::vector<bool> protected_groups(std::span<const Item> items, std::span<const Group> groups);

// The group to cut before, so that what is kept begins well: back to the start of the turn of
// `nominal`; if that frees nothing, forward to the next turn; inside one long turn between its
// groups (with reasoning: before a group that begins with it).
std::size_t safe_start(const PassInput& input, std::size_t nominal);

}  // namespace palimpsest
