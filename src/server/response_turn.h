// response_turn: one response, from the request to what is kept of it.
//
// What was said is stored before the model is asked, the answer when it has come; whoever asked
// waits, reads a stream, or comes back later. A response that is not to be stored leaves nothing.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/memory.h"
#include "server/gateway.h"
#include "server/response_log.h"
#include "server/response_object.h"
#include "server/route.h"

namespace palimpsest {

// False: the client has gone.
using SendBytes = std::function<bool(std::string_view bytes)>;

// All that a response needs after its request is gone.
struct ResponseTurn {
    Site& site;
    std::shared_ptr<Model> model;
    std::shared_ptr<RequestTrace> trace;
    Begun begun = {};
    std::vector<Message> messages = {};       // of one that is not stored: what is sent
    std::string tools = {}, parameters = {};  // for the model, in our format
    SentHeaders headers = {};                 // what it is told by HTTP
    ResponseState state = {};
    std::vector<std::string> warnings = {};  // what is told beside the answer, known before it
    std::vector<std::string> remarks = {};   // and what came with it
    bool stored = true;
    std::stop_token stop = {};  // of one that is not stored: nobody waits for it any more
    std::shared_ptr<LiveResponse> live = {};
};

// What is sent to the model.
std::vector<Message> sent_messages(const ResponseTurn& turn);

// Asks the model and keeps the answer; `turn.state` is then the response as it ended. An error
// means that there is no answer at all. With ears it is streamed; `ears.stop` is not looked at.
Result<StopReason> run_response(ResponseTurn& turn, const TurnEars& ears);

// The same, told as events. Nothing is sent before the model says something, so until then an error
// is the answer; without `send` (in the background) everything is told by events. A client that
// goes away ends one that is not stored; a stored one goes on, so that it can be read later.
Result<void> stream_response(ResponseTurn& turn, const SendBytes& send);

// The events of a stored response behind number `after`, those that are there and those to come.
void follow_response(Site& site, const std::string& id, std::int64_t after, const SendBytes& send,
                     const std::stop_token& stop);

// Waits until it has ended, here or on another server, for so long at most.
void await_response(Site& site, const std::string& id, Duration patience,
                    const std::stop_token& stop);

}  // namespace palimpsest
