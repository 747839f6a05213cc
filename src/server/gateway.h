// gateway: one turn for a client of any format, with a model of any format behind.
//
//     PAL_TRY(turn, GatewayTurn::begin(call, ask));     // stored, compacted, recognised
//     PAL_TRY(done, turn.run({.on_piece = ...}));       // the model's answer, stored
//     body = reply_body(FormatId::openai_chat, turn.model(), done.reply, identity);
//
// Invariants: what was said is written before the model is asked, and stored before anything of the
// turn is told: a store that is still syncing it (Begun::stored) does so while the model is asked.
// The answer is stored before its last event goes out. A repeat of a request (by its key, or by its
// body where the client says that it repeats) stores nothing twice: one that is being answered,
// here or by another server, is waited for, a finished one gets its answer, a partial answer is
// made anew.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "server/route.h"
#include "server/running_turns.h"
#include "server/turn_beacon.h"

namespace palimpsest {

using SentHeaders = std::vector<std::pair<std::string, std::string>>;

// What a route has read of its request.
struct TurnAsk {
    ConversationId name = {};
    Model* model = nullptr;
    FormatId format = FormatId::openai_chat;  // of all that follows
    std::string messages = {};                // JSON list; leading system messages are the preamble
    std::string tools = {};                   // JSON list
    std::string parameters = {};              // JSON object: what else the model is told
    SentHeaders headers = {};                 // the same, by HTTP
    std::string policy = {};
    HeaderPatch header = {};
    bool resend = false;  // see BeginRequest
    Seq continues = {};   // the same
    // Tells a repeat that has no Idempotency-Key; see digest_of_body(). Empty: nothing does.
    std::string digest = {};
};

// Who hears the answer while it comes. False from either: the client has gone.
struct TurnEars {
    OnPiece on_piece = {};
    std::function<bool(std::string_view bytes)> on_bytes = {};  // see ModelRequest
    std::stop_token stop = {};  // asks the model to stop; what came is kept
};

struct TurnDone {
    Reply reply = {};
    Finished finished = {};
    bool again = false;  // it was finished before: the model was not asked
};

class GatewayTurn {
public:
    // Errors are those of Memory::begin.
    static Result<GatewayTurn> begin(const Call& call, TurnAsk ask);

    const Begun& begun() const { return begun_; }
    Model& model() const { return *ask_.model; }
    const TurnAsk& ask() const { return ask_; }
    // It has an answer: run() will not ask the model.
    bool finished() const { return begun_.already.has_value(); }

    // Once. A request that is too long for the model is compacted once more and sent again. On an
    // error what was said stays stored. An answer that was told and could not be stored is an
    // error, too: the client must not believe that it is kept.
    Result<TurnDone> run(const TurnEars& ears);

private:
    GatewayTurn(const Call& call, TurnAsk ask)
        : memory_(&call.site.memory), trace_(call.trace), ask_(std::move(ask)) {}
    Result<TurnDone> tell_again(const TurnEars& ears);
    Result<Reply> call_model(const TurnEars& ears, bool& told);

    Memory* memory_;
    std::shared_ptr<RequestTrace> trace_;
    TurnAsk ask_;
    Begun begun_ = {};
    RunningTurns::Seat seat_ = {};
    TurnBeacon beacon_ = {};
    std::stop_token client_ = {};  // stops when the client has gone
};

// The Idempotency-Key as the store has it: the same key on another route is another one. Empty:
// none.
std::string route_key(const Call& call);

Usage usage_of(const ReplyUsage& usage);

// Of all that the request says; two requests with the same one are the same request.
std::string digest_of_body(const Call& call);
// A place among the running turns of the conversation for a request of that digest, once those
// before it have left theirs.
Result<RunningTurns::Entered> take_seat(const Call& call, const ConversationId& name,
                                        std::string_view digest);
// The key of the newest turn with this digest that may not have been answered to its client; empty:
// there is none. `lately`: an attempt runs, or its client left before it had the answer.
Result<std::string> find_turn_key(Memory& memory, const ConversationId& name,
                                  std::string_view digest, bool lately);
// For a turn whose client gave none.
std::string new_turn_key();

// The answer as a reply in the client's format: the model's own bytes where it speaks that format.
// What has no place in it is added to `lost`.
Result<std::string> reply_body(FormatId to, const Model& model, const Reply& reply,
                               StreamIdentity identity, std::vector<std::string>& lost);

// An answer as `finish` stores it; upstream_failed when nothing was said.
Result<Answer> answer_of(Reply reply, std::string_view model);

// The body's fields as a JSON object, without those named: what is passed on to the model.
std::string fields_without(JsonValue body, std::initializer_list<std::string_view> names);

}  // namespace palimpsest
