// A plan in the making: what passes have asked for so far, over the items of one view.
//
// Passes mark groups and items; nothing is copied or rewritten while they run. finish() then makes
// the edits for what still stands.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "core/scan.h"

namespace palimpsest {

class PlanDraft {
public:
    PlanDraft(const PlanInput& input, const Policy& policy);

    // Runs the pass over what is left, down to `target` if there is one. False: it asked for the
    // failure of the compaction, see refusal().
    // `left_later` is how much later passes leave of what is newest, if they are sure to.
    bool run(const PolicyPass& pass, std::optional<std::uint64_t> target, std::uint64_t min_gain,
             std::optional<std::uint64_t> left_later);
    std::uint64_t used() const { return used_; }
    bool in_order() const { return in_order_; }
    bool not_enough_history() const { return not_enough_; }
    const std::string& refusal() const { return refusal_; }
    // The tokens of what no pass may touch, with what is sent beside the items.
    std::uint64_t floor() const;

    // An edit with its bytes and exact counts, and the items that it is about.
    struct Made {
        Edit edit = {};
        std::vector<ItemRun> runs = {};  // ascending
        Message message = {};            // cleared, shortened
        std::optional<SummaryOrder> summary = {};
    };
    std::vector<Made> finish() const;
    // Of the items, if the draft had to find them; it is done with then.
    std::vector<ItemFacts> take_facts() && { return std::move(own_facts_); }

private:
    PlanDraft(const PlanInput& input, const Policy& policy, Scan scan);

    struct Ran {
        std::string name = {};
        PassResult result = {};
        // By edit: what its rewriting made of the item, where that was asked for early.
        std::vector<std::optional<Message>> made = {};
    };
    // What an edit of a pass that ran is about.
    struct Rewrite {
        std::size_t item = 0;
        std::uint32_t pass = 0, edit = 0;
    };
    struct Taken {
        std::uint32_t pass = 0, edit = 0;
        std::vector<ItemRun> runs = {};  // ascending
    };
    using Marks = std::vector<std::uint8_t>;  // by group; a bit each would be slower
    PassInput pass_input(std::optional<std::uint64_t> target) const;
    std::size_t first_lasting(std::uint64_t target) const;
    void keep_reachable(PassResult& result) const;
    bool gains(Ran& ran, std::uint64_t least) const;
    std::int64_t gain_of_groups(const PassResult& result, std::uint64_t enough) const;
    std::int64_t make_early(Ran& ran, std::size_t edit, std::span<const Rewrite> before) const;
    Message message_after(std::size_t item, std::span<const Rewrite> rewrites) const;
    std::optional<Message> rewritten_by(const Ran& ran, std::size_t edit,
                                        const Message& message) const;
    void apply(const PassResult& result, std::uint32_t pass);
    void take(Taken& taken, const PlannedEdit& edit, Marks& gone);
    std::vector<Rewrite> lasting_rewrites() const;
    void remove_groups(const Marks& gone);
    std::optional<Made> rewritten(std::span<const Rewrite> rewrites) const;
    void add_taken(std::vector<Made>& out, const Taken& taken) const;
    std::vector<Made> stretches_of(const Taken& taken) const;
    void add_folds(std::vector<Made>& out, std::vector<Made> stretches,
                   const PlannedEdit& planned) const;
    void set_summary(Made& made) const;

    const PlanInput& input_;
    std::span<const Item> items_;
    std::vector<ItemFacts> own_facts_;
    std::span<const ItemFacts> facts_;
    bool in_order_ = true;
    std::vector<Group> groups_;
    std::vector<Turn> turns_;
    std::vector<Shield> shields_;
    std::vector<std::uint32_t> tokens_;
    std::vector<Treatment> treatments_;
    std::vector<Ran> ran_;
    std::vector<Rewrite> rewrites_;  // as they were asked for
    std::vector<Taken> taken_;
    std::uint64_t used_ = 0;
    bool not_enough_ = false;
    std::string refusal_;
};

}  // namespace palimpsest
