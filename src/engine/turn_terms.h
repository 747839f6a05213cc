// What a begin goes by once its conversation is known: the agent, whose turn it is, and where.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/turn_lease.h"

namespace palimpsest {

// The messages that a turn is to answer, and the last entry of the batch that began it.
struct Asked {
    std::vector<Seq> messages = {};  // ascending
    Seq upto = {};
};

struct TurnTerms {
    TurnPlace place = {};
    std::optional<BeginRequest> filled =
        {};                          // the request with what its agent adds; none: as it is
    std::string system_prompt = {};  // of the agent
    Fingerprint digest = {};         // of the request as it came
    bool goes_on = false;            // what the request said is stored: its key is another batch's
    Asked asked = {};                // then: where
};

// not_found when the request names an agent that is not there; conflict when another turn is under
// way and it is not to be waited for. What is told to a repeat is left to the caller (place.taken).
Result<TurnTerms> find_terms(Memory& memory, Memory::State& state, const ConversationId& name,
                             const BeginRequest& request, const Opening& opening);

}  // namespace palimpsest
