#include "engine/load.h"

#include <algorithm>
#include <map>

#include "base/assert.h"
#include "core/recollect.h"
#include "engine/count.h"
#include "palimpsest/format.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

using EditEntries = std::map<Seq, Entry>;

Result<EditEntries> read_edits(Store& store, const Header& header, const Basis& basis) {
    ReadQuery query{.ranges = {}, .kinds = basis_kinds};
    std::vector<Seq> seqs;
    for (const BasisItem& item : basis.items)
        if (item.treatment != Treatment::verbatim) seqs.push_back(item.by);
    std::sort(seqs.begin(), seqs.end());
    seqs.erase(std::unique(seqs.begin(), seqs.end()), seqs.end());
    EditEntries out;
    if (seqs.empty()) return out;
    for (const Seq seq : seqs) query.ranges.push_back({seq, seq});
    PAL_TRY(entries, read_lineage(store, header, query));
    for (Entry& entry : entries) out.emplace(entry.seq, std::move(entry));
    return out;
}

Result<std::vector<Entry>> read_shown(Store& store, const Header& header, const Basis& basis,
                                      Seq at) {
    ReadQuery query{.ranges = {}, .kinds = only(EntryKind::message)};
    for (const BasisItem& item : basis.items)
        if (item.treatment == Treatment::verbatim) query.ranges.push_back(item.range);
    if (basis.upto < at) query.ranges.push_back({basis.upto + 1, at});
    if (query.ranges.empty()) return std::vector<Entry>{};
    return read_lineage(store, header, query);
}

Result<const Edit*> find_edit(const EditEntries& edits, const BasisItem& item) {
    const auto entry = edits.find(item.by);
    const auto* compaction =
        entry == edits.end() ? nullptr : std::get_if<CompactionEntry>(&entry->second.body);
    if (!compaction || item.edit >= compaction->edits.size())
        return fail(ErrorCode::internal, "the edit at seq " + std::to_string(item.by.value) +
                                             " that the view needs is missing; run `pal doctor`");
    return &compaction->edits[item.edit];
}

constexpr std::string_view scrubbed_summary =
    "[A summary stood here. It was removed because it covered content that was removed.]";

// A cleared, shortened or folded run as the item that stands for it.
Result<Item> edited_item(const Tokenizer& tokenizer, const Edit& edit, const BasisItem& run,
                         const Entry& by) {
    const bool is_gone = edit.scrubbed && edit.treatment == Treatment::folded;
    PAL_TRY(count, is_gone ? Result<Count>(count_text(tokenizer, scrubbed_summary))
                           : known_count(tokenizer, edit));
    Item item;
    item.range = run.range;
    item.tokens = count.tokens;
    item.reason = edit.reason;
    item.by = by.seq;
    item.at = by.at;
    if (edit.treatment == Treatment::folded) {
        item.kind = ItemKind::summary;
        item.tells = edit.range;
        const std::string_view text = is_gone ? scrubbed_summary : view_of(edit.result);
        PAL_TRY(message, make_message(edit.format, Role::user, text));
        item.message = std::move(message);
    } else {
        item.kind = edit.treatment == Treatment::cleared ? ItemKind::cleared : ItemKind::shortened;
        PAL_TRY(message, read_message(edit.format, edit.result));
        item.message = std::move(message);
    }
    item.message.count = count;
    return item;
}

// Puts runs and messages into one ascending list of items.
class Assembly {
public:
    Assembly(const Tokenizer& tokenizer, const Basis& basis, const EditEntries& edits)
        : tokenizer_(tokenizer), basis_(basis), edits_(edits) {}

    Result<std::vector<Item>> run(const std::vector<Entry>& messages) {
        std::size_t next = 0;
        for (const BasisItem& item : basis_.items) {
            if (item.treatment != Treatment::verbatim) {
                PAL_CHECK(add_edited(item));
                continue;
            }
            for (; next < messages.size() && messages[next].seq <= item.range.to; ++next)
                PAL_CHECK(add_message(messages[next]));
        }
        for (; next < messages.size(); ++next) PAL_CHECK(add_message(messages[next]));
        return std::move(items_);
    }

private:
    Result<void> add_message(const Entry& entry) {
        PAL_TRY(item, verbatim_item(tokenizer_, entry));
        item.pinned = std::binary_search(basis_.pinned.begin(), basis_.pinned.end(), entry.seq);
        if (item.pinned) item.reason = "pinned";
        items_.push_back(std::move(item));
        return {};
    }

    Result<void> add_edited(const BasisItem& run) {
        const auto [at, is_first] = shown_.try_emplace({run.by, run.edit}, items_.size());
        if (!is_first) {
            items_[at->second].range.to = run.range.to;
            return {};
        }
        PAL_TRY(edit, find_edit(edits_, run));
        PAL_TRY(item, edited_item(tokenizer_, *edit, run, edits_.at(run.by)));
        items_.push_back(std::move(item));
        return {};
    }

    const Tokenizer& tokenizer_;
    const Basis& basis_;
    const EditEntries& edits_;
    std::map<std::pair<Seq, std::uint32_t>, std::size_t> shown_;
    std::vector<Item> items_;
};

}  // namespace

Result<Item> verbatim_item(const Tokenizer& tokenizer, const Entry& entry) {
    const auto& said = std::get<MessageEntry>(entry.body);
    Item item;
    item.range = {entry.seq, entry.seq};
    item.message = said.message;
    item.kind = kind_of_said(item.message);
    item.at = entry.at;
    item.interrupted = said.interrupted;
    if (item.message.count.scheme != tokenizer.scheme()) {
        PAL_TRY(count, count_message(tokenizer, item.message));
        item.message.count = count;
    }
    item.tokens = item.message.count.tokens;
    return item;
}

Result<std::optional<Basis>> load_basis(Store& store, const Header& header, Seq at) {
    if (header.basis == Seq{}) return std::nullopt;
    PAL_TRY(entry, newest_entry(store, header, basis_kinds, at, /*content=*/false));
    if (!entry) return std::nullopt;
    return resolve_basis(*entry);
}

Result<Loaded> load_view(Store& store, const Tokenizer& tokenizer, const Header& header, Seq at) {
    PAL_ASSERT(at <= header.end);
    Loaded loaded;
    loaded.view.header = header;
    loaded.view.seq = at;
    if (at == Seq{}) return loaded;  // perhaps there is no log yet
    PAL_TRY(entry, newest_entry(store, header, basis_kinds, at, /*content=*/false));
    if (entry) {
        loaded.view.basis = entry->seq;
        loaded.basis = resolve_basis(*entry);
    }
    const Basis basis = loaded.basis.value_or(Basis{});
    PAL_TRY(edits, read_edits(store, header, basis));
    PAL_TRY(messages, read_shown(store, header, basis, at));
    PAL_TRY(items, Assembly(tokenizer, basis, edits).run(messages));
    loaded.view.items = arrange(std::move(items));
    loaded.view.totals = totals_of(loaded.view.items);
    loaded.view.tokens = loaded.view.totals.tokens;
    return loaded;
}

Result<HotViewPtr> current_view(Memory::State& state, const Header& header) {
    const HotViewPtr hot = state.hot->find(header.name);
    const bool good = hot && hot->leads_to(header);
    if (good && hot->header.end == header.end && hot->header.revision == header.revision)
        return hot;
    HotView made;
    if (good) {
        std::vector<Item> more;
        const Range gap{hot->header.end + 1, header.end};
        if (!gap.empty()) {
            PAL_TRY(entries, read_lineage(*state.store, header,
                                          {.ranges = {gap}, .kinds = only(EntryKind::message)}));
            for (const Entry& entry : entries) {
                PAL_TRY(item, verbatim_item(*state.tokenizer, entry));
                more.push_back(std::move(item));
            }
        }
        made = extended(*hot, header, std::move(more));
    } else {
        PAL_TRY(loaded, load_view(*state.store, *state.tokenizer, header, header.end));
        made = make_hot(loaded.view);
    }
    const auto kept = std::make_shared<const HotView>(std::move(made));
    state.hot->put(kept);
    return kept;
}

// Every store writes a whole batch at one time, which is when the header was updated.
std::optional<HotView> after_write(const HotView& before, const Header& header, Seq first,
                                   std::span<const Draft> written) {
    const bool next = before.header.end + 1 == first && before.leads_to(header) &&
                      first + written.size() == header.end + 1;
    if (!next) return std::nullopt;
    std::vector<Item> more;
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto* said = std::get_if<MessageEntry>(&written[i].body);
        if (!said) continue;
        Item item;
        item.range = {first + i, first + i};
        item.message = said->message;
        item.kind = kind_of_said(item.message);
        item.tokens = said->message.count.tokens;
        item.at = written[i].at.value_or(header.updated);
        item.interrupted = said->interrupted;
        more.push_back(std::move(item));
    }
    return extended(before, header, std::move(more));
}

void keep_hot(Memory::State& state, const Header& header, Seq first,
              std::span<const Draft> written) {
    const HotViewPtr before = state.hot->find(header.name);
    if (!before) return;
    if (auto now = after_write(*before, header, first, written))
        state.hot->put(std::make_shared<const HotView>(*std::move(now)));
}

Result<std::vector<MessageFact>> load_facts(Store& store, const Tokenizer& tokenizer,
                                            const Header& header, std::vector<Range> ranges) {
    std::vector<MessageFact> facts;
    if (ranges.empty() || header.end == Seq{}) return facts;
    ReadQuery query{.ranges = std::move(ranges), .kinds = only(EntryKind::message)};
    query.content = false;
    PAL_TRY(entries, read_lineage(store, header, query));
    const bool counted = std::all_of(entries.begin(), entries.end(), [&](const Entry& entry) {
        return std::get<MessageEntry>(entry.body).message.count.scheme == tokenizer.scheme();
    });
    if (!counted) {
        query.content = true;
        PAL_TRY(whole, read_lineage(store, header, query));
        entries = std::move(whole);
    }
    for (const Entry& entry : entries) {
        Count count = std::get<MessageEntry>(entry.body).message.count;
        if (!counted) {
            PAL_TRY(item, verbatim_item(tokenizer, entry));
            count = item.message.count;
        }
        facts.push_back({entry.seq, count.tokens});
    }
    return facts;
}

}  // namespace palimpsest
