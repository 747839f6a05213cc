// event_schemas: what streamed answers look like, with an example of each; part of the table of
// schemas.cpp. A stream is text; the data of its events is JSON.
#pragma once
#include "server/schema.h"

namespace palimpsest {

// clang-format off
inline constexpr Schema event_schemas[] = {
    {"TurnEvents",
     R"({"type":"string","description":"events: start {conversation_id, turn_id, seq}, )"
     R"(compaction where there was one, delta {text} for each piece, then done with the whole )"
     R"(turn, or error; retry {reason} and tool {id, name, arguments} say that the deltas )"
     R"(before are not the answer"})",
     R"("event: start\ndata: {\"conversation_id\":\"alice\",)"
     R"(\"turn_id\":\"turn_0f8fad5bd9cb469fa16570867728950e1\",\"seq\":1}\n\n)"
     R"(event: delta\ndata: {\"text\":\"There are three.\"}\n\n)"
     R"(event: done\ndata: {\"conversation_id\":\"alice\",)"
     R"(\"turn_id\":\"turn_0f8fad5bd9cb469fa16570867728950e1\",\"seq\":2,)"
     R"(\"message\":{\"role\":\"assistant\",\"content\":\"There are three.\"},\"tool_calls\":[],)"
     R"(\"usage\":{\"input_tokens\":12,\"cached_tokens\":0,\"cache_write_tokens\":0,)"
     R"(\"output_tokens\":9,\"reasoning_tokens\":0},\"cost\":null,\"compaction\":null,)"
     R"(\"warnings\":[]}\n\n")"},
    {"CompletionEvents",
     R"({"type":"string","description":"OpenAI's chunks without event names: the first has the )"
     R"(role, the last a finish_reason; with stream_options.include_usage one more has the )"
     R"(usage; [DONE] ends the stream"})",
     R"("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",)"
     R"(\"created\":1767605400,\"model\":\"echo\",\"choices\":[{\"index\":0,)"
     R"(\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n)"
     R"(data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",)"
     R"(\"created\":1767605400,\"model\":\"echo\",\"choices\":[{\"index\":0,\"delta\":{},)"
     R"(\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")"},
    {"AnthropicEvents",
     R"({"type":"string","description":"Anthropic's events: message_start, then for each block )"
     R"(of the content content_block_start, content_block_delta and content_block_stop, then )"
     R"(message_delta with stop_reason and usage, and message_stop; or error"})",
     R"("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",)"
     R"(\"type\":\"message\",\"role\":\"assistant\",\"model\":\"echo\",\"content\":[],)"
     R"(\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,)"
     R"(\"output_tokens\":0}}}\n\n)"
     R"(event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,)"
     R"(\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n)"
     R"(event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,)"
     R"(\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n)"
     R"(event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n)"
     R"(event: message_delta\ndata: {\"type\":\"message_delta\",)"
     R"(\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},)"
     R"(\"usage\":{\"output_tokens\":1}}\n\n)"
     R"(event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")"},
    {"ResponseEvents",
     R"({"type":"string","description":"OpenAI's events, numbered by sequence_number: )"
     R"(response.created, response.in_progress, for each item response.output_item.added, its )"
     R"(parts and deltas, response.output_item.done, then response.completed, )"
     R"(response.incomplete or response.failed with the whole response"})",
     R"("event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,)"
     R"(\"response\":{\"id\":\"resp_0f8fad5bd9cb469fa16570867728950e1\",\"object\":\"response\",)"
     R"(\"created_at\":1767605400,\"status\":\"in_progress\",\"model\":\"echo\",)"
     R"(\"output\":[]}}\n\nevent: response.output_text.delta\ndata: )"
     R"({\"type\":\"response.output_text.delta\",\"sequence_number\":4,)"
     R"(\"item_id\":\"msg_0f8fad5bd9cb469fa16570867728950e2\",\"output_index\":0,)"
     R"(\"content_index\":0,\"delta\":\"Hi\",\"logprobs\":[]}\n\n)"
     R"(event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":8,)"
     R"(\"response\":{\"id\":\"resp_0f8fad5bd9cb469fa16570867728950e1\",\"object\":\"response\",)"
     R"(\"created_at\":1767605400,\"status\":\"completed\",\"model\":\"echo\",)"
     R"(\"output\":[]}}\n\n")"},
    {"AnthropicError",
     R"({"type":"object","required":["type","error"],"properties":{"type":{"type":"string", )"
     R"("enum":["error"]},"error":{"type":"object","required":["type","message"], )"
     R"("properties":{"type":{"type":"string"},"message":{"type":"string"}, )"
     R"("details":{"type":"object"}}}}})",
     R"({"type":"error","error":{"type":"not_found_error","message":"there is no model 'm'"}})"},
};
// clang-format on

}  // namespace palimpsest
