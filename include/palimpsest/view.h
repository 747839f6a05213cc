// The view: what the model is sent. A fold over the log, in the order in which it is sent.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/entry.h"
#include "palimpsest/store.h"

namespace palimpsest {

enum class ItemKind : std::uint8_t { verbatim, cleared, shortened, summary, recalled };
std::string_view item_kind_name(ItemKind kind);

// One message as the model gets it. For a summary `message` is its text put into a user message of
// the conversation's format, and `range` is what it still stands for. What is asked of every item
// of a long view stands first, in two lines of the processor's cache.
struct Item {
    ItemKind kind = ItemKind::verbatim;
    bool pinned = false;
    bool interrupted = false;
    std::uint32_t tokens = 0;
    Range range = {};
    Message message = {};
    Time at = {};
    Seq by = {};              // the entry whose edit made it so; 0: none
    std::string reason = {};  // why it is not verbatim, or why it is kept ("pinned")
    // A summary: what its text tells of. More than it stands for where something of that is pinned
    // or was dropped meanwhile. Empty: as `range`.
    std::optional<Range> tells = {};
};

struct ItemFacts;  // what planning asks of an item

// The items of a view: a list that is never changed. Copies share it and cost nothing; a longer
// list shares it too, as long as it is the first one that goes on from there. Items lie next to
// each other, so it is a span wherever one is asked for. May be read by any number of threads.
class Items {
public:
    Items() = default;
    Items(std::vector<Item> items);  // NOLINT: a list of items is one
    Items(std::initializer_list<Item> items) : Items(std::vector<Item>(items)) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const Item* data() const { return data_; }
    const Item* begin() const { return data_; }
    const Item* end() const { return data_ + size_; }
    const Item& operator[](std::size_t i) const { return data_[i]; }
    const Item& front() const { return data_[0]; }
    const Item& back() const { return data_[size_ - 1]; }
    std::vector<Item> copy() const { return {begin(), end()}; }

    // Of each item, taken down when it was added.
    std::span<const ItemFacts> facts() const;

    // This list with more behind it. Costs what is added, over many calls.
    Items with(std::vector<Item> more) const;

private:
    struct Storage;
    std::shared_ptr<Storage> storage_;
    const Item* data_ = nullptr;
    const ItemFacts* facts_ = nullptr;
    std::size_t size_ = 0;
};

// Sums over the items of a view, kept with it, so that to find nothing due costs the same for any
// length.
struct ViewTotals {
    std::uint64_t messages = 0, turns = 0;
    std::uint64_t reasoning_turns = 0;  // those in which the assistant reasoned
    bool newest_reasons = false;        // the newest is one
    std::uint64_t tokens = 0;           // of the items' contents
    std::uint64_t bytes = 0;            // of their raw JSON
    std::uint64_t media = 0;            // images, documents, audio clips
    std::uint64_t calls = 0, results = 0;
    std::uint64_t summary_tokens = 0;  // of the summaries among them
    Time oldest = {}, newest = {};     // of the items that have a time
    bool operator==(const ViewTotals&) const = default;
};
void add_item(ViewTotals& totals, const Item& item);  // at the end of the view
ViewTotals totals_of(std::span<const Item> items);    // one walk

struct View {
    Header header = {};
    Items items = {};
    ViewTotals totals = {};
    std::uint64_t tokens = 0;
    Seq seq = {};          // the view is the one after this entry
    Seq basis = {};        // the newest entry that changed it; 0: none
    bool preview = false;  // shaped by edits that are not in the log
};

// Two views beside each other.
struct ViewDiff {
    struct Row {
        char side = '=';  // '-' only in the first, '+' only in the second, '=' in both
        Item item = {};
    };
    std::vector<Row> rows = {};
    std::size_t same_items = 0;  // from the beginning: what a cache would still hold
    std::uint64_t same_tokens = 0;
    std::uint64_t tokens_a = 0, tokens_b = 0;
};
ViewDiff diff_views(const View& a, const View& b);

// The smallest run of messages that a provider accepts alone: one message, or everything from an
// assistant message with tool calls (or several in a row, where the format has a message for each
// call) to the last of their results. Indices into the items.
struct Group {
    std::size_t first = 0, last = 0;  // inclusive
    bool open = false;                // a call is not answered yet: never edited
    bool pinned = false;
    bool reasoning = false;
    std::uint64_t tokens = 0;
};

// A user message that carries no tool result and everything up to the next one. What stands before
// the first such message is a turn of its own. Indices into the groups.
struct Turn {
    std::size_t first = 0, last = 0;  // inclusive
};

// Puts items into the order in which they are sent: a message that fell between a tool call and
// its result (another turn's) goes behind that group. Order is kept otherwise.
std::vector<Item> arrange(std::vector<Item> items);

// Of arranged items. Every item is in exactly one group, every group in exactly one turn.
std::vector<Group> find_groups(std::span<const Item> items);
std::vector<Turn> find_turns(std::span<const Item> items, std::span<const Group> groups);

}  // namespace palimpsest
