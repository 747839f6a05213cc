// Results of tools that the provider carries out, or that it defines: each type has its own place
// for the payload, and a form without it that the provider still accepts.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace palimpsest {

// Whether the type is a tool's answer (alone or together with its call) that we know the form of.
bool is_hosted_result(std::string_view type);
// The item or block with `text` in the place of its payload, or without payload where there is no
// place for text. None when this one has nothing that could be taken out.
std::optional<std::string> without_payload(JsonValue item, std::string_view text);
// What its payload says, without the form around it; empty for pictures.
std::string payload_text(JsonValue item);
// What the tool was asked, where the item holds call and result.
std::string call_text(JsonValue item);
// It says that it failed.
bool hosted_failed(JsonValue item);

}  // namespace palimpsest
