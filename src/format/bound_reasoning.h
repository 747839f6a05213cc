// Reasoning that only the model which wrote it takes back: signed, encrypted, or kept by its
// service under an id.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "format/neutral.h"
#include "palimpsest/message.h"

namespace palimpsest {

bool is_bound_reasoning(const NeutralPart& part);

// The messages as another model takes them, where `foreign` (as many) marks those that it did not
// write: bound reasoning goes, and a message that was nothing else. Those that cannot be read stay.
std::vector<Message> without_bound_reasoning(std::vector<Message> messages,
                                             const std::vector<bool>& foreign);

// What was said behind an item of reasoning is known to the service, by its id, as belonging to it,
// and is refused without it. The item without that id; none: it has none, or cannot be without.
std::optional<std::string> without_item_id(const NeutralMessage& item, JsonValue json);

}  // namespace palimpsest
