#include "engine/hidden.h"

#include "engine/edit.h"

namespace palimpsest {

Result<std::vector<Range>> hidden_by_hand(Store& store, const Header& header) {
    PAL_TRY(changes, changes_in_force(store, header));
    std::vector<Range> hidden;
    for (const Change& change : changes)
        hidden.insert(hidden.end(), change.taken_back.begin(), change.taken_back.end());
    return hidden;
}

}  // namespace palimpsest
