// The fields of a request beside its messages, by meaning. Values are views into the body.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/error.h"
#include "palimpsest/format.h"

namespace palimpsest {

struct Format;

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
    std::string_view store = {};         // whether the provider keeps it; OpenAI's formats alone do
    std::vector<std::string> lost = {};  // fields that have no neutral form
};

NeutralRequest read_request_fields(const Format& format, JsonValue body);

// Messages of any formats in one, not yet repaired.
Result<Rendered> convert_messages(FormatId to, std::span<const Message> messages);

// ---- what the formats' own files share ----------------------------------------------------------

// Model, temperature, top_p, stream: every format spells them alike.
bool read_common_field(NeutralRequest& request, std::string_view key, JsonValue value);
// A string or a list of them.
void read_stop(NeutralRequest& request, JsonValue value);
// A string or a list of text blocks.
void read_system(NeutralRequest& request, JsonValue value);
// None, after a line in `lost`, for a tool that only the provider has.
std::optional<NeutralTool> read_tool(NeutralRequest& request, JsonValue tool,
                                     std::string_view custom_type);
void read_definition(NeutralRequest& request, NeutralTool& read, JsonValue body,
                     std::string_view schema_field);
// Where the schema's type stands; chat keeps name and schema one level down.
void read_output_format(NeutralRequest& request, JsonValue format);
void read_choice_word(NeutralRequest& request, JsonValue choice);

// A line for each member of the field `name` that is not among those that were read.
void report_others(NeutralRequest& request, std::string_view name, JsonValue object,
                   std::initializer_list<std::string_view> read);

// The raw JSON at `key`; empty when it is absent or null.
std::string_view raw_of(JsonValue object, std::string_view key);
void raw_field(JsonWriter& out, std::string_view key, std::string_view json);
void write_sampling(JsonWriter& out, const NeutralRequest& request);
void write_stop(JsonWriter& out, std::string_view field, const NeutralRequest& request);
void write_schema_fields(JsonWriter& out, const NeutralRequest& request, bool named);

}  // namespace palimpsest
