// The facade's edits: pin, retract, rewind, undo, splice. Compactions are in memory_compact.cpp.
// Each decides what the entry says; write_edit() folds it in and stores it.
#include <algorithm>
#include <set>

#include "base/ids.h"
#include "core/scan.h"
#include "engine/count.h"
#include "engine/edit.h"
#include "engine/quoting.h"
#include "engine/report.h"
#include "engine/turn.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

std::string text_of(Range range) {
    return std::to_string(range.from.value) + " to " + std::to_string(range.to.value);
}

Result<Seq> seq_of(Result<Appended> appended) {
    PAL_TRY(done, std::move(appended));
    return done.last;
}

Result<bool> is_pinned(Store& store, const Header& header, Seq message) {
    PAL_TRY(basis, load_basis(store, header, header.end));
    return basis && std::ranges::find(basis->pinned, message) != basis->pinned.end();
}

// The entry that pinned a message which is pinned already: pinning it again changes nothing, and an
// entry that changes nothing would be what the next undo takes back.
Result<std::optional<Seq>> find_pin(Store& store, const ConversationId& name, Seq message) {
    PAL_TRY(header, store.head(name));
    PAL_TRY(pinned, is_pinned(store, header, message));
    if (!pinned) return std::nullopt;
    PAL_TRY(pins,
            read_lineage(store, header, {.kinds = only(EntryKind::pin), .newest_first = true}));
    for (const Entry& entry : pins) {
        const auto& pin = std::get<PinEntry>(entry.body);
        if (pin.on && std::ranges::find(pin.targets, message) != pin.targets.end())
            return entry.seq;
    }
    return std::nullopt;
}

Result<Seq> write_pin(Memory::State& state, const ConversationId& name, Seq message, bool on,
                      const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    if (on && write.key.empty() && !write.expected_end) {
        PAL_TRY(already, find_pin(*state.store, name, message));
        if (already) return *already;
    }
    const std::string request = (on ? "pin " : "unpin ") + std::to_string(message.value);
    return seq_of(write_edit(state, name, write, request,
                             [&](const Header& header, std::vector<Draft>&) -> Result<Body> {
                                 PAL_TRY(group, group_around(*state.store, header, message));
                                 PAL_TRY(pinned, is_pinned(*state.store, header, message));
                                 if (!on && !pinned)
                                     return fail(ErrorCode::not_found,
                                                 "seq " + std::to_string(message.value) +
                                                     " is not pinned; `pal view --explain` shows "
                                                     "what is",
                                                 "seq");
                                 return PinEntry{std::move(group), on, {}};
                             }));
}

// Whether others may belong to it that are outside of a range which it begins or ends, or is in.
bool may_reach_out(const Message& message, bool at_an_end) {
    return !message.shape.calls.empty() || !message.shape.results.empty() ||
           (at_an_end && may_pair_without_id(message));
}

// The messages outside of the range whose groups reach into it. not_found when there is no message
// in the range.
Result<std::vector<Seq>> rest_of_groups(Store& store, const Header& header, Range range) {
    ReadQuery query{.ranges = {range}, .kinds = only(EntryKind::message)};
    query.content = false;
    PAL_TRY(entries, read_lineage(store, header, query));
    if (entries.empty())
        return fail(ErrorCode::not_found,
                    "there is no message between seq " + std::to_string(range.from.value) +
                        " and " + std::to_string(range.to.value),
                    "range");
    std::set<Seq> seen, outside;
    for (const Entry& entry : entries) {
        const Message& message = std::get<MessageEntry>(entry.body).message;
        const bool at_an_end = &entry == &entries.front() || &entry == &entries.back();
        if (!may_reach_out(message, at_an_end) || seen.contains(entry.seq)) continue;
        PAL_TRY(group, group_around(store, header, entry.seq));
        for (const Seq member : group) (range.contains(member) ? seen : outside).insert(member);
    }
    return std::vector<Seq>(outside.begin(), outside.end());
}

// The same and the groups of what quotes one of them: hidden words are not told by another mouth.
Result<std::vector<Seq>> hidden_along(Store& store, const Header& header, Range range) {
    PAL_TRY(rest, rest_of_groups(store, header, range));
    std::set<Seq> outside(rest.begin(), rest.end());
    PAL_TRY(quoting,
            read_quoting([&](const ReadQuery& query) { return read_lineage(store, header, query); },
                         outside.empty() ? range.from : std::min(range.from, *outside.begin()),
                         header.end));
    const auto is_gone = [&](Seq seq) { return range.contains(seq) || outside.contains(seq); };
    for (const Quoting& one : quoting) {
        if (is_gone(one.seq) || !quotes_any(one, is_gone)) continue;
        PAL_TRY(group, group_around(store, header, one.seq));
        for (const Seq member : group)
            if (!range.contains(member)) outside.insert(member);
    }
    return std::vector<Seq>(outside.begin(), outside.end());
}

// A pin is stronger than a retract: one that would hide nothing, or half, is refused.
Result<void> check_unpinned(Store& store, const Header& header, Range range,
                            const std::vector<Seq>& also) {
    PAL_TRY(basis, load_basis(store, header, header.end));
    if (!basis) return {};
    for (const Seq seq : basis->pinned)
        if (range.contains(seq) || std::ranges::find(also, seq) != also.end())
            return fail(ErrorCode::conflict,
                        "seq " + std::to_string(seq.value) + " is pinned; unpin it first", "range");
    return {};
}

std::unexpected<Error> refusal(const Edit& edit, std::string_view why) {
    return fail(ErrorCode::invalid_request,
                "the edit of " + text_of(edit.range) + " " + std::string(why), "edits");
}

// What is folded already stands for all of its messages: a fold takes it whole or leaves it alone.
Result<void> check_whole(const Edit& edit, const View& view) {
    bool covers = false;
    for (const Item& item : view.items) {
        covers |= edit.range.contains(item.range.from);
        const Range all = item.tells.value_or(item.range);
        const bool apart = all.to < edit.range.from || edit.range.to < all.from;
        if (!apart && !(edit.range.contains(all.from) && edit.range.contains(all.to)))
            return refusal(edit, "cuts into the summary of " + text_of(all) +
                                     ": take all of that in, or undo it first");
    }
    if (!covers) return refusal(edit, "covers nothing that is shown");
    return {};
}

// A caller's edits are checked before they are believed.
Result<void> check_edit(const Edit& edit, const View& view) {
    const auto refuse = [&](std::string_view why) { return refusal(edit, why); };
    if (edit.range.empty() || edit.range.from == Seq{} || edit.range.to > view.seq)
        return refuse("is outside of the view that it was computed from");
    if (edit.treatment == Treatment::verbatim) return refuse("changes nothing");
    const bool replaces =
        edit.treatment == Treatment::cleared || edit.treatment == Treatment::shortened;
    if (replaces && edit.range.from != edit.range.to)
        return refuse("must cover one message, because it replaces one");
    if (edit.treatment != Treatment::dropped && !edit.result) return refuse("has no result");
    if (replaces) {
        PAL_TRY(message, read_message(edit.format, edit.result));
        (void)message;
    }
    if (edit.treatment == Treatment::folded) PAL_CHECK(check_whole(edit, view));
    const auto groups = find_groups(view.items);
    for (const Group& group : groups) {
        std::size_t inside = 0;
        for (std::size_t i = group.first; i <= group.last; ++i)
            inside += edit.range.contains(view.items[i].range.from) ? 1 : 0;
        if (inside == 0 || replaces) continue;
        if (group.open) return refuse("touches a tool call that is not answered yet");
        if (inside <= group.last - group.first) return refuse("splits a tool call from its result");
    }
    return {};
}

}  // namespace

std::string_view outcome_name(Compaction::Outcome outcome) {
    constexpr std::string_view names[] = {"not_due", "done", "not_enough_history", "no_progress",
                                          "unreachable"};
    return names[static_cast<std::size_t>(outcome)];
}

Result<Seq> Memory::pin(const ConversationId& name, Seq message, const WriteOptions& write) {
    return write_pin(*state_, name, message, true, write);
}

Result<Seq> Memory::unpin(const ConversationId& name, Seq message, const WriteOptions& write) {
    return write_pin(*state_, name, message, false, write);
}

Result<Seq> Memory::retract(const ConversationId& name, Range messages, std::string_view reason,
                            const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    if (messages.empty())
        return fail(ErrorCode::invalid_request, "the range to retract is empty", "range");
    const std::string request =
        "retract " + std::to_string(messages.from.value) + ".." + std::to_string(messages.to.value);
    return seq_of(write_edit(*state_, name, write, request,
                             [&](const Header& header, std::vector<Draft>&) -> Result<Body> {
                                 PAL_TRY(also, hidden_along(*state_->store, header, messages));
                                 PAL_CHECK(check_unpinned(*state_->store, header, messages, also));
                                 return RetractEntry{
                                     messages, std::move(also), std::string(reason), {}};
                             }));
}

Result<Seq> Memory::rewind(const ConversationId& name, Seq to, std::string_view reason,
                           const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    const std::string request = "rewind " + std::to_string(to.value);
    return seq_of(write_edit(*state_, name, write, request,
                             [&](const Header& header, std::vector<Draft>&) -> Result<Body> {
                                 if (to >= header.end)
                                     return fail(ErrorCode::invalid_request,
                                                 "there is nothing after seq " +
                                                     std::to_string(to.value) + " to go back over",
                                                 "to");
                                 return RewindEntry{to, header.end, std::string(reason), {}};
                             }));
}

Result<Seq> Memory::undo(const ConversationId& name, std::optional<Seq> entry,
                         const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    const std::string request =
        "undo " + (entry ? std::to_string(entry->value) : std::string("last"));
    return seq_of(write_edit(
        *state_, name, write, request,
        [&](const Header& header, std::vector<Draft>&) -> Result<Body> {
            Seq target = entry.value_or(Seq{});
            if (!entry) {
                PAL_TRY(basis, load_basis(*state_->store, header, header.end));
                if (!basis || basis->applied.empty())
                    return fail(ErrorCode::not_found,
                                "there is nothing to undo in '" + name.id + "'");
                target = basis->applied.back();
            }
            PAL_TRY(found, read_entry(*state_->store, header, target));
            const auto root = undo_root(target, found.body);
            if (!root)
                return fail(
                    ErrorCode::invalid_request,
                    "seq " + std::to_string(target.value) + " is a " +
                        std::string(entry_kind_name(kind_of(found.body))) +
                        "; only compactions, pins, retracts, rewinds and undos can be undone",
                    "seq");
            return UndoEntry{target, *root, {}};
        }));
}

Result<Compaction> Memory::splice(const ConversationId& name, const View& based_on,
                                  std::vector<Edit> edits, Cause cause) {
    PAL_CHECK(check_name(name));
    if (edits.empty()) return fail(ErrorCode::invalid_request, "there is no edit", "edits");
    PAL_TRY(now, head(name));
    if (now.log != based_on.header.log || based_on.basis != based_on.header.basis)
        return fail(ErrorCode::conflict,
                    "the edits were computed from another or a past view of '" + name.id +
                        "'; compute them from the present one");
    CompactionEntry entry;
    entry.cause = cause;
    entry.trigger = "explicit";
    // Messages may have come since: it is told on what it is spliced into.
    PAL_TRY(hot, current_view(*state_, now));
    const View shown = hot->view();
    entry.tokens_before = entry.tokens_after = shown.tokens;
    for (Edit& edit : edits) {
        PAL_CHECK(check_edit(edit, based_on));
        std::uint64_t before = 0;
        for (const Item& item : based_on.items)
            if (edit.range.contains(item.range.from)) before += item.tokens;
        edit.before = {state_->tokenizer->scheme(), static_cast<std::uint32_t>(before)};
        PAL_TRY(after, count_edit(*state_->tokenizer, edit));
        edit.after = after;
        entry.tokens_after += edit.after.tokens;
        entry.tokens_after -= std::min(entry.tokens_after, before);
    }
    entry.edits = std::move(edits);
    Compaction compaction{.outcome = Compaction::Outcome::done,
                          .edits = entry.edits,
                          .tokens_before = entry.tokens_before,
                          .tokens_after = entry.tokens_after,
                          .report = make_report(entry, shown)};
    const Header& header = based_on.header;
    Batch batch;
    batch.expected_log = header.log;
    batch.expected_basis = based_on.basis;
    batch.expected_epoch = header.epoch;
    batch.if_absent = IfAbsent::fail;
    PAL_TRY(body,
            with_basis(*state_->store, *state_->tokenizer, header, based_on.seq, std::move(entry)));
    batch.entries.push_back({std::move(body), {}});
    batch.entries.push_back({report_note(compaction.report), {}});
    PAL_TRY(done, state_->store->append(name, batch));
    compaction.seq = done.first;
    announce(*state_, name, compaction);
    PAL_CHECK(keep_newest_summary(*state_, done.header, done.first, compaction.edits));
    return compaction;
}

}  // namespace palimpsest
