// resent_steps: the steps of a tool loop that a client sends again.
//
// `conversation` of Responses means that what is sent is new. But some clients (Vercel's ai) send
// at each step of a tool loop what was asked and all results so far, and leave out only what the
// model said. Results of calls that the conversation has tell that.
#pragma once
#include <cstddef>
#include <span>

#include "palimpsest/message.h"
#include "palimpsest/view.h"

namespace palimpsest {

// How many of the first messages stand at the end of what the conversation has, what the model said
// left out. 0 where no result tells that they are the same and not said once more.
std::size_t count_resent(std::span<const Item> has, std::span<const Message> said);

}  // namespace palimpsest
