// response_begin: where what a request to Responses says goes, and the beginning of its turn.
//
// A stored response continues the conversation that it names, or the one of the response before it:
// at its end if nothing was said since, else in a fork from there, so that every response can be
// continued any number of times. Without either it begins a conversation of its own.
#pragma once
#include <string>

#include "server/response_turn.h"
#include "server/route.h"

namespace palimpsest {

struct ResponseInput {
    // System items before all others: begin takes such a run as instructions, and these are part of
    // what was said. JSON lists of items.
    std::string leading = "[]", rest = "[]";
    std::string key = {};     // that makes a repeat harmless; empty: none
    bool keyed = false;       // the client gave it
    std::string digest = {};  // tells a repeat without a key; empty: nothing does
    std::string policy = {};
    // The client may send again what it has, as on the routes of other formats: that is recognised,
    // and system items before all others are instructions.
    bool resent = false;

    Result<void> take(const std::string& items);
};

// Stores what was said. not_found names what the request goes on from.
Result<Begun> begin_response(Call& call, const ResponseInput& said, const ResponseTurn& turn);

}  // namespace palimpsest
