// The table of passes.
#include "core/pass.h"

namespace palimpsest {

Result<PassFunction> make_clear_tool_results(const JsonValue& parameters);
Result<PassFunction> make_clear_tool_inputs(const JsonValue& parameters);
Result<PassFunction> make_clear_reasoning(const JsonValue& parameters);
Result<PassFunction> make_clear_media(const JsonValue& parameters);
Result<PassFunction> make_drop_superseded(const JsonValue& parameters);
Result<PassFunction> make_shorten(const JsonValue& parameters);
Result<PassFunction> make_summarize(const JsonValue& parameters);
Result<PassFunction> make_keep_last(const JsonValue& parameters);
Result<PassFunction> make_drop_oldest(const JsonValue& parameters);
Result<PassFunction> make_select_relevant(const JsonValue& parameters);
Result<PassFunction> make_fail(const JsonValue& parameters);

namespace {

constexpr PassKind kinds[] = {
    {"clear_tool_results", make_clear_tool_results,
     "replace old tool results by placeholders; calls and names stay"},
    {"clear_tool_inputs", make_clear_tool_inputs, "replace the arguments of old tool calls"},
    {"clear_reasoning", make_clear_reasoning, "take the reasoning out of older turns"},
    {"clear_media", make_clear_media, "take images, documents and audio out of older turns"},
    {"drop_superseded", make_drop_superseded, "drop calls that were made again later"},
    {"shorten", make_shorten, "cut the middle out of huge messages"},
    {"summarize", make_summarize, "fold the oldest turns into a summary"},
    {"keep_last", make_keep_last, "keep the newest messages, turns or tokens, drop what is older"},
    {"drop_oldest", make_drop_oldest, "drop the oldest turns until it fits"},
    {"select_relevant", make_select_relevant, "keep what the latest question is about"},
    {"fail", make_fail, "leave nothing out; fail instead"},
};

}  // namespace

std::span<const PassKind> pass_kinds() {
    return kinds;
}

}  // namespace palimpsest
