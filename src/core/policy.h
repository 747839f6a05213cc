// A policy: when to compact, and how. Read from JSON, never half: what is not understood is an
// error that names the field.
//
//     {"triggers": {"messages": 200}, "passes": [{"pass": "keep_last", "turns": 20}]}
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/pass.h"

namespace palimpsest {

// Each fires when there are more than that many. Several: any of them.
struct Triggers {
    std::optional<std::size_t> messages = {}, turns = {};
};

struct PolicyPass {
    std::string name = {};
    PassFunction run = {};
};

struct Policy {
    std::string name = {};
    Triggers triggers = {};
    std::vector<PolicyPass> passes = {};
};

Result<Policy> parse_policy(std::string_view json);

}  // namespace palimpsest
