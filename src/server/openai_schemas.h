// openai_schemas: the shapes of OpenAI's Conversations and Responses, part of the table of
// schemas.cpp. Requests are closed: a field that we do not honour is refused by its name.
#pragma once
#include "server/schema.h"

namespace palimpsest {

// clang-format off
inline constexpr Schema openai_schemas[] = {
    {"OpenAiMetadata",
     R"({"type":["object","null"],"description":"up to the caller; shown with the object"})",
     R"({"topic":"travel"})"},
    {"OpenAiItem",
     R"({"type":"object","description":"an item of the Responses API: a message, a call, ..."})",
     R"({"type":"message","role":"user","content":"Find me a flight to Oslo"})"},
    {"OpenAiNewConversation",
     R"({"type":"object","additionalProperties":false,"properties":{
        "metadata":{"$ref":"#/components/schemas/OpenAiMetadata"},
        "items":{"type":["array","null"],"maxItems":1000,
        "items":{"$ref":"#/components/schemas/OpenAiItem"}}}})",
     R"({"metadata":{"topic":"travel"},"items":[{"type":"message","role":"user",
        "content":"Find me a flight to Oslo"}]})"},
    {"OpenAiConversation",
     R"({"type":"object","required":["id","object","created_at","metadata"],
        "properties":{"id":{"type":"string"},"object":{"type":"string","enum":["conversation"]},
        "created_at":{"type":"integer"},"metadata":{"type":"object"}}})",
     R"({"id":"conv_0f8fad5bd9cb469fa16570867728950e","object":"conversation",
        "created_at":1767605400,"metadata":{"topic":"travel"}})"},
    {"OpenAiConversationList",
     R"({"type":"object","required":["object","data","has_more","first_id","last_id"],
        "properties":{"object":{"type":"string","enum":["list"]},"data":{"type":"array",
        "items":{"$ref":"#/components/schemas/OpenAiConversation"}},
        "has_more":{"type":"boolean"},"first_id":{"$ref":"#/components/schemas/TextOrNull"},
        "last_id":{"$ref":"#/components/schemas/TextOrNull"},"next":{"type":"string"}}})",
     R"({"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null})"},
    {"OpenAiConversationUpdate",
     R"({"type":"object","additionalProperties":false,"required":["metadata"],
        "description":"the metadata are replaced","properties":{
        "metadata":{"$ref":"#/components/schemas/OpenAiMetadata"}}})",
     R"({"metadata":{"topic":"work"}})"},
    {"OpenAiDeletedConversation",
     R"({"type":"object","required":["id","object","deleted"],"properties":{
        "id":{"type":"string"},"object":{"type":"string"},"deleted":{"type":"boolean"}}})",
     R"({"id":"conv_0f8fad5bd9cb469fa16570867728950e","object":"conversation.deleted",
        "deleted":true})"},
    {"OpenAiFork",
     R"({"type":"object","additionalProperties":false,"properties":{
        "id":{"type":"string","minLength":1,"maxLength":255},
        "at":{"type":["string","integer","null"],"minimum":0,"maximum":9007199254740991,
        "description":"the last item that both share, or a seq; the end unless given"},
        "metadata":{"$ref":"#/components/schemas/OpenAiMetadata"}}})",
     R"({"at":"msg_0f8fad5bd9cb469fa16570867728950e3"})"},
    {"OpenAiNewItems",
     R"({"type":"object","additionalProperties":false,"required":["items"],"properties":{
        "items":{"type":"array","maxItems":1000,
        "items":{"$ref":"#/components/schemas/OpenAiItem"}}}})",
     R"({"items":[{"type":"message","role":"user","content":"Find me a flight to Oslo"}]})"},
    {"OpenAiItemList",
     R"({"type":"object","required":["object","data","has_more","first_id","last_id"],
        "properties":{"object":{"type":"string","enum":["list"]},"data":{"type":"array",
        "items":{"$ref":"#/components/schemas/OpenAiItem"}},"has_more":{"type":"boolean"},
        "first_id":{"$ref":"#/components/schemas/TextOrNull"},
        "last_id":{"$ref":"#/components/schemas/TextOrNull"}}})",
     R"({"object":"list","data":[{"id":"msg_0f8fad5bd9cb469fa16570867728950e1","type":"message",
        "status":"completed","role":"user","content":[{"type":"input_text","text":"Hello"}]}],
        "has_more":false,"first_id":"msg_0f8fad5bd9cb469fa16570867728950e1",
        "last_id":"msg_0f8fad5bd9cb469fa16570867728950e1"})"},
};
// clang-format on

}  // namespace palimpsest
