#include "engine/ask.h"

namespace palimpsest {

Result<Answer> ask_model(Model& model, const ModelRequest& request, const OnText& on_text) {
    OnPiece on_piece;
    if (on_text)
        on_piece = [&](const StreamDelta& delta) {
            return delta.kind != StreamDelta::Kind::text || on_text(delta.text);
        };
    PAL_TRY(reply, model.call(request, on_piece));
    if (reply.messages.empty())
        return fail(ErrorCode::upstream_failed,
                    "the model " + std::string(model.name()) + " answered without a message");
    Answer answer;
    answer.message = std::move(reply.messages.back());
    reply.messages.pop_back();
    answer.earlier = std::move(reply.messages);
    answer.interrupted = reply.interrupted;
    answer.warnings = std::move(reply.warnings);
    if (reply.usage)
        answer.usage = {.input = reply.usage->input_tokens,
                        .cached = reply.usage->cached_tokens,
                        .cache_writes = reply.usage->cache_write_tokens,
                        .output = reply.usage->output_tokens,
                        .reasoning = reply.usage->reasoning_tokens};
    return answer;
}

}  // namespace palimpsest
