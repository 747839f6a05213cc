#include "engine/explain.h"

#include <algorithm>

#include "core/fold.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_entries = 1000;

// Every entry of these kinds up to `to`, without content, page by page.
template <class Use>
Result<void> each_entry(Memory& memory, const ConversationId& name, Kinds kinds, Seq to, Use use) {
    Range range{Seq{1}, to};
    for (;;) {
        PAL_TRY(
            entries,
            memory.log(name,
                       {.range = range, .kinds = kinds, .limit = page_entries, .content = false}));
        for (const Entry& entry : entries) use(entry);
        if (entries.size() < page_entries) return {};
        range.from = entries.back().seq + 1;
    }
}

struct Hiding {
    Range range = {};
    std::string reason = {};
    Seq by = {};
    bool folds = false;
    bool person = false;  // hid it, and so also from what summaries tell
};

void collect(std::vector<Hiding>& out, const Entry& entry) {
    if (const auto* compaction = std::get_if<CompactionEntry>(&entry.body)) {
        for (const Edit& edit : compaction->edits)
            if (edit.treatment >= Treatment::folded)
                out.push_back(
                    {edit.range, edit.reason, entry.seq, edit.treatment == Treatment::folded});
    } else if (const auto* retract = std::get_if<RetractEntry>(&entry.body)) {
        const std::string reason =
            retract->reason.empty() ? "retracted" : "retracted: " + retract->reason;
        out.push_back({retract->range, reason, entry.seq, false, true});
        for (const Seq seq : retract->also)
            out.push_back({{seq, seq}, reason, entry.seq, false, true});
    } else if (const auto* rewind = std::get_if<RewindEntry>(&entry.body)) {
        out.push_back({{rewind->to + 1, rewind->upto},
                       rewind->reason.empty() ? "rewound" : "rewound: " + rewind->reason,
                       entry.seq,
                       false,
                       true});
    }
}

// What hides messages in this view: the entries that its newest basis says are in force.
Result<std::vector<Hiding>> hidings(Memory& memory, const View& view) {
    std::vector<Hiding> all;
    std::vector<Seq> applied;
    PAL_CHECK(each_entry(memory, view.header.name, basis_kinds, view.seq, [&](const Entry& entry) {
        collect(all, entry);
        if (entry.seq == view.basis) applied = resolve_basis(entry).applied;
    }));
    std::erase_if(
        all, [&](const Hiding& hiding) { return !std::ranges::binary_search(applied, hiding.by); });
    // A summary of what a person took back later stands for nothing.
    std::erase_if(all, [&, persons = all](const Hiding& fold) {
        return fold.folds && std::ranges::any_of(persons, [&](const Hiding& gone) {
                   return gone.person && gone.by > fold.by && gone.range.from <= fold.range.to &&
                          fold.range.from <= gone.range.to;
               });
    });
    return all;
}

// What the view's items cover, its summaries or the others, as ranges that do not overlap,
// ascending.
std::vector<Range> covered(const View& view, bool summaries) {
    std::vector<Range> ranges;
    for (const Item& item : view.items)
        if ((item.kind == ItemKind::summary) == summaries) ranges.push_back(item.range);
    std::ranges::sort(ranges);
    std::vector<Range> merged;
    for (const Range& range : ranges) {
        if (!merged.empty() && range.from <= merged.back().to + 1)
            merged.back().to = std::max(merged.back().to, range.to);
        else
            merged.push_back(range);
    }
    return merged;
}

bool contains(const std::vector<Range>& ranges, Seq seq) {
    const auto after = std::ranges::upper_bound(ranges, seq, {}, &Range::from);
    return after != ranges.begin() && std::prev(after)->contains(seq);
}

}  // namespace

std::string explain_item(const View& view, const Item& item) {
    const std::string by = item.by == Seq{} ? "" : " (entry " + std::to_string(item.by.value) + ")";
    if (item.kind == ItemKind::summary)
        return "stands for " + std::to_string(item.range.from.value) + " to " +
               std::to_string(item.range.to.value) + by + ": " + item.reason;
    if (!item.reason.empty()) return item.reason + by;
    if (view.basis == Seq{}) return "as it was said: nothing was ever edited";
    if (item.range.from > view.basis)
        return "as it was said: newer than the last edit (entry " +
               std::to_string(view.basis.value) + ")";
    return "as it was said: no edit in force covers it";
}

Result<std::vector<LeftOut>> explain_left_out(Memory& memory, const View& view) {
    PAL_TRY(hiding, hidings(memory, view));
    const std::vector<Range> shown = covered(view, false), summed_up = covered(view, true);
    Hiding unknown;
    if (view.preview) unknown.reason = "the compaction that is previewed takes it out";
    std::vector<LeftOut> out;
    Seq before;  // the message before this one
    const Kinds messages = only(EntryKind::message);
    PAL_CHECK(each_entry(memory, view.header.name, messages, view.seq, [&](const Entry& entry) {
        const Seq previous = std::exchange(before, entry.seq);
        if (contains(shown, entry.seq)) return;
        const bool told = contains(summed_up, entry.seq);
        // The latest one that covers it: earlier ones would hide it too.
        const auto by = std::find_if(hiding.rbegin(), hiding.rend(), [&](const Hiding& h) {
            return h.range.contains(entry.seq) && (h.person || !told);
        });
        if (told && by == hiding.rend()) return;
        const Hiding why = by == hiding.rend() ? unknown : *by;
        if (!out.empty() && out.back().range.to == previous && out.back().by == why.by &&
            out.back().reason == why.reason) {
            out.back().range.to = entry.seq;
            ++out.back().messages;
        } else {
            out.push_back({{entry.seq, entry.seq}, 1, why.reason, why.by});
        }
    }));
    return out;
}

void write_explained_view(JsonWriter& out, const View& view, const std::vector<LeftOut>& left_out) {
    out.begin_object().key("items").begin_array();
    for (const Item& item : view.items) {
        Item explained = item;
        explained.reason = explain_item(view, item);
        write_item(out, explained);
    }
    out.end_array().key("tokens").number(view.tokens).key("seq").number(view.seq.value);
    out.key("left_out").begin_array();
    for (const LeftOut& part : left_out) {
        out.begin_object().key("from").number(part.range.from.value);
        out.key("to").number(part.range.to.value).key("messages").number(part.messages);
        out.field("reason", part.reason).key("by").number(part.by.value).end_object();
    }
    out.end_array().end_object();
}

}  // namespace palimpsest
