// What of a request's messages the conversation has already: core/resend.h over the log.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/turn.h"

namespace palimpsest {

// What is left of a request when what the log has is taken away.
struct Heard {
    std::vector<Said> said = {};        // new
    std::optional<Seq> rewind_to = {};  // what the log has behind it goes
    Seq turn = {};                      // nothing is new: what the answer is for begins here
    std::vector<std::string> warnings = {};
};
// Reads nothing for a conversation that was never edited. Costs fingerprints of the log otherwise.
Result<Heard> hear(Memory::State& state, const HotView& view, FormatId format,
                   const std::vector<Said>& said);

}  // namespace palimpsest
