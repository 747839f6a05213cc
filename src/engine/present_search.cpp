#include "engine/present_search.h"

#include "base/time.h"

namespace palimpsest {

void write_search_hit(JsonWriter& out, const SearchHit& hit, bool explain) {
    out.begin_object().field("conversation_id", hit.name.id).key("seq").number(hit.seq.value);
    out.key("score").number(hit.score).field("snippet", marked_snippet(hit, "\u00ab", "\u00bb"));
    out.key("message").raw(view_of(hit.message.raw));
    out.key("in_view").boolean(hit.in_view);
    out.field("role", role_name(hit.message.shape.role)).field("at", format_time(hit.at));
    if (explain) {
        out.key("explain").begin_object();
        for (const ScorePart& part : hit.parts) out.key(part.name).number(part.value);
        out.end_object();
    }
    out.end_object();
}

}  // namespace palimpsest
