// Policies by name. docs/POLICIES.md has the sweep that the numbers of `balanced` come from.
#include <algorithm>

#include "core/policy.h"

namespace palimpsest {
namespace {

constexpr Preset table[] = {
    {"none", R"({"name":"none","strategy":"none","passes":[]})", "never compacts"},
    {"balanced", R"({"name":"balanced","strategy":"compact",
"triggers":{"hard":{"window_share":0.9}},"target":{"window_share":0.4},
"passes":[{"pass":"clear_tool_results","keep_tool_uses":3,"keep_identifiers":40,
"min_tokens":100,"min_gain":{"window_share":0.3},"target":0},
{"pass":"summarize","max_tokens":400,"max_share":0.01},
{"pass":"drop_oldest","target":{"window_share":0.75}}]})",
     "the default: clears old tool results where it pays, then folds, then drops"},
    {"trim", R"({"name":"trim","strategy":"trim",
"triggers":{"hard":{"remaining_pct":0.2}},"target":{"window_share":0.6},
"passes":[{"pass":"drop_oldest"}]})",
     "drops the oldest turns when a fifth of the window is left"},
    {"compact", R"({"name":"compact","strategy":"compact",
"triggers":{"hard":{"remaining_pct":0.2}},
"passes":[{"pass":"clear_tool_results","keep_turns":2,"min_tokens":0,"target":0}]})",
     "replaces tool results older than two turns by placeholders, when a fifth is left"},
    {"summarize", R"({"name":"summarize","strategy":"summarize",
"triggers":{"hard":{"remaining_pct":0.2}},
"passes":[{"pass":"summarize","keep_turns":1,"max_tokens":300}]})",
     "folds all but the latest turn into a summary, when a fifth is left"},
    {"window_half", R"({"name":"window_half","strategy":"trim",
"triggers":{"hard":{"window_share":0.95}},"target":{"window_share":0.5},
"passes":[{"pass":"drop_oldest"}]})",
     "drops the oldest turns down to half of the window when it is full"},
    {"message_limit", R"({"name":"message_limit","strategy":"trim",
"triggers":{"hard":{"messages":50}},"passes":[{"pass":"keep_last","messages":50}]})",
     "keeps the last 50 messages, from the start of a turn on"},
    {"token_limit", R"({"name":"token_limit","strategy":"trim",
"triggers":{"hard":{"tokens":100000}},"passes":[{"pass":"drop_oldest"}]})",
     "at 100,000 tokens drops the oldest turns, down to three quarters"},
    {"composite", R"({"name":"composite","strategy":"trim",
"triggers":{"hard":{"messages":200,"tokens":100000}},"target":{"tokens":75000},
"passes":[{"pass":"keep_last","messages":200,"when":{"messages":200}},
{"pass":"drop_oldest","when":{"tokens":100000}}]})",
     "a message limit and a token limit, whichever is reached first"},
    {"keep_last_n", R"({"name":"keep_last_n","strategy":"trim",
"triggers":{"hard":{"messages":20}},"protect":{"roles":["system"]},
"passes":[{"pass":"keep_last","messages":20}]})",
     "keeps the last 20 messages and all system messages"},
    {"tldr", R"({"name":"tldr","strategy":"summarize",
"triggers":{"hard":{"remaining_pct":0.2}},"protect":{"first_user":true,"roles":["system"]},
"passes":[{"pass":"summarize","keep_turns":1,"max_tokens":600,"keep_first_user":true}]})",
     "keeps system messages and the first user message, folds the rest up to the latest turn"},
    {"preserve_last_4", R"({"name":"preserve_last_4","strategy":"trim",
"triggers":{"hard":{"tokens":100000}},"passes":[{"pass":"keep_last","messages":4}]})",
     "at 100,000 tokens keeps the last 4 messages, back to the start of a turn"},
    {"strict", R"({"name":"strict","strategy":"none","passes":[{"pass":"fail"}]})",
     "fails when the window is full, instead of leaving anything out"},
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
