// Summaries of a conversation: those that stand in its log, and one of the caller's own.
#include <algorithm>
#include <map>

#include "base/json_write.h"
#include "core/summary.h"
#include "engine/compactor.h"
#include "engine/count.h"
#include "engine/edit.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

// The reports that stand behind these compactions.
Result<std::map<Seq, CompactionReport>> reports_of(Store& store, const Header& header,
                                                   const std::vector<Entry>& compactions) {
    std::map<Seq, CompactionReport> reports;
    ReadQuery query{.ranges = {}, .kinds = only(EntryKind::note)};
    for (const Entry& entry : compactions) query.ranges.push_back({entry.seq + 1, entry.seq + 1});
    if (query.ranges.empty()) return reports;
    PAL_TRY(notes, read_lineage(store, header, query));
    for (const Entry& entry : notes)
        reports.emplace(entry.seq - 1, read_report_note(std::get<NoteEntry>(entry.body)));
    return reports;
}

Summary summary_of(const Entry& entry, std::uint32_t index, const Edit& edit) {
    Summary summary;
    summary.seq = entry.seq;
    summary.edit = index;
    summary.range = edit.range;
    summary.text = view_of(edit.result);
    summary.tokens_before = edit.before.tokens;
    summary.tokens = edit.after.tokens;
    summary.at = entry.at;
    summary.model = edit.pass == "caller" ? "caller" : "extractive";
    return summary;
}

// Like a model's (check_summary) it is, as it will stand in the view, not longer than what it takes
// the place of, which pinned messages are no part of.
Result<void> check_size(const Edit& summary, const View& view, const Tokenizer& tokenizer) {
    std::uint64_t before = 0;
    bool shown = false;
    for (const Item& item : view.items) {
        if (!summary.range.contains(item.range.from) || item.pinned) continue;
        before += item.tokens;
        shown = true;
    }
    const std::uint64_t after = tokenizer.count(view_of(summary.result));
    if (shown && after > before)
        return fail(ErrorCode::invalid_request,
                    "the summary has " + std::to_string(after) +
                        " tokens with its heading; what it would stand for has " +
                        std::to_string(before),
                    "text");
    return {};
}

}  // namespace

Result<Edit> own_summary(const View& view, Range messages, std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == text.npos)
        return fail(ErrorCode::invalid_request, "a summary has words", "text");
    if (messages.to > view.seq)
        return fail(ErrorCode::invalid_request,
                    "the range ends at seq " + std::to_string(messages.to.value) +
                        "; the log ends at seq " + std::to_string(view.seq.value),
                    "to");
    Edit edit;
    edit.treatment = Treatment::folded;
    edit.range = messages;
    edit.result = make_bytes(dress_summary({.range = messages}, text));
    edit.reason = "a summary of the caller's own";
    edit.pass = "caller";
    if (!view.items.empty()) edit.format = view.items.back().message.format;
    return edit;
}

Result<std::vector<Summary>> Memory::summaries(const ConversationId& name) {
    PAL_TRY(header, head(name));
    std::vector<Summary> out;
    if (header.basis == Seq{}) return out;
    PAL_TRY(entries, read_lineage(*state_->store, header,
                                  {.ranges = {}, .kinds = only(EntryKind::compaction)}));
    std::erase_if(entries, [](const Entry& entry) {
        return std::ranges::none_of(
            std::get<CompactionEntry>(entry.body).edits,
            [](const Edit& edit) { return edit.treatment == Treatment::folded; });
    });
    PAL_TRY(reports, reports_of(*state_->store, header, entries));
    PAL_TRY(changes, changes_in_force(*state_->store, header));
    for (const Entry& entry : entries) {
        const bool applied = std::ranges::binary_search(changes, entry.seq, {}, &Change::seq);
        const auto& edits = std::get<CompactionEntry>(entry.body).edits;
        const auto report = reports.find(entry.seq);
        for (std::uint32_t i = 0; i < edits.size(); ++i) {
            if (edits[i].treatment != Treatment::folded) continue;
            Summary summary = summary_of(entry, i, edits[i]);
            summary.in_force = applied && !is_untold(edits[i].range, entry.seq, changes);
            if (report != reports.end()) {
                if (!report->second.summarizer.empty()) summary.model = report->second.summarizer;
                summary.cost = report->second.summary_cost;
            }
            out.push_back(std::move(summary));
        }
    }
    return out;
}

Result<Compaction> Memory::summarize(const ConversationId& name, Range messages,
                                     std::string_view text, const WriteOptions& write) {
    PAL_TRY(header, head(name));
    PAL_TRY(hot, current_view(*state_, header));
    const View view = hot->view();
    PAL_TRY(edit, own_summary(view, messages, text));
    PAL_CHECK(check_size(edit, view, *state_->tokenizer));
    if (write.expected_end && *write.expected_end != header.end)
        return fail(ErrorCode::conflict, "'" + name.id + "' ends at seq " +
                                             std::to_string(header.end.value) + ", not at " +
                                             std::to_string(write.expected_end->value));
    return splice(name, view, {std::move(edit)}, Cause::request);
}

}  // namespace palimpsest
