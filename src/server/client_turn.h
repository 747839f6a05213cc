// client_turn: what the routes that answer clients of a provider's API have in common.
//
// A request without a conversation is passed on: byte for byte to a model that speaks its format,
// converted to any other. With a conversation it is a turn (gateway.h). Either way the answer comes
// in the client's format, whole or as its events.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/gateway.h"

namespace palimpsest {

constexpr std::string_view conversation_header = "X-Conversation-Id";

struct ClientAsk {
    TurnAsk turn = {};
    bool stateful = false;  // else the turn's name means nothing
    bool stream = false;
    bool usage_wanted = true;
    StreamIdentity identity = {};  // of the answer, where the model gives it none
    bool own_id = false;           // also where it does
    // A member of the reply that tells what compaction did: "name":{...}; empty: nothing.
    std::function<std::string(const Begun& begun)> extra = {};
    std::string extra_known = {};  // the same, where it is known before
    // Keeps the whole reply, before its end goes out; without a conversation `begun` is null.
    std::function<Result<void>(const std::string& body, const Begun* begun)> keep = {};
    // What was kept of a turn that is answered already; empty: nothing.
    std::function<std::string(const Begun& begun)> kept = {};
    std::vector<std::string> warnings = {};
};

// invalid_request when header and body name two conversations; none: the call is stateless.
Result<std::optional<ConversationId>> conversation_of(const Call& call);

bool wants_stream(const Call& call);
// The body's member as JSON; empty: it has none.
std::string raw_field(const Call& call, std::string_view name);

// What the client's headers say to the provider, for a model that speaks the client's format.
SentHeaders provider_headers(const Call& call, const Model& model, FormatId format);

// The model is asked with what was read of the request.
Result<RouteReply> answer_client(Call& call, ClientAsk ask);

// The model's server is asked with the request's own bytes. None: the model has no server.
Result<std::optional<RouteReply>> relay_client(Call& call, Model& model,
                                               std::string_view path = {});
// The same with other bytes than the request's.
Result<std::optional<RouteReply>> relay_body(Call& call, Model& model, std::string_view path,
                                             std::string body);

// "PREFIX" and a time and luck: ids of one server sort by when they were made.
std::string timed_id(std::string_view prefix);

}  // namespace palimpsest
