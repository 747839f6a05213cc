// resend: what of a list of messages a conversation has already.
//
// A client may send what is new, its whole history again, or the end of it. What was said before is
// recognised by fingerprints, so that nothing is stored twice, an edited past rewinds, and a copy
// that the client shortened changes nothing. Pure: nothing is read, nothing is written.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "palimpsest/message.h"

namespace palimpsest {

// A message of the log, oldest first, without those that a rewind has taken away.
struct KnownMessage {
    Fingerprint fingerprint = {};  // empty: its content is gone for good; it fits any of its role
    Role role = Role::user;
    Range range = {};          // one seq, or all of the items that make the message
    bool hidden = false;       // retracted: known, and not shown
    bool left_out = false;     // a compaction dropped it
    bool interrupted = false;  // a partial answer
};

struct ResentMessage {
    Fingerprint fingerprint = {};
    Role role = Role::user;
};

struct Resend {
    std::size_t preamble = 0;  // the leading system run: set aside, never compared
    // The first incoming message that is new; as many as there are: nothing is new.
    std::size_t first_new = 0;
    std::size_t ignored = 0;                 // not in the log, and before what is: the client's own
    std::optional<Seq> rewind_to = {};       // what the log has behind it the client has no more
    std::optional<std::size_t> anchor = {};  // the known message that the new ones follow
};

// A list that is the log from its start, as far as either goes, is taken for that; one that begins
// with the log's end goes on from there: people say the same words again, and so do models. What is
// both goes on at the end, unless all that the log has behind it is the answer to its last words.
// Else the anchor is the last incoming message that the log has, if the run of equal messages that
// ends there holds an assistant's. Where the log has that run more than once the longest counts,
// and of equally long ones the newest. Without such a run two things tell: what stands at the end
// of the log without an answer, where the list begins with all of it or with two of its last, or is
// its end (then only partial answers are rewound); and the log's first words, where the list begins
// with them, they stand there once and are still shown, and it holds an assistant's message: the
// first answer was edited. Else all is new: words alone that were answered before are said again.
Resend find_resend(std::span<const KnownMessage> log, std::span<const ResentMessage> incoming);

}  // namespace palimpsest
