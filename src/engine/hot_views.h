// Views of conversations that were used lately, kept in memory so that a turn reads only what is
// new.
//
// A hot view is immutable and holds the header that it was made from. It is believed only beside a
// header that the store has just given (current_view() in load.h), or for a write that fails unless
// the log still ends there (begin): the same log, basis and epoch mean that only messages can have
// come behind it, anything else that it is of no use. So several processes may work on one store
// and nobody has to be told of anything.
//
// The cache is bounded in bytes; the views that were not used for longest go first. No lock is held
// over I/O, and none over more than one shard.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/call_note.h"
#include "palimpsest/view.h"

namespace palimpsest {

struct HotView {
    Header header = {};  // the view is the one at its end
    Items items = {};
    ViewTotals totals = {};
    bool in_order = true;                 // items are sent in the order of their seqs
    std::optional<CallState> calls = {};  // what is known of past calls; none: not read
    std::size_t bytes = 0;                // about what it takes of memory

    View view() const;
    // Nothing but messages can have come between the two.
    bool leads_to(const Header& now) const {
        return header.log == now.log && header.epoch == now.epoch && header.basis == now.basis &&
               header.end <= now.end;
    }
};
using HotViewPtr = std::shared_ptr<const HotView>;

// A view of arranged items as a hot one.
HotView make_hot(const View& view);

// The view at `header`'s end, with these messages behind the old one: the same as folding all of it
// anew. Costs what is added, unless one of them belongs before what is shown already.
HotView extended(const HotView& old, const Header& header, std::vector<Item> more);

class HotViews {
public:
    explicit HotViews(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    HotViewPtr find(const ConversationId& name);  // null: there is none
    // Kept in place of an older one of the conversation, unless it is larger than all of the cache.
    void put(HotViewPtr view);
    void drop(const ConversationId& name);
    std::size_t bytes() const { return bytes_; }

private:
    struct Hash {
        std::size_t operator()(const ConversationId& name) const;
    };
    using Order = std::list<HotViewPtr>;  // the one that was used last comes first
    struct Shard {
        std::mutex mutex;  // Guards the others.
        Order order;
        std::unordered_map<ConversationId, Order::iterator, Hash> by_name;
    };
    static constexpr std::size_t shard_count = 16;

    Shard& shard_of(const ConversationId& name) { return shards_[Hash()(name) % shard_count]; }
    void remove(Shard& shard, Order::iterator at);
    void make_room(const ConversationId& keep);

    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_{0};
    std::array<Shard, shard_count> shards_ = {};
};

}  // namespace palimpsest
