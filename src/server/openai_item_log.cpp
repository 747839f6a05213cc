// Reading items out of a log: pages of them, and one by its id.
//
// An answer may be several entries that follow each other; they are always read together, because
// the ids of its items count through all of them.
#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "core/recollect.h"
#include "engine/hidden.h"
#include "server/list_reply.h"
#include "server/openai_items.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::string_view response_prefix = "resp_";
constexpr std::size_t answer_entries_max = 4096;
constexpr std::size_t entries_at_first = 16;  // Each may be large; most pages are of 20.

// Which log of the lineage owns a seq.
class Owners {
public:
    static Result<Owners> of(Store& store, Header header) {
        Owners owners;
        for (;;) {
            owners.logs_.push_back({header.base, header.log});
            if (!header.parent) return owners;
            PAL_TRY(parent, store.head(*header.parent));
            header = std::move(parent);
        }
    }
    const LogId& of(Seq seq) const {
        for (const auto& [base, log] : logs_)
            if (seq > base) return log;
        return logs_.back().second;
    }

private:
    std::vector<std::pair<Seq, LogId>> logs_;
};

const MessageEntry& message_of(const Entry& entry) {
    return std::get<MessageEntry>(entry.body);
}

bool same_answer(const Entry& a, const Entry& b) {
    return message_of(a).answers != Seq{} && message_of(a).answers == message_of(b).answers &&
           b.seq == a.seq + 1;
}

// Entries in ascending order, answers whole.
std::vector<ShownItem> show_all(const Owners& owners, std::span<const Entry> entries) {
    std::vector<ShownItem> items;
    for (std::size_t at = 0; at < entries.size();) {
        std::size_t end = at + 1;
        if (is_recalled(message_of(entries[at]).message)) {  // Nobody said it.
            at = end;
            continue;
        }
        while (end < entries.size() && same_answer(entries[end - 1], entries[end])) ++end;
        const Seq turn = message_of(entries[at]).answers;
        std::vector<ShownItem> more;
        if (turn == Seq{}) {
            more = said_items(owners.of(entries[at].seq), entries[at].seq,
                              message_of(entries[at]).message);
        } else {
            std::vector<Message> messages;
            std::vector<Seq> seqs;
            for (std::size_t i = at; i < end; ++i) {
                messages.push_back(message_of(entries[i]).message);
                seqs.push_back(entries[i].seq);
            }
            more =
                output_items(position_id(response_prefix, owners.of(turn), turn), messages, seqs);
        }
        std::ranges::move(more, std::back_inserter(items));
        at = end;
    }
    return items;
}

// Where an id says that its item is: what was said stands at `seq`, an answer behind it.
struct Place {
    LogId log = {};
    Seq seq = {};
    bool answer = false;
};

std::optional<Place> parse_item_id(std::string_view id) {
    const std::size_t line = id.find('_');
    if (line == std::string_view::npos) return {};
    std::string_view rest = id.substr(line + 1);
    const bool answer = rest.starts_with(response_prefix);
    const std::size_t index = rest.find('_', answer ? response_prefix.size() : 0);
    if (answer && index == std::string_view::npos) return {};
    rest = rest.substr(0, index);
    const auto position = parse_position_id(answer ? response_prefix : std::string_view(), rest);
    if (!position) return {};
    return Place{position->log, position->seq, answer};
}

std::unexpected<Error> no_item(std::string_view id) {
    return fail(ErrorCode::not_found, "this conversation has no item '" + std::string(id) + "'");
}

// The entries of one block: a message that was said, or a whole answer.
Result<std::vector<Entry>> read_block(Store& store, const Header& header, const Place& place) {
    ReadQuery query{.ranges = {{place.seq, place.seq}}, .kinds = only(EntryKind::message)};
    if (!place.answer) return read_lineage(store, header, query);
    query.ranges = {{place.seq + 1, header.end}};
    query.limit = answer_entries_max;
    query.content = false;
    if (query.ranges.front().empty()) return std::vector<Entry>();
    PAL_TRY(entries, read_lineage(store, header, query));
    const auto first = std::ranges::find_if(
        entries, [&](const Entry& entry) { return message_of(entry).answers == place.seq; });
    if (first == entries.end()) return std::vector<Entry>();
    auto last = first;
    while (last + 1 != entries.end() && same_answer(*last, *(last + 1))) ++last;
    return read_lineage(store, header,
                        {.ranges = {{first->seq, last->seq}}, .kinds = only(EntryKind::message)});
}

struct Found {
    ShownItem item = {};
    Range block = {};
};

Result<Found> locate(Store& store, const Header& header, std::string_view id) {
    const std::optional<Place> place = parse_item_id(id);
    if (!place || place->seq == Seq{} || place->seq > header.end) return no_item(id);
    PAL_TRY(owners, Owners::of(store, header));
    if (owners.of(place->seq) != place->log) return no_item(id);
    PAL_TRY(entries, read_block(store, header, *place));
    for (ShownItem& item : show_all(owners, entries))
        if (item.id == id) return Found{std::move(item), {entries.front().seq, entries.back().seq}};
    return no_item(id);
}

// Without the answer at the far end that may go on beyond what was read.
void drop_cut_answer(std::vector<Entry>& entries, bool at_front) {
    if (at_front) {
        std::size_t end = 1;
        while (end < entries.size() && same_answer(entries[end - 1], entries[end])) ++end;
        entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(end));
        return;
    }
    std::size_t first = entries.size() - 1;
    while (first > 0 && same_answer(entries[first - 1], entries[first])) --first;
    entries.resize(first);
}

// What stands before the place where the page begins, and the item there.
void drop_before(std::vector<ShownItem>& items, const ShownItem& after, bool newest_first) {
    const auto is_after = [&](const ShownItem& item) {
        return newest_first ? item.seq < after.seq : item.seq > after.seq;
    };
    const auto there = std::ranges::find(items, after.id, &ShownItem::id);
    const auto first = there != items.end() ? there + 1 : std::ranges::find_if(items, is_after);
    items.erase(items.begin(), first);
}

bool is_hidden(const std::vector<Range>& hidden, Seq seq) {
    return std::ranges::any_of(hidden, [&](const Range& range) { return range.contains(seq); });
}

}  // namespace

std::optional<LogId> log_of_item(std::string_view id) {
    const std::optional<Place> place = parse_item_id(id);
    return place ? std::optional(place->log) : std::nullopt;
}

Result<ShownItem> find_item(Store& store, const Header& header, std::string_view id) {
    PAL_TRY(found, locate(store, header, id));
    return std::move(found.item);
}

Result<ShownItem> shown_item(Store& store, const Header& header, std::string_view id) {
    PAL_TRY(found, locate(store, header, id));
    PAL_TRY(hidden, hidden_by_hand(store, header));
    if (is_hidden(hidden, found.item.seq)) return no_item(id);
    return std::move(found.item);
}

namespace {

// How many of the items are the page: by the limit, and by their bytes.
struct PageEnd {
    std::size_t rows = 0;
    bool full = false;  // of bytes
};

PageEnd end_of_page(std::span<const ShownItem> items, std::size_t limit) {
    PageEnd end;
    for (std::size_t bytes = 0; end.rows < std::min(limit, items.size()) && !end.full;) {
        bytes += items[end.rows++].json.size();
        end.full = bytes >= page_bytes_max;
    }
    return end;
}

// The page behind the item that `place` names, which the query calls `param`.
Result<ItemPage> items_behind(Store& store, const Header& header, const ItemQuery& query,
                              const std::string& place, std::string_view param) {
    Range range{Seq{1}, std::min(query.upto, header.end)};
    std::optional<ShownItem> after;
    if (!place.empty()) {
        auto found = locate(store, header, place);
        if (!found)
            return fail(ErrorCode::invalid_request, found.error().message, std::string(param));
        if (query.newest_first)
            range.to = std::min(range.to, found->block.to);
        else
            range.from = found->block.from;
        after = std::move(found->item);
    }
    if (range.empty()) return ItemPage{};
    PAL_TRY(owners, Owners::of(store, header));
    PAL_TRY(hidden, hidden_by_hand(store, header));
    for (std::size_t window = entries_at_first;; window *= 2) {
        ReadQuery read{.ranges = {range}, .kinds = only(EntryKind::message)};
        read.limit = window;
        read.newest_first = query.newest_first;
        PAL_TRY(entries, read_lineage(store, header, read));
        const bool all = entries.size() < window;
        if (query.newest_first) std::ranges::reverse(entries);
        if (!all) drop_cut_answer(entries, query.newest_first);
        std::vector<ShownItem> items = show_all(owners, entries);
        std::erase_if(items, [&](const ShownItem& item) { return is_hidden(hidden, item.seq); });
        if (query.newest_first) std::ranges::reverse(items);
        if (after) drop_before(items, *after, query.newest_first);
        const PageEnd end = end_of_page(items, query.limit);
        if (!all && !end.full && end.rows == items.size()) continue;
        ItemPage page{.has_more = end.rows < items.size() || !all};
        items.resize(end.rows);
        page.items = std::move(items);
        return page;
    }
}

}  // namespace

// The page before an item is the one behind it in the other order, turned round.
Result<ItemPage> list_items(Store& store, const Header& header, const ItemQuery& query) {
    if (query.before.empty()) return items_behind(store, header, query, query.after, "after");
    if (!query.after.empty())
        return fail(ErrorCode::invalid_request, "give 'after' or 'before', not both", "before");
    ItemQuery turned = query;
    turned.newest_first = !query.newest_first;
    PAL_TRY(page, items_behind(store, header, turned, query.before, "before"));
    std::ranges::reverse(page.items);
    return std::move(page);
}

}  // namespace palimpsest
