// The two forms of `pal compact`: of a conversation in a store, and of a file.
#pragma once
#include <string>

#include "cli/command.h"

namespace palimpsest {

// `policy` is JSON or a preset's name; empty: the default preset.
Result<int> run_compact_file(Invocation& call, std::string policy);
// JSON as it stands, a preset's name, or the name of a file that holds it.
Result<std::string> policy_argument(const std::string& text);

}  // namespace palimpsest
