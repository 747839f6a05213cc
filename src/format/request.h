// The fields of a request beside its messages, by meaning. Values are views into the body.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/error.h"
#include "palimpsest/format.h"

namespace palimpsest {

struct NeutralTool {
    bool custom = false;
    std::string_view name = {}, description = {};
    std::string_view schema = {};  // raw JSON; of a custom tool: its format
    std::string_view strict = {};  // raw JSON, if given
};

struct NeutralRequest {
    std::string system = {};
    bool only_system = false;  // a list with a system prompt, not a request
    std::string_view model = {}, max_tokens = {}, temperature = {}, top_p = {}, stream = {};
    std::vector<std::string_view> stop = {};  // raw JSON strings
    std::vector<NeutralTool> tools = {};
    std::string_view choice = {};       // auto, none, required, tool; empty: not given
    std::string_view choice_tool = {};  // for choice tool
    std::optional<bool> parallel = {};
    std::string_view schema_name = {}, schema = {}, schema_strict = {};  // structured output
    bool json_object = false;
    std::string_view effort = {};        // of reasoning
    std::vector<std::string> lost = {};  // fields that have no neutral form
};

NeutralRequest read_request_fields(FormatId from, JsonValue body);

// The whole body. Fields without a place in the format are named in `lost`.
std::string write_request(FormatId to, const NeutralRequest& request, std::string_view list,
                          std::vector<std::string>& lost);

// Messages of any formats in one, not yet repaired.
Result<Rendered> convert_messages(FormatId to, std::span<const Message> messages);

}  // namespace palimpsest
