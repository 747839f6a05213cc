// Why a view lacks what it lacks: the messages that it does not show, and which entry hid them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_write.h"
#include "palimpsest/memory.h"

namespace palimpsest {

// Why an item stands in the view as it does, in words; never empty.
std::string explain_item(const View& view, const Item& item);

struct LeftOut {
    Range range = {};
    std::uint64_t messages = 0;
    std::string reason = {};
    Seq by = {};  // the entry that hid them
};

// In order. Messages that a summary of the view stands for are not left out. Cost: one read of the
// positions (not the contents) of the whole history.
Result<std::vector<LeftOut>> explain_left_out(Memory& memory, const View& view);

// The view with one more field: "left_out":[{"from","to","messages","reason","by"}].
void write_explained_view(JsonWriter& out, const View& view, const std::vector<LeftOut>& left_out);

}  // namespace palimpsest
