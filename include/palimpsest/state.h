// Portable state: a conversation as bytes that the caller keeps. Nothing is stored here.
//
//     auto turn = chat_with_state(state, {.messages = said}, *model);
//     state = turn->state;   // keep these bytes wherever you like
//
// The bytes are JSON: {"version":2, "provider", "processed_length", "messages":[raw...], "pinned":
// [indexes], "summaries":[{"at","text"}]}. `messages` is what the model will see next (a summary
// stands there as the message that it is sent as), so under a policy the bytes stay bounded. Also
// read: version 1, the same without the last two fields. `processed_length` is how many of the
// messages a model has seen.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/chat.h"

namespace palimpsest {

// What becomes of bytes that cannot be read whole.
enum class BadState : std::uint8_t {
    discard,  // a fresh start
    salvage,  // the messages before the first bad one
    fail,     // invalid_request
};

struct StateOptions {
    std::string provider = {};  // who may read the state; empty: the name of the format
    BadState bad = BadState::discard;
    bool keep_log = false;  // keeps all that was said, also what the view leaves out
    // Used after a finished turn, before the state is written. Empty: nothing is compacted.
    std::string policy = {};
};

// Why a state was not taken as it is; empty: it was.
struct StateReport {
    std::string problem = {};  // invalid_conversation_state, unsupported_state_version,
                               // provider_mismatch, message_unmarshal_failed
    std::string detail = {};
    std::size_t kept = 0;  // messages
};

struct StateTurn {
    ChatDone chat = {};
    std::string state = {};
    StateReport report = {};
    std::optional<Compaction> compaction = {};  // of the state, after the turn
};
// One turn. A leading run of system messages is sent and is no part of the state. On an error the
// caller keeps the state that he has.
Result<StateTurn> chat_with_state(std::string_view state, const BeginRequest& request, Model& model,
                                  const StateOptions& options = {}, const ChatOptions& chat = {});

struct StateAppended {
    std::string state = {};
    StateReport report = {};
};
// More messages without a model: all of them, system messages too. With `compact` the policy is
// used on what there is then.
Result<StateAppended> append_to_state(std::string_view state, const AppendRequest& request,
                                      const StateOptions& options = {}, bool compact = false);
// An event, as a message of the user.
Result<StateAppended> append_event(std::string_view state, std::string_view text,
                                   FormatId format = FormatId::openai_chat,
                                   const StateOptions& options = {});

}  // namespace palimpsest
