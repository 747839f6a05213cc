// Who may speak: turns of one conversation, one after the other where that is asked for.
//
// A running turn is a record of the store (space "turns", by conversation) that ends by itself when
// it is not renewed, so a process that died holds nobody up for long, and any number of processes
// keep to it. It says where the log ended when the turn began: a turn is its holder's if it begins
// behind that. Begins that only bring results of tools go on with a turn and are never held up.
#pragma once
#include "engine/turn.h"

namespace palimpsest {

struct TurnPlace {
    ConversationId name = {};  // where the turn takes place
    bool exclusive = false;    // the turn holds it, or goes on with one that may
    bool fresh = false;        // it began to hold it just now
    bool taken = false;        // another turn is under way: only a repeat may be answered
    std::string warning = {};
};

// `header` is the conversation's as far as it is known.
Turns turns_of(const Memory::State& state, const Header& header, const BeginRequest& request);
Result<TurnPlace> take_turn(Memory& memory, Memory::State& state, const ConversationId& name,
                            const BeginRequest& request, const Opening& opening, Turns turns);
std::unexpected<Error> turn_taken(const ConversationId& name);

// The turn has an answer: it is over, or goes on with tools.
void keep_turn(Memory::State& state, const Begun& begun, bool over);

}  // namespace palimpsest
