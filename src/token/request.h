// What a whole request takes of a model's window: the text, and all that the service adds.
// Counted from the request's JSON body, so tool schemas and structured replies count as well.
#pragma once
#include "palimpsest/error.h"
#include "palimpsest/tokenizer.h"
#include "token/models.h"

#include <cstdint>
#include <string_view>

namespace palimpsest {

// What a request has, as far as services are known to charge for it.
struct RequestShape {
    std::uint64_t arguments = 0;     // Tokens of calls, their names and arguments: of `messages`.
    std::uint64_t reply_schema = 0;  // Tokens of the schema of a structured reply: of `tools`.
    std::uint32_t messages = 0, calls = 0, results = 0, tools = 0;
    bool forced = false;    // The model must call a tool.
    bool thinking = false;  // It is asked to think first.
};

// Tokens of a request by what they are spent on.
struct RequestCount {
    std::uint64_t messages = 0, tools = 0, media = 0;
    std::uint64_t overhead = 0;       // Around messages,
    std::uint64_t tool_overhead = 0;  // and for having tools.
    bool server_tools = false;        // The service runs tools of its own: more than we can see.
    RequestShape shape = {};
    std::uint64_t total() const { return messages + tools + media + overhead + tool_overhead; }
};

// `body` is a request of the Chat Completions API. `counter` must count with the model's encoding.
// Fails with invalid_request if it is not JSON with a list of messages.
Result<RequestCount> count_chat_request(const ModelSpec& model, TokenCounter& counter,
                                        std::string_view body);

// The same for the Messages API of Anthropic.
Result<RequestCount> count_messages_request(const ModelSpec& model, TokenCounter& counter,
                                            std::string_view body);

struct ImageSize {
    std::uint32_t width = 0, height = 0;  // 0: not known
};
// An image of unknown size counts as one of 1024 by 1024 pixels.
std::uint64_t image_tokens(const ImageRule& rule, ImageSize size, bool low_detail);
// The same for image data in base64.
ImageSize size_of_image(std::string_view base64);

// A file that is sent along, in base64: text counts as its tokens, a PDF by its pages. What other
// files cost is not known; a token for 48 bytes.
struct AttachedFile {
    std::string_view media_type, base64;
};
std::uint64_t file_tokens(const ImageRule& rule, TokenCounter& counter, const AttachedFile& file);

}  // namespace palimpsest
