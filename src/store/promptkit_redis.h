// PromptKit's conversations in a Redis that it uses, in its own layout: read, or one written that
// is not there yet.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

// Calls `take` with the state of each conversation as JSON, the parts of the decomposed layout put
// together as {"meta":…,"messages":[…],"summaries":[…],"metadata":{…},"lists":{…}}, until one
// fails. `url`: redis://HOST:PORT/DB?prefix=promptkit, as for a store. Gives how many there were.
Result<std::size_t> read_promptkit_redis(
    std::string_view url,
    const std::function<Result<void>(const std::string& id, const std::string& state)>& take);

// A conversation in parts; all but the ids are JSON.
struct PromptkitState {
    std::string id = {}, owner = {};
    std::string meta = {};
    std::vector<std::string> messages = {};
    std::vector<std::pair<std::string, std::string>> metadata = {};
};
// `conflict` when a conversation of that id is there. Keys get the time to live of `?ttl=`.
Result<void> write_promptkit_redis(std::string_view url, const PromptkitState& state);

}  // namespace palimpsest
