// The output of a command that tells a key.
#pragma once
#include <string>

#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

// The first bytes of what it prints, as the shell runs it, in our own process group: it may ask on
// the terminal. invalid_request when it fails; unavailable, and it is killed, when it has not ended
// in time.
Result<std::string> output_of_command(const std::string& command, std::size_t bytes_max,
                                      Duration patience);

}  // namespace palimpsest
