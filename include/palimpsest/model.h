// The model port: messages in, an answer out, piece by piece.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "palimpsest/memory.h"

namespace palimpsest {

struct ModelRequest {
    std::span<const Message> messages = {};
    std::string_view tools = {};       // JSON list
    std::string_view parameters = {};  // JSON object
};

// May be called from several threads at once.
class Model {
public:
    virtual ~Model() = default;
    virtual std::string_view name() const = 0;
    // The format that it speaks: what it is sent, and what its answer is in.
    virtual FormatId format() const = 0;
    // Calls `on_delta` with each piece of text as it comes. When that returns false, or the model's
    // server fails after the answer began, gives what there is, marked interrupted.
    virtual Result<Answer> call(const ModelRequest& request, const OnDelta& on_delta) = 0;
};

// For demos and tests, offline: repeats the latest user message, word by word, and says how much
// it was sent.
std::unique_ptr<Model> make_echo_model();

}  // namespace palimpsest
