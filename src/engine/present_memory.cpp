// The JSON shapes of what memory says about itself: summaries, what was recalled, breakdowns and
// diffs.
#include "base/time.h"
#include "engine/present.h"

namespace palimpsest {

void write_summary(JsonWriter& out, const Summary& summary) {
    out.begin_object().key("seq").number(summary.seq.value);
    out.key("from").number(summary.range.from.value).key("to").number(summary.range.to.value);
    out.field("text", summary.text).key("tokens_before").number(summary.tokens_before);
    out.key("tokens").number(summary.tokens).field("model", summary.model);
    out.field("at", format_time(summary.at)).key("cost").number(summary.cost);
    out.key("in_force").boolean(summary.in_force).end_object();
}

void write_recalled(JsonWriter& out, const Recalled& recalled) {
    out.begin_object().key("seq").number(recalled.seq.value);
    out.field("at", format_time(recalled.at)).field("shown", recalled.shown);
    out.key("message").raw(view_of(recalled.message.raw)).end_object();
}

void write_breakdown(JsonWriter& out, const TokenBreakdown& breakdown) {
    out.begin_object().field("model", breakdown.model);
    out.key("window").number(breakdown.window).key("reserved").number(breakdown.reserved);
    out.key("used").number(breakdown.used).key("parts").begin_array();
    for (const TokenBreakdown::Part& part : breakdown.parts) {
        out.begin_object().field("name", part.name).key("tokens").number(part.tokens);
        out.key("dollars").number(part.dollars).end_object();
    }
    out.end_array().key("triggers").begin_array();
    for (const TokenBreakdown::Distance& one : breakdown.triggers) {
        out.begin_object().field("trigger", one.trigger).field("level", one.level);
        out.key("now").number(one.now).key("at").number(one.at);
        out.key("due").boolean(one.due).end_object();
    }
    out.end_array().end_object();
}

void write_diff(JsonWriter& out, const ViewDiff& diff) {
    out.begin_object().key("rows").begin_array();
    for (const ViewDiff::Row& row : diff.rows) {
        out.begin_object().field("side", std::string_view(&row.side, 1)).key("item");
        write_item(out, row.item);
        out.end_object();
    }
    out.end_array().key("same_items").number(std::uint64_t{diff.same_items});
    out.key("same_tokens").number(diff.same_tokens);
    out.key("tokens_a").number(diff.tokens_a).key("tokens_b").number(diff.tokens_b).end_object();
}

}  // namespace palimpsest
