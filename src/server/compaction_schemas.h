// compaction_schemas: the shape of a compaction and its report; part of the table of schemas.cpp.
#pragma once
#include "server/schema.h"

namespace palimpsest {

// clang-format off
inline constexpr Schema compaction_schemas[] = {
    {"Compaction",
     R"({"type":"object","required":["outcome","seq","tokens_before","tokens_after","edits"],
        "properties":{"outcome":{"type":"string"},"seq":{"type":["integer","null"]},
        "tokens_before":{"$ref":"#/components/schemas/Count"},
        "tokens_after":{"$ref":"#/components/schemas/Count"},"edits":{"type":"array",
        "items":{"type":"object","required":["kind","from","to","reason","tokens_before",
        "tokens_after"],"properties":{"kind":{"type":"string"},
        "from":{"$ref":"#/components/schemas/Seq"},"to":{"$ref":"#/components/schemas/Seq"},
        "reason":{"type":"string"},"pass":{"type":"string"},
        "tokens_before":{"$ref":"#/components/schemas/Count"},
        "tokens_after":{"$ref":"#/components/schemas/Count"},
        "summary":{"type":["string","null"]},"message":{"type":["object","null"]},
        "scrubbed":{"type":"boolean"}}}},
        "strategy":{"type":"string"},"policy":{"type":"string"},"trigger_reason":{"type":"string"},
        "level":{"type":"string"},"summarizer":{"type":"string"},"explanation":{"type":"string"},
        "compacted_inputs":{"$ref":"#/components/schemas/Count"},
        "compacted_outputs":{"$ref":"#/components/schemas/Count"},
        "total_items_before":{"$ref":"#/components/schemas/Count"},
        "total_items_after":{"$ref":"#/components/schemas/Count"},
        "turns_before":{"$ref":"#/components/schemas/Count"},
        "turns_after":{"$ref":"#/components/schemas/Count"},
        "cleared":{"$ref":"#/components/schemas/Count"},
        "shortened":{"$ref":"#/components/schemas/Count"},
        "folded":{"$ref":"#/components/schemas/Count"},
        "dropped":{"$ref":"#/components/schemas/Count"},
        "request_before":{"$ref":"#/components/schemas/Count"},
        "request_after":{"$ref":"#/components/schemas/Count"},
        "target":{"$ref":"#/components/schemas/Count"},
        "limit":{"$ref":"#/components/schemas/Count"},"floor":{"$ref":"#/components/schemas/Count"},
        "first_byte_changed":{"$ref":"#/components/schemas/Count"},
        "prefix_tokens":{"$ref":"#/components/schemas/Count"},
        "summary_calls":{"$ref":"#/components/schemas/Count"},
        "summary_input_tokens":{"$ref":"#/components/schemas/Count"},
        "summary_output_tokens":{"$ref":"#/components/schemas/Count"},
        "compacted_count":{"$ref":"#/components/schemas/Count"},
        "first_changed":{"$ref":"#/components/schemas/Count"},
        "keep_turns":{"type":["integer","null"]},"trigger_turns":{"type":["integer","null"]},
        "token_budget":{"type":["integer","null"]},"token_soft_budget":{"type":["integer","null"]},
        "compacted_call_ids":{"type":"array","items":{"type":"string"}},
        "compacted_tool_names":{"type":"array","items":{"type":"string"}},
        "excluded_tools":{"type":"array","items":{"type":"string"}},
        "included_tools":{"type":"array","items":{"type":"string"}},
        "cache_prefix_tokens":{"type":"array","items":{"$ref":"#/components/schemas/Count"}},
        "clear_tool_inputs":{"type":"boolean"},"summary_cost":{"type":"number"}}})",
     R"({"outcome":"done","seq":9,"tokens_before":900,"tokens_after":90,
        "edits":[{"kind":"dropped","from":1,"to":7,"reason":"older than the last 2 messages",
        "pass":"keep_last","tokens_before":810,"tokens_after":0}]})"},
};
// clang-format on

}  // namespace palimpsest
