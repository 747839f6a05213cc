// Policies by name.
#include <algorithm>

#include "core/policy.h"

namespace palimpsest {
namespace {

constexpr Preset table[] = {
    {"none", R"({"name":"none","strategy":"none","passes":[]})", "never compacts"},
    {"balanced",
     R"({"name":"balanced","strategy":"compact",
"triggers":{"hard":{"window_share":0.9}},"target":{"window_share":0.5},
"passes":[{"pass":"clear_tool_results","keep_tool_uses":3,"keep_identifiers":40},
{"pass":"summarize"},{"pass":"drop_oldest"}]})",
     "clears old tool results where it pays, then folds, then drops; cheap on the cache"},
};

}  // namespace

std::span<const Preset> presets() {
    return table;
}

std::string_view find_preset(std::string_view name) {
    const auto at = std::ranges::find(table, name, &Preset::name);
    return at == std::end(table) ? std::string_view() : at->json;
}

}  // namespace palimpsest
