#include "engine/hidden.h"

#include "engine/load.h"
#include "store/lineage.h"

namespace palimpsest {

Result<std::vector<Range>> hidden_by_hand(Store& store, const Header& header) {
    std::vector<Range> hidden;
    PAL_TRY(basis, load_basis(store, header, header.end));
    if (!basis || basis->applied.empty()) return hidden;
    ReadQuery query{.ranges = {}, .kinds = basis_kinds};
    query.content = false;
    for (const Seq seq : basis->applied) query.ranges.push_back({seq, seq});
    PAL_TRY(entries, read_lineage(store, header, query));
    for (const Entry& entry : entries) {
        if (const auto* retract = std::get_if<RetractEntry>(&entry.body)) {
            hidden.push_back(retract->range);
            for (const Seq seq : retract->also) hidden.push_back({seq, seq});
        } else if (const auto* rewind = std::get_if<RewindEntry>(&entry.body)) {
            hidden.push_back({rewind->to + 1, rewind->upto});
        }
    }
    return hidden;
}

}  // namespace palimpsest
