// stored_response: a response read from the log of its conversation.
//
// A response's id is a log and the first seq of what was said, so nothing else has to be kept of
// it: the note of its call has what the request said, its answer stands behind that, and a note
// "response" says how it ended where that was not with a whole answer. One without any of these is
// being made, or the process that made it is gone.
#pragma once
#include "palimpsest/memory.h"
#include "server/response_object.h"
#include "server/route.h"

namespace palimpsest {

constexpr std::string_view response_prefix = "resp_";

struct StoredResponse {
    Header header = {};
    Seq turn = {};      // the first seq of what was said
    Seq call = {};      // the note of the call
    Seq end = {};       // where the conversation goes on from it
    bool made = false;  // its conversation was made for it
    ResponseState state = {};
};

// not_found when there is none, it was deleted, or it is another tenant's.
Result<StoredResponse> load_response(Site& site, std::string_view id);

// What the note of a call keeps of a request to Responses.
std::string call_parameters(const ResponseState& state, bool made);

// Notes an end other than with a whole answer.
void note_end(Memory& memory, const ConversationId& name, Seq call, const ResponseState& state);

// How many responses of this log there are: notes of their calls.
Result<std::size_t> count_responses(Memory& memory, const Header& header);

}  // namespace palimpsest
