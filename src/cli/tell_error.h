// How errors are told to people.
#pragma once
#include <string>

#include "palimpsest/error.h"

namespace palimpsest {

// "pal: CODE: what failed, on what, what to do next", safe for a terminal. The parameter that is to
// blame stands before the message where that does not name it.
std::string error_line(const Error& error);
// On standard error.
void tell_error(const Error& error);

}  // namespace palimpsest
