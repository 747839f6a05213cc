// A Chat Completions message taken apart: what PromptKit's and Koog's messages are read into and
// written from, so that text in parts, media, reasoning and calls go both ways.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_write.h"
#include "engine/foreign_parts.h"

namespace palimpsest {

// A text, or media when `kind` is set: "image", "audio", "document".
struct ChatPiece {
    std::string text = {};
    std::string kind = {};
    std::string media_type = {}, data = {}, url = {}, name = {}, detail = {};
};
struct ChatCall {
    std::string id = {}, name = {}, arguments = {};
};
struct ChatMessage {
    std::string role = {};
    std::vector<ChatPiece> pieces = {};
    std::string reasoning = {};
    std::vector<ChatCall> calls = {};
    std::string answers = {};  // role tool: the id of the call

    bool has_media() const;
    // The texts, one after the other.
    std::string text(std::string_view between = "") const;
};

ChatMessage read_chat(JsonValue message, Losses& losses);
// Media that the role cannot have are reported.
std::string write_chat(const ChatMessage& message, Losses& losses);

// The tool that each call was made to, by the call's id.
using ToolNames = std::map<std::string, std::string>;

// `data:TYPE;base64,DATA` into media_type and data; anything else is a URL.
void set_media_source(ChatPiece& piece, std::string_view url);

}  // namespace palimpsest
