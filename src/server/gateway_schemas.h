// gateway_schemas: the shapes of what providers' clients send and get, part of the table of
// schemas.cpp. These requests are open: a field that we need not understand is passed on.
#pragma once
#include "server/schema.h"

namespace palimpsest {

// clang-format off
inline constexpr Schema gateway_schemas[] = {
    {"ConversationName",
     R"({"anyOf":[{"type":"string"},{"type":"null"},{"type":"object","required":["id"],
        "properties":{"id":{"type":"string"}}}],
        "description":"beyond the provider's API: the conversation that this is a turn of"})",
     R"("alice")"},
    {"CompletionRequest",
     R"({"type":"object","required":["messages"],"properties":{
        "model":{"type":["string","null"]},
        "messages":{"type":"array","minItems":1,"items":{"type":"object"}},
        "conversation":{"$ref":"#/components/schemas/ConversationName"},
        "stream":{"type":["boolean","null"]},
        "stream_options":{"type":["object","null"],"properties":{
        "include_usage":{"type":["boolean","null"]}}},
        "n":{"type":["integer","null"],"minimum":1,"maximum":128},
        "store":{"type":["boolean","null"]},"metadata":{"type":["object","null"]},
        "tools":{"type":["array","null"]}}})",
     R"({"model":"echo","messages":[{"role":"user","content":"Find me a flight to Oslo"}]})"},
    {"Completion",
     R"({"type":"object","required":["id","object","created","model","choices"],"properties":{
        "id":{"type":"string"},"object":{"type":"string","enum":["chat.completion"]},
        "created":{"type":"integer"},"model":{"type":"string"},
        "choices":{"type":"array","items":{"type":"object","required":["index","message"]}},
        "usage":{"type":["object","null"]}}})",
     R"({"id":"chatcmpl-019a8b2c3d4e0f8fad5bd9cb469f","object":"chat.completion",
        "created":1767605400,"model":"echo","choices":[{"index":0,
        "message":{"role":"assistant","content":"There are three."},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21}})"},
    {"CompletionUpdate",
     R"({"type":"object","additionalProperties":false,"required":["metadata"],
        "properties":{"metadata":{"type":"object"}}})",
     R"({"metadata":{"topic":"travel"}})"},
    {"CompletionList",
     R"({"type":"object","required":["object","data","has_more","first_id","last_id"],
        "properties":{"object":{"type":"string","enum":["list"]},
        "data":{"type":"array","items":{"type":"object"}},"has_more":{"type":"boolean"},
        "first_id":{"type":["string","null"]},"last_id":{"type":["string","null"]}}})",
     R"({"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null})"},
    {"CompletionDeleted",
     R"({"type":"object","required":["object","id","deleted"],"properties":{
        "object":{"type":"string","enum":["chat.completion.deleted"]},"id":{"type":"string"},
        "deleted":{"type":"boolean"}}})",
     R"({"object":"chat.completion.deleted","id":"chatcmpl-019a8b2c3d4e0f8fad5bd9cb469f",
        "deleted":true})"},
    {"AnthropicRequest",
     R"({"type":"object","required":["messages"],"properties":{
        "model":{"type":["string","null"]},
        "messages":{"type":"array","items":{"type":"object"}},
        "system":{"type":["string","array","null"]},"tools":{"type":["array","null"]},
        "max_tokens":{"type":["integer","null"],"minimum":0},
        "stream":{"type":["boolean","null"]},
        "conversation":{"$ref":"#/components/schemas/ConversationName"},
        "thread":{"type":["object","null"]},
        "context_management":{"type":["object","null"]}}})",
     R"({"model":"echo","max_tokens":100,
        "messages":[{"role":"user","content":"Find me a flight to Oslo"}]})"},
    {"AnthropicMessage",
     R"({"type":"object","required":["id","type","role","content","model","stop_reason","usage"],
        "properties":{"id":{"type":"string"},"type":{"type":"string","enum":["message"]},
        "role":{"type":"string"},"content":{"type":"array"},"model":{"type":"string"},
        "stop_reason":{"type":["string","null"]},"usage":{"type":"object"},
        "context_management":{"type":["object","null"]}}})",
     R"({"id":"msg_019a8b2c3d4e0f8fad5bd9cb469f","type":"message","role":"assistant",
        "content":[{"type":"text","text":"There are three."}],"model":"echo",
        "stop_reason":"end_turn","stop_sequence":null,
        "usage":{"input_tokens":12,"output_tokens":9}})"},
    {"AnthropicCount",
     R"({"type":"object","required":["input_tokens"],
        "properties":{"input_tokens":{"$ref":"#/components/schemas/Count"},
        "context_management":{"type":["object","null"]}}})",
     R"({"input_tokens":12,"context_management":{"original_input_tokens":70}})"},
    {"ModelEntry",
     R"({"type":"object","required":["id","object","created","owned_by"],"properties":{
        "id":{"type":"string"},"object":{"type":"string","enum":["model"]},
        "created":{"type":"integer"},"owned_by":{"type":"string"}}})",
     R"({"id":"echo","object":"model","created":0,"owned_by":"palimpsest","type":"model",
        "display_name":"echo","created_at":"1970-01-01T00:00:00Z"})"},
    {"ModelEntries",
     R"({"type":"object","required":["object","data"],"properties":{
        "object":{"type":"string","enum":["list"]},"data":{"type":"array",
        "items":{"$ref":"#/components/schemas/ModelEntry"}}}})",
     R"({"object":"list","data":[{"id":"echo","object":"model","created":0,
        "owned_by":"palimpsest"}],"has_more":false,"first_id":"echo","last_id":"echo"})"},
    {"EmbeddingsRequest",
     R"({"type":"object","required":["input"],"properties":{"model":{"type":["string","null"]},
        "input":{"type":["string","array"]}}})",
     R"({"model":"embedder","input":"Find me a flight to Oslo"})"},
    {"Embeddings",
     R"({"type":"object","required":["object","data"],"properties":{
        "object":{"type":"string"},"data":{"type":"array"}}})",
     R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],
        "model":"embedder","usage":{"prompt_tokens":6,"total_tokens":6}})"},
};
// clang-format on

}  // namespace palimpsest
