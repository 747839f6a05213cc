// reply_name: what a reply of a keyed turn was called, for its repeats.
//
// The log keeps what was said, not the id, model and time of the reply that brought it; a client
// that repeats a request by its key must find them unchanged.
#pragma once
#include <string>
#include <string_view>

#include "palimpsest/memory.h"
#include "server/route.h"

namespace palimpsest {

// `body` is the reply. Kept as long as the key is; that it could not be kept is no failure.
void keep_reply_name(Site& site, const Begun& begun, std::string_view body);

// {"id","model","created"}, those that the reply had; empty: nothing is known.
std::string kept_reply_name(Site& site, const Begun& begun);

}  // namespace palimpsest
