// openai_input: what a client of Responses or Conversations says, as items that can be stored.
#pragma once
#include <string>

#include "server/route.h"

namespace palimpsest {

// `input` is a text (a message of the user) or a list of items; the list comes back as JSON. Ids
// that we gave are taken out, references to items become those items, and a compaction of ours
// becomes what it stands for. Other bytes stay. not_found names a reference to an unknown item.
Result<std::string> read_input_items(Site& site, JsonValue input);

// Whether the item is a compaction that was made here.
bool is_own_compaction(JsonValue item);

// A compaction item's opaque content: a summary, and the items (JSON list) that were kept as they
// are.
std::string seal_compaction(std::string_view summary, std::string_view items);

}  // namespace palimpsest
