// The table of passes.
#include "core/pass.h"

namespace palimpsest {

Result<PassFunction> make_clear_tool_results(const JsonValue& parameters);
Result<PassFunction> make_keep_last(const JsonValue& parameters);
Result<PassFunction> make_drop_oldest(const JsonValue& parameters);
Result<PassFunction> make_shorten(const JsonValue& parameters);
Result<PassFunction> make_summarize(const JsonValue& parameters);

namespace {

constexpr PassKind kinds[] = {
    {"clear_tool_results", make_clear_tool_results,
     "replace old tool results by placeholders; calls and names stay"},
    {"shorten", make_shorten, "cut the middle out of huge messages"},
    {"summarize", make_summarize, "fold the oldest turns into a summary"},
    {"keep_last", make_keep_last, "keep the newest messages, turns or tokens, drop what is older"},
    {"drop_oldest", make_drop_oldest, "drop the oldest turns until it fits"},
};

}  // namespace

std::span<const PassKind> pass_kinds() {
    return kinds;
}

}  // namespace palimpsest
