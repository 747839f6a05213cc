// Opening a conversation: the newest basis, the runs that it names, and the messages after it.
// Cost follows the view, not the history.
#pragma once
#include <vector>

#include "core/fold.h"
#include "engine/hot_views.h"
#include "engine/state.h"
#include "palimpsest/memory.h"

namespace palimpsest {

struct Loaded {
    View view = {};
    std::optional<Basis> basis = {};  // the newest one at the view's seq, resolved
};

// The view after entry `at` (at most the conversation's end).
Result<Loaded> load_view(Store& store, const Tokenizer& tokenizer, const Header& header, Seq at);

// The view at the header's end: the hot one, brought up to date with what it lacks, or else loaded.
// The header must be fresh.
Result<HotViewPtr> current_view(Memory::State& state, const Header& header);

// Keeps a hot view hot after messages were written: `first` is the seq of the first entry of the
// batch, `header` what the store gave back. Does nothing when the view is not hot or others wrote
// in between.
void keep_hot(Memory::State& state, const Header& header, Seq first,
              std::span<const Draft> written);

// The same from the very view that the batch followed. None when others wrote in between, or the
// batch has an edit in it.
std::optional<HotView> after_write(const HotView& before, const Header& header, Seq first,
                                   std::span<const Draft> written);

// The newest basis at or below `at`; none when nothing was ever edited.
Result<std::optional<Basis>> load_basis(Store& store, const Header& header, Seq at);

// Which messages there are in these ranges and what they cost, without reading their content
// (unless they were counted by another tokenizer).
Result<std::vector<MessageFact>> load_facts(Store& store, const Tokenizer& tokenizer,
                                            const Header& header, std::vector<Range> ranges);

// One message of the log as an item of a view.
Result<Item> verbatim_item(const Tokenizer& tokenizer, const Entry& entry);

}  // namespace palimpsest
