// Messages: what was said, kept as the bytes that came in, read through parts.
//
// A message is never re-serialised. Its raw JSON is what is stored and, unchanged, what is sent.
// `Shape` is the little that grouping and folding need to know, so that neither reads JSON;
// `Parts` is the full reading, made on demand by read_parts() (format.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "palimpsest/types.h"

namespace palimpsest {

// The wire format that a message's raw bytes are in. Numbers are stored: never renumber.
enum class FormatId : std::uint8_t { openai_chat = 1, openai_responses = 2, anthropic = 3 };

// `other` is a role (or item type) we do not know: it is kept, and passed on where it came from.
enum class Role : std::uint8_t { system = 0, user = 1, assistant = 2, tool = 3, other = 4 };
std::string_view role_name(Role role);

// What grouping, folding and scrubbing know of a message. Survives a scrub.
struct Shape {
    Role role = Role::user;
    std::vector<std::string> calls = {};    // ids of the tool calls that it makes, in order
    std::vector<std::string> results = {};  // ids of the tool calls that it answers, in order
    bool text = false;                      // it has text of its own (beside results)
    bool reasoning = false;
    std::uint16_t media = 0;  // images, documents and audio clips

    // A turn begins at a user message that carries no tool result.
    bool starts_turn() const { return role == Role::user && results.empty(); }
    bool operator==(const Shape&) const = default;
};

// Tokens of a message's content under one encoding (`scheme`, see tokenizer.h; 0 = not counted).
// What the provider adds around messages is added per model, not here.
struct Count {
    std::uint16_t scheme = 0;
    std::uint32_t tokens = 0;
    bool operator==(const Count&) const = default;
};

struct Message {
    FormatId format = FormatId::openai_chat;
    Shape shape = {};
    Bytes raw = {};  // exactly what came in; null when it was read without content
    Fingerprint fingerprint = {};
    Count count = {};
};

// ---- parts: views into `raw`, or into `arena` where a JSON string had escapes -----------------
struct Text {
    std::string_view text;
};
struct Media {
    enum class Kind : std::uint8_t { image, document, audio } kind = Kind::image;
    std::string_view type = {};    // media type, if given
    std::string_view source = {};  // URL, file id, or base64 data
    std::string_view json = {};    // the whole part as it came in
};
struct ToolCall {
    std::string_view id = {}, name = {};
    std::string_view arguments = {};  // the arguments as JSON text
};
struct ToolResult {
    std::string_view id = {};
    std::string_view text = {};     // its text parts joined
    std::string_view content = {};  // the raw JSON of its content
    bool is_error = false;
};
struct Reasoning {
    std::string_view text = {}, signature = {};
};
struct Opaque {
    std::string_view json = {};  // anything that we do not know, as it came in
};
using Part = std::variant<Text, Media, ToolCall, ToolResult, Reasoning, Opaque>;

// The parts of one message, in order, and what keeps their views alive.
struct Parts {
    Bytes raw = {};
    Bytes arena = {};
    std::vector<Part> parts = {};
};

}  // namespace palimpsest
