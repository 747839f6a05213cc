// How often a message uses tools: calls that it makes of its client's, and those that the provider
// runs itself, which a Shape does not name because nobody has to answer them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "palimpsest/message.h"

namespace palimpsest {

// Reads bytes only where a hosted use may be in them. Without bytes there is none.
std::size_t hosted_uses(const Message& message);
// How many results of such tools there are in a message that holds some by its marks. A result may
// stand without its use, but in formats where they are one item.
std::size_t hosted_results(const Message& message);

std::size_t tool_uses(const Message& message);

// The name under which a request lists the hosted tool that is known by the type of its item:
// "code_interpreter" of "code_interpreter_call".
std::string_view listed_name(std::string_view hosted_tool);

}  // namespace palimpsest
