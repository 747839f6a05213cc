// A small conversation for tests of plans.
#pragma once
#include <vector>

#include "palimpsest/view.h"

namespace palimpsest {

// Ten user messages of ten tokens.
inline std::vector<Item> ten_messages() {
    std::vector<Item> items(10);
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].range = {Seq{i + 1}, Seq{i + 1}};
        items[i].tokens = 10;
        items[i].message.shape.text = true;
    }
    return items;
}

}  // namespace palimpsest
