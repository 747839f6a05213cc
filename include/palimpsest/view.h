// The view: what the model is sent. A fold over the log, in the order in which it is sent.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/entry.h"
#include "palimpsest/store.h"

namespace palimpsest {

enum class ItemKind : std::uint8_t { verbatim, cleared, shortened, summary, recalled };
std::string_view item_kind_name(ItemKind kind);

// One message as the model gets it. For a summary `message` is its text put into a user message of
// the conversation's format, and `range` is what it still stands for.
struct Item {
    ItemKind kind = ItemKind::verbatim;
    Range range = {};
    std::uint32_t tokens = 0;
    std::string reason = {};  // why it is not verbatim, or why it is kept ("pinned")
    Message message = {};
    Time at = {};
    bool pinned = false;
    bool interrupted = false;
    Seq by = {};  // the entry whose edit made it so; 0: none
};

struct View {
    Header header = {};
    std::vector<Item> items = {};
    std::uint64_t tokens = 0;
    Seq seq = {};    // the view is the one after this entry
    Seq basis = {};  // the newest entry that changed it; 0: none
};

// The smallest run of messages that a provider accepts alone: one message, or everything from an
// assistant message with tool calls to the last of their results. Indices into the items.
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
