#include "engine/edit.h"

#include <algorithm>
#include <iterator>

#include "base/hash.h"
#include "engine/count.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 16;  // Each lost one means that somebody else's edit was written.

// What all applied entries say, ascending. Reads positions only.
Result<std::vector<Change>> read_changes(Store& store, const Header& header,
                                         const std::vector<Seq>& applied) {
    std::vector<Change> changes;
    ReadQuery query{.ranges = {}, .kinds = basis_kinds};
    query.content = false;
    for (const Seq seq : applied) query.ranges.push_back({seq, seq});
    if (applied.empty()) return changes;
    PAL_TRY(entries, read_lineage(store, header, query));
    for (const Entry& entry : entries) changes.push_back(change_of(entry.seq, entry.body));
    if (changes.size() != applied.size())
        return fail(ErrorCode::internal, "an edit that is in force is missing; run `pal doctor`");
    return changes;
}

void toggle(std::vector<Seq>& applied, Seq root) {
    const auto at = std::lower_bound(applied.begin(), applied.end(), root);
    if (at != applied.end() && *at == root)
        applied.erase(at);
    else
        applied.insert(at, root);
}

Result<Fold> fold_in(Store& store, const Header& header, const std::optional<Basis>& old, Seq upto,
                     const Body& body) {
    const Change change = change_of(seq_of_new, body);
    const auto* undo = std::get_if<UndoEntry>(&body);
    if (!undo) {
        Fold fold = old ? resume_fold(*old, upto) : empty_fold(upto);
        if (!needs_refold(fold, change)) {
            apply_change(fold, change);
            return fold;
        }
    }
    std::vector<Seq> applied = old ? old->applied : std::vector<Seq>{};
    if (undo) toggle(applied, undo->root);
    PAL_TRY(changes, read_changes(store, header, applied));
    if (!undo) changes.push_back(change);
    return refold(changes, upto);
}

bool is_earlier_edit(const Run& run) {
    return run.treatment != Treatment::verbatim && run.treatment != Treatment::dropped &&
           run.by != seq_of_new;
}

// A fold carries the counts of edits as they were stored. Those of runs that are counted anew are
// made to be of this tokenizer's scheme.
Result<void> recount_edits(Store& store, const Tokenizer& tokenizer, const Header& header,
                           Fold& fold, const std::vector<Range>& anew) {
    for (Run& run : fold.runs) {
        const bool is_anew = std::ranges::binary_search(anew, run.range.from, {}, &Range::from);
        if (!is_anew || !is_earlier_edit(run)) continue;
        PAL_TRY(entry, read_entry(store, header, run.by));
        const auto* compaction = std::get_if<CompactionEntry>(&entry.body);
        if (!compaction || run.edit >= compaction->edits.size())
            return fail(ErrorCode::internal,
                        "an edit that is in force is missing; run `pal doctor`");
        PAL_TRY(count, known_count(tokenizer, compaction->edits[run.edit]));
        run.tokens = count.tokens;
    }
    return {};
}

// One item for each message, with nothing but its shape: enough to find groups.
std::vector<Item> shapes_of(const std::vector<Entry>& entries) {
    std::vector<Item> items;
    for (const Entry& entry : entries) {
        Item item;
        item.range = {entry.seq, entry.seq};
        item.message = std::get<MessageEntry>(entry.body).message;
        items.push_back(std::move(item));
    }
    return arrange(std::move(items));
}

struct Window {
    std::vector<Seq> members = {};
    bool whole = false;                     // every call has its result and the other way round
    bool at_begin = false, at_end = false;  // an answer may have begun before it, or go on behind
};

Window group_in(const std::vector<Item>& items, Seq seq) {
    for (const Group& group : find_groups(items)) {
        Window window;
        std::vector<std::string> calls, results;
        for (std::size_t i = group.first; i <= group.last; ++i) {
            window.members.push_back(items[i].range.from);
            const Shape& shape = items[i].message.shape;
            calls.insert(calls.end(), shape.calls.begin(), shape.calls.end());
            results.insert(results.end(), shape.results.begin(), shape.results.end());
        }
        std::sort(window.members.begin(), window.members.end());
        if (!std::binary_search(window.members.begin(), window.members.end(), seq)) continue;
        std::sort(calls.begin(), calls.end());
        std::sort(results.begin(), results.end());
        window.whole = std::includes(results.begin(), results.end(), calls.begin(), calls.end()) &&
                       std::includes(calls.begin(), calls.end(), results.begin(), results.end());
        window.at_begin = group.first == 0;
        window.at_end = group.last + 1 == items.size();
        return window;
    }
    return {};
}

// What an earlier request with this key gave, if there was one. The key is checked before the
// incarnation, so a batch for a log that cannot exist asks about the key and writes nothing.
Result<Appended> repeat_of(Store& store, const ConversationId& name, const WriteOptions& write,
                           std::string_view request) {
    Batch batch;
    batch.key = write.key;
    batch.digest = hash_bytes(request);
    batch.expected_log = LogId{};
    batch.if_absent = IfAbsent::fail;
    return store.append(name, batch);
}

}  // namespace

Result<std::vector<Change>> changes_in_force(Store& store, const Header& header) {
    PAL_TRY(basis, load_basis(store, header, header.end));
    if (!basis) return std::vector<Change>{};
    return read_changes(store, header, basis->applied);
}

Result<Body> with_basis(Store& store, const Tokenizer& tokenizer, const Header& header, Seq upto,
                        Body body, const std::vector<MessageFact>& unwritten) {
    PAL_TRY(newest, load_basis(store, header, header.end));
    // Counts made by another tokenizer are of no use: they are made anew.
    const Basis* old = newest && newest->scheme == tokenizer.scheme() ? &*newest : nullptr;
    PAL_TRY(fold, fold_in(store, header, newest, upto, body));
    const std::vector<Range> anew = facts_needed(fold, old);
    PAL_CHECK(recount_edits(store, tokenizer, header, fold, anew));
    PAL_TRY(facts, load_facts(store, tokenizer, header, anew));
    facts.insert(facts.end(), unwritten.begin(), unwritten.end());
    *basis_of(body) = store_basis(seal_basis(fold, old, facts, tokenizer.scheme()));
    return body;
}

Result<Appended> write_edit(Memory::State& state, const ConversationId& name,
                            const WriteOptions& write, std::string_view request,
                            const DecideEdit& decide) {
    for (int attempt = 1;; ++attempt) {
        PAL_TRY(header, state.store->head(name));
        std::vector<Draft> behind;
        auto draft = write.expected_end.value_or(header.end) == header.end
                         ? decide(header, behind)
                         : Result<Body>(fail(ErrorCode::conflict,
                                             "'" + name.id + "' ends at seq " +
                                                 std::to_string(header.end.value) + ", not at " +
                                                 std::to_string(write.expected_end->value)));
        if (!draft) {
            // What was asked for may be done already, and therefore not be possible any more.
            auto first = write.key.empty() ? Result<Appended>(std::unexpected(draft.error()))
                                           : repeat_of(*state.store, name, write, request);
            return first ? first : std::unexpected(draft.error());
        }
        Batch batch;
        batch.key = write.key;
        batch.digest = hash_bytes(request);
        batch.expected_log = header.log;
        batch.expected_end = write.expected_end;
        batch.expected_basis = header.basis;
        batch.expected_epoch = header.epoch;
        batch.if_absent = IfAbsent::fail;
        PAL_TRY(body,
                with_basis(*state.store, *state.tokenizer, header, header.end, std::move(*draft)));
        batch.entries.push_back({std::move(body), {}});
        std::ranges::move(behind, std::back_inserter(batch.entries));
        auto appended = state.store->append(name, batch);
        if (appended) return appended;
        const bool again = appended.error().code == ErrorCode::conflict && !write.expected_end;
        if (!again || attempt == attempts_max) return appended;
    }
}

namespace {

std::string no_message_text(const Header& header, Seq seq) {
    return "there is no message at seq " + std::to_string(seq.value) + "; the log ends at seq " +
           std::to_string(header.end.value) + ", `pal log ID` lists what is at each";
}

}  // namespace

Result<std::vector<Seq>> group_around(Store& store, const Header& header, Seq seq) {
    for (std::uint64_t reach = 64;; reach *= 4) {
        ReadQuery query{.ranges = {}, .kinds = only(EntryKind::message)};
        query.content = false;
        const Range range{std::max(seq - reach, Seq{1}), std::min(seq + reach, header.end)};
        if (range.empty()) return fail(ErrorCode::not_found, no_message_text(header, seq));
        query.ranges = {range};
        PAL_TRY(entries, read_lineage(store, header, query));
        Window window = group_in(shapes_of(entries), seq);
        if (window.members.empty()) return fail(ErrorCode::not_found, no_message_text(header, seq));
        const bool from_first = range.from == Seq{1}, to_last = range.to == header.end;
        const bool inside = (from_first || !window.at_begin) && (to_last || !window.at_end);
        if ((window.whole && inside) || (from_first && to_last)) return std::move(window.members);
    }
}

}  // namespace palimpsest
