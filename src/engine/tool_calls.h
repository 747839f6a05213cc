// Tool calls and their results as messages: what an answer asks for, and what it is told.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/chat.h"

namespace palimpsest {

// The calls that the answer makes, in order; not those that the provider carries out itself.
Result<std::vector<PendingCall>> calls_of(std::span<const Message> answer);

// The texts of an answer, joined.
Result<std::string> text_of_answer(std::span<const Message> answer);

struct CallResult {
    std::string id = {}, text = {};
    bool is_error = false;
};
// The messages that bring these results, as elements of a JSON list: "{...},{...}".
std::string write_results(FormatId format, std::span<const CallResult> results);

// The list of tools that a request carries: `given`, a list or empty, and these.
Result<std::string> write_tools(FormatId format, std::string_view given,
                                const ChatOptions& options);

// One line that is equal for the same tools called with the same arguments.
std::string canonical_calls(std::span<const PendingCall> calls);

}  // namespace palimpsest
