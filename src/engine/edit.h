// Writing an entry that changes the view: fold, count, append, and try again when someone else
// edited meanwhile.
//
// Edits compare the basis, the incarnation and the epoch, never the end: messages that arrive while
// an edit is being planned are simply the tail after it.
#pragma once
#include <functional>
#include <vector>

#include "core/fold.h"
#include "engine/load.h"
#include "engine/state.h"

namespace palimpsest {

// Makes the body of an edit entry, without its basis, over the conversation as it is now. What it
// puts into `behind` is written behind the entry in the same step.
using DecideEdit = std::function<Result<Body>(const Header& header, std::vector<Draft>& behind)>;

// Loads the header, lets `decide` make the body, folds it in, and appends it. Tries again, a
// bounded number of times, when the basis moved meanwhile; then `conflict`. `request` says in words
// what was asked for: the same idempotency key with another request is `unprocessable`.
Result<Appended> write_edit(Memory::State& state, const ConversationId& name,
                            const WriteOptions& write, std::string_view request,
                            const DecideEdit& decide);

// The same body with the basis after it, as it is stored. `upto` is the last seq that the basis
// covers; later messages stay the tail. `unwritten` are the facts of messages up to `upto` that are
// in the same batch and not in the store yet.
Result<Body> with_basis(Store& store, const Tokenizer& tokenizer, const Header& header, Seq upto,
                        Body body, const std::vector<MessageFact>& unwritten = {});

// What each entry in force at the log's end says, ascending.
Result<std::vector<Change>> changes_in_force(Store& store, const Header& header);

// The seqs of the whole group that the message at `seq` belongs to, whether or not it is shown.
// not_found when there is no message there.
Result<std::vector<Seq>> group_around(Store& store, const Header& header, Seq seq);

// A summary of the caller's own in place of these messages of the view. invalid_request where it
// has no words or the range goes beyond the log; whether its groups are whole is for the splice to
// say.
Result<Edit> own_summary(const View& view, Range messages, std::string_view text);

}  // namespace palimpsest
