// What a begin goes by once its conversation is known: the agent, whose turn it is, and where.
#pragma once
#include <optional>
#include <string>

#include "engine/turn_lease.h"

namespace palimpsest {

struct TurnTerms {
    TurnPlace place = {};
    std::optional<BeginRequest> filled =
        {};                          // the request with what its agent adds; none: as it is
    std::string system_prompt = {};  // of the agent
    Fingerprint digest = {};         // of the request as it came
    bool goes_on = false;            // what the request said is stored: its key is another batch's
};

// not_found when the request names an agent that is not there; conflict when another turn is under
// way and it is not to be waited for. What is told to a repeat is left to the caller (place.taken).
Result<TurnTerms> find_terms(Memory& memory, Memory::State& state, const ConversationId& name,
                             const BeginRequest& request, const Opening& opening);

}  // namespace palimpsest
