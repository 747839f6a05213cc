// Views of conversations that were used lately, kept in memory so that a turn reads only what is
// new.
//
// A hot view is immutable and names what it was made from: log, seq, basis and epoch. It is used
// only beside a header that the store has just given (see current_view() in load.h): the same log,
// basis and epoch mean that only messages can have come behind it, anything else that it is of no
// use. So several processes may work on one store and nobody has to be told of anything.
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
    LogId log = {};
    Seq seq = {};    // the view after this entry
    Seq basis = {};  // the newest entry that changed it
    std::uint64_t epoch = 0;
    Items items = {};
    ViewTotals totals = {};
    bool in_order = true;                 // items are sent in the order of their seqs
    std::optional<CallTexts> texts = {};  // what the newest call note refers to; none: not read
    std::size_t bytes = 0;                // about what it takes of memory

    // As what the header's conversation shows. The header must be of the same log.
    View view(const Header& header) const;
};
using HotViewPtr = std::shared_ptr<const HotView>;

// A view of arranged items as a hot one.
HotView make_hot(const View& view);

// The view after `seq`, with these messages behind it: the same as folding all of it anew. Costs
// what is added, unless one of them belongs before what is shown already.
HotView extended(const HotView& old, Seq seq, std::vector<Item> more);

class HotViews {
public:
    explicit HotViews(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    HotViewPtr find(const LogId& log);  // null: there is none
    // Kept in place of an older one of the same log, unless it is larger than all of the cache.
    void put(HotViewPtr view);
    void drop(const LogId& log);
    std::size_t bytes() const { return bytes_; }

private:
    struct Hash {
        std::size_t operator()(const LogId& log) const;
    };
    using Order = std::list<HotViewPtr>;  // the one that was used last comes first
    struct Shard {
        std::mutex mutex;  // Guards the others.
        Order order;
        std::unordered_map<LogId, Order::iterator, Hash> by_log;
    };
    static constexpr std::size_t shard_count = 16;

    Shard& shard_of(const LogId& log) { return shards_[log.bytes[0] % shard_count]; }
    void remove(Shard& shard, Order::iterator at);
    void make_room(std::size_t first_shard, const LogId& keep);

    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_{0};
    std::array<Shard, shard_count> shards_ = {};
};

}  // namespace palimpsest
