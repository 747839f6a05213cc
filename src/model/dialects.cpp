#include "model/dialects.h"

#include <algorithm>

#include "base/assert.h"

namespace palimpsest {
namespace {

constexpr Dialect table[] = {
    {.format = FormatId::openai_chat,
     .path = "/chat/completions",
     .usual_url = "https://api.openai.com/v1",
     .usual_key = "OPENAI_API_KEY",
     .key_header = "Authorization",
     .key_prefix = "Bearer ",
     .version_header = "",
     .version = "",
     .list_field = "messages",
     .limit_field = "",
     .cap_field = "max_completion_tokens",
     .stream_fields = R"("stream":true,"stream_options":{"include_usage":true})",
     .cache_key_field = "prompt_cache_key",
     .embeddings_path = "/embeddings"},
    {.format = FormatId::openai_responses,
     .path = "/responses",
     .usual_url = "https://api.openai.com/v1",
     .usual_key = "OPENAI_API_KEY",
     .key_header = "Authorization",
     .key_prefix = "Bearer ",
     .version_header = "",
     .version = "",
     .list_field = "input",
     .limit_field = "",
     .cap_field = "max_output_tokens",
     .stream_fields = R"("stream":true)",
     .cache_key_field = "prompt_cache_key",
     .embeddings_path = "/embeddings"},
    {.format = FormatId::anthropic,
     .path = "/messages",
     .usual_url = "https://api.anthropic.com/v1",
     .usual_key = "ANTHROPIC_API_KEY",
     .key_header = "x-api-key",
     .key_prefix = "",
     .version_header = "anthropic-version",
     .version = "2023-06-01",
     .list_field = "messages",
     .limit_field = "max_tokens",
     .cap_field = "max_tokens",
     .stream_fields = R"("stream":true)",
     .provider = "anthropic",
     .calls_need_tools = true,
     .cache_marks = true},
};

}  // namespace

std::span<const Dialect> dialect_table() {
    return table;
}

const Dialect& dialect_of(FormatId format) {
    const auto row = std::ranges::find(table, format, &Dialect::format);
    PAL_ASSERT(row != std::end(table));
    return *row;
}

}  // namespace palimpsest
