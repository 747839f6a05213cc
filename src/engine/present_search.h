// The JSON shape of a search result, once, for the command line and the server.
#pragma once
#include "base/json_write.h"
#include "palimpsest/search.h"

namespace palimpsest {

// {"conversation_id","seq","score","snippet","message","in_view","role","at"} and with `explain`
// "explain": the parts of the score. Asked words of the snippet stand in « ».
void write_search_hit(JsonWriter& out, const SearchHit& hit, bool explain);

}  // namespace palimpsest
