// chat: begin, ask the model, finish.
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
    const std::vector<Message> messages = turn.begun.request();
    PAL_TRY(answer, ask_model(model, {messages, request.tools, request.parameters, request.format},
                              on_text));
    turn.answer = std::move(answer);
    PAL_TRY(finished, finish(turn.begun, turn.answer));
    turn.finished = std::move(finished);
    return turn;
}

}  // namespace palimpsest
