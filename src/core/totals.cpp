// Sums over a view, kept as it grows.
#include "core/tool_uses.h"
#include "palimpsest/view.h"

namespace palimpsest {

void add_item(ViewTotals& totals, const Item& item) {
    const bool summary = item.kind == ItemKind::summary;
    // Turns that a user began: a system message or a summary in front is none.
    if (!summary && item.message.shape.starts_turn()) {
        ++totals.turns;
        totals.newest_reasons = false;
    }
    if (!summary && item.message.shape.reasoning && !totals.newest_reasons) {
        ++totals.reasoning_turns;
        totals.newest_reasons = true;
    }
    ++totals.messages;
    totals.tokens += item.tokens;
    totals.bytes += view_of(item.message.raw).size();
    totals.media += item.message.shape.media;
    totals.calls += tool_uses(item.message);
    totals.results += item.message.shape.results.size();
    if (summary) totals.summary_tokens += item.tokens;
    if (item.at == Time{}) return;
    if (totals.oldest == Time{} || item.at < totals.oldest) totals.oldest = item.at;
    if (item.at > totals.newest) totals.newest = item.at;
}

ViewTotals totals_of(std::span<const Item> items) {
    ViewTotals totals;
    for (const Item& item : items) add_item(totals, item);
    return totals;
}

}  // namespace palimpsest
