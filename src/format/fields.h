// Reading fields of a message with errors that name the field and what was expected.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/neutral.h"
#include "palimpsest/error.h"

namespace palimpsest {

// A place inside a message, spelled only when an error is made: "content[2].text".
struct Path {
    const Path* above = nullptr;
    std::string_view name = {};
    std::size_t index = 0;  // used when the name is empty
};
std::string path_text(const Path& path);

std::unexpected<Error> expected_at(const Path& path, std::string_view what);

// The string at `key`; absent or null gives "". Another kind is an error.
Result<std::string_view> string_field(JsonValue object, std::string_view key, const Path& path);
// The string at `key`; an error when it is absent, null or not a string.
Result<std::string_view> required_string(JsonValue object, std::string_view key, const Path& path);
// The string at `key`, or "" whatever else is there: for what is only shown.
std::string_view any_string(JsonValue object, std::string_view key);

// The bytes and the type of a part; what it is called in errors is `what`.
Result<void> begin_part(NeutralPart& part, JsonValue json, const Path& path, std::string_view what);
void add_text_part(std::vector<NeutralPart>& parts, JsonValue text);

// The content of a message or result: a string is one text, a list is read part by part with
// read_part(NeutralPart&, JsonValue, const Path&). Anything else is an error: `what` was expected.
template <class ReadPart>
Result<void> read_part_list(std::vector<NeutralPart>& parts, JsonValue content, const Path& path,
                            std::string_view what, ReadPart&& read_part) {
    if (content.is_string()) {
        add_text_part(parts, content);
        return {};
    }
    if (!content.is_array()) return expected_at(path, what);
    std::size_t index = 0;
    for (const JsonValue element : content.elements())
        PAL_CHECK(read_part(parts.emplace_back(), element, Path{&path, {}, index++}));
    return {};
}

// The role, which every message of every format has.
Result<void> read_role(NeutralMessage& message, std::optional<JsonValue> role);

// Splits "data:image/png;base64,AAAA" into type and data; other URLs stay URLs.
void set_url(NeutralPart& part, std::string_view url);

Role role_by_name(std::string_view name);

// The text of a result's parts, joined; kept in `message` when there are several.
std::string_view joined_text(NeutralMessage& message, const std::vector<NeutralPart>& parts);

// One line about what a target format has no place for.
void lose(std::vector<std::string>& lost, const NeutralPart& part, std::string_view why);

// Lines about what only one format has: cache marks, the detail of images, names of speakers.
void report_lost_fields(JsonValue message, bool takes_detail, std::vector<std::string>& lost);
void report_cache_control(JsonValue object, std::vector<std::string>& lost);

// A URL, or the data as a data: URL.
std::string url_of(const NeutralPart& part);

// Text, or what is carried as text: a document given as text, a compaction that can be read,
// the words of what was spoken.
bool is_textual(const NeutralPart& part);
std::string_view textual(const NeutralPart& part);
inline bool is_media(const NeutralPart& part) {
    return part.kind >= PartKind::image && part.kind <= PartKind::audio;
}

// Arguments that are no JSON object go into formats that want one as {"_text_arguments": "..."},
// the input of a custom tool as {"_custom_input": "..."}; on the way back they come out again.
std::string arguments_object(const NeutralPart& call);
struct PlainArguments {
    std::string text;
    bool custom = false;
};
PlainArguments plain_arguments(const NeutralPart& call);

}  // namespace palimpsest
