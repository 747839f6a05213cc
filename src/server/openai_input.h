// openai_input: what a client of Responses or Conversations says, as items that can be stored.
#pragma once
#include <string>
#include <string_view>

#include "server/route.h"

namespace palimpsest {

// `input` is a text (a message of the user) or a list of items; the list comes back as JSON. Ids
// that we gave are taken out, references to items become those items, and a compaction of ours
// becomes what it stands for; what the user said is not repeated where it still stands before the
// item. Other bytes stay. not_found names a reference to an unknown item.
Result<std::string> read_input_items(Site& site, JsonValue input);

// An error about messages, as one about the items of that field of the request.
Error blame_items(Error error, std::string_view field, JsonValue items);

// Whether the item is a compaction that was made here.
bool is_own_compaction(JsonValue item);

// What a compaction item stands for. Lists of items are JSON.
struct Compacted {
    std::string summary = {};
    // What the user said, which clients also get before the item: some of them send the newest
    // compaction and what follows it, others all.
    std::string said = "[]";
    std::string kept = "[]";  // all else that stays as it is
};
// Its opaque content.
std::string seal_compaction(const Compacted& compacted);

}  // namespace palimpsest
