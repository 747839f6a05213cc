// chat and resume: where a turn begins, and where an unfinished one goes on.
#include "palimpsest/chat.h"

#include <algorithm>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/tool_loop.h"

namespace palimpsest {
namespace {

std::string new_key() {
    return "chat_" + hex(random_log_id());
}

// Where the newest turn of a view ends.
struct TurnEnd {
    Seq answer = {};  // the newest answer; 0: none
    Seq said = {};    // the first of what was said behind it; 0: nothing
};

TurnEnd find_end(const View& view) {
    TurnEnd end;
    for (std::size_t i = view.items.size(); i-- > 0;) {
        const Item& item = view.items[i];
        if (item.kind == ItemKind::summary) break;
        const Role role = item.message.shape.role;
        if (role == Role::assistant || role == Role::other) {
            end.answer = item.range.to;
            break;
        }
        if (item.message.shape.results.empty()) end.said = item.range.from;
    }
    return end;
}

// The note of the call that was to answer what was said at `said`; 0: there is none.
Result<Seq> call_for(Memory& memory, const ConversationId& name, Seq said) {
    PAL_TRY(notes, memory.log(name, {.range = {said, seq_max}, .kinds = only(EntryKind::note)}));
    for (const Entry& entry : notes)
        if (std::get<NoteEntry>(entry.body).kind == "call") return entry.seq;
    return Seq{};
}

Result<TurnRequest> request_at(Memory& memory, const ConversationId& name, Model& model, Seq call,
                               std::string key) {
    PAL_TRY(turn, read_turn_request(memory, name, call));
    if (turn.request.model.empty()) turn.request.model = model.name();
    turn.request.write.key = key.empty() ? new_key() : std::move(key);
    turn.request.write.if_absent = IfAbsent::fail;
    return std::move(turn);
}

}  // namespace

std::string_view chat_outcome_name(ChatDone::Outcome outcome) {
    constexpr std::string_view names[] = {
        "done", "rounds_exceeded", "cost_exceeded", "identical_calls", "pending", "interrupted"};
    return names[static_cast<std::size_t>(outcome)];
}

Result<ChatDone> chat(Memory& memory, const ConversationId& name, const BeginRequest& request,
                      Model& model, const ChatOptions& options) {
    TurnRequest turn{.request = request};
    if (turn.request.model.empty()) turn.request.model = model.name();
    if (turn.request.write.key.empty()) turn.request.write.key = new_key();
    PAL_TRY(tools, write_tools(request.format, request.tools, options));
    turn.request.tools = std::move(tools);
    return ToolLoop(memory, name, model, options, std::move(turn)).start(request.messages);
}

Result<ChatDone> resume(Memory& memory, const ConversationId& name, Model& model,
                        const ChatOptions& options, const Decisions& decisions) {
    PAL_TRY(view, memory.view(name));
    const TurnEnd end = find_end(view);
    std::optional<Round> round;
    RoundLog log;
    bool open = false;
    if (end.answer != Seq{}) {
        PAL_TRY(read, read_answer(memory, name, end.answer));
        PAL_TRY(calls, calls_of(read.items));
        PAL_TRY(after, read_round(memory, name, read, calls));
        open = std::ranges::any_of(
            calls, [&](const PendingCall& call) { return !after.answered.contains(call.id); });
        log = std::move(after);
        round = std::move(read);
    }
    // What was said behind an answer that waits is another turn's.
    if (end.said != Seq{} && !open) {
        PAL_TRY(call, call_for(memory, name, end.said));
        PAL_TRY(turn, request_at(memory, name, model, call, {}));
        return ToolLoop(memory, name, model, options, std::move(turn), decisions).answer(end.said);
    }
    if (!round)
        return fail(ErrorCode::not_found,
                    "conversation '" + name.id + "' has no turn that could go on");
    PAL_TRY(call, call_of_answer(memory, name, round->seq));
    PAL_TRY(turn, request_at(memory, name, model, call, log.key));
    return ToolLoop(memory, name, model, options, std::move(turn), decisions)
        .go_on(*std::move(round));
}

}  // namespace palimpsest
