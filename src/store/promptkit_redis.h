// PromptKit's conversations in a Redis that it uses: read in its own layout, nothing is written.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest {

// Calls `take` with the state of each conversation as JSON, the parts of the decomposed layout put
// together as {"meta":…,"messages":[…],"summaries":[…],"metadata":{…}}, until one fails.
// `url`: redis://HOST:PORT/DB?prefix=promptkit, as for a store. Gives how many there were.
Result<std::size_t> read_promptkit_redis(
    std::string_view url,
    const std::function<Result<void>(const std::string& id, const std::string& state)>& take);

}  // namespace palimpsest
