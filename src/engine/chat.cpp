// chat: begin, ask the model, finish. A request that the model refuses as too long is made smaller
// once.
#include "engine/ask.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

Result<ChatTurn> Memory::chat(const ConversationId& name, const BeginRequest& request, Model& model,
                              const OnText& on_text) {
    BeginRequest named = request;
    if (named.model.empty()) named.model = model.name();
    PAL_TRY(begun, begin(name, named));
    ChatTurn turn{.begun = std::move(begun)};
    if (turn.begun.already) {
        turn.answer.message = *turn.begun.already;
        turn.answer.interrupted = turn.begun.already_interrupted;
        turn.finished = {turn.begun.already_at, turn.begun.view.header};
        return turn;
    }
    const auto ask = [&] {
        const std::vector<Message> messages = turn.begun.request();
        const std::string cache_key = turn.begun.cache_key();
        return ask_model(model,
                         {.messages = messages,
                          .tools = request.tools,
                          .parameters = request.parameters,
                          .fields_format = request.format,
                          .cache_key = cache_key,
                          .behind_edit = turn.begun.behind_edit()},
                         on_text);
    };
    auto answer = ask();
    if (!answer && is_context_overflow(answer.error()) && !turn.begun.policy.empty()) {
        PAL_TRY(smaller, shrink(turn.begun));
        turn.begun = std::move(smaller);
        answer = ask();
    }
    if (!answer) return std::unexpected(std::move(answer).error());
    turn.answer = *std::move(answer);
    PAL_TRY(finished, finish(turn.begun, turn.answer));
    turn.finished = std::move(finished);
    return turn;
}

}  // namespace palimpsest
