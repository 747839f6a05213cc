// The two forms of `pal compact`: of a conversation in a store, and of a file.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "palimpsest/entry.h"

namespace palimpsest {

// `policy` is JSON or a preset's name; empty: the default preset.
Result<int> run_compact_file(Invocation& call, std::string policy);
// JSON as it stands, a preset's name, or the name of a file that holds it.
Result<std::string> policy_argument(const std::string& text);

// For people, on standard error: what became of which messages, and why.
void explain_compaction(std::string_view outcome, const std::string& explanation,
                        std::span<const Edit> edits);
Result<void> write_report_file(const std::string& path, const std::string& json);

}  // namespace palimpsest
