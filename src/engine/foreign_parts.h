// What the rows of the foreign table share: reading fields, counting what is not carried, and the
// conversation as messages of one format with the time and pin of each.
//
// Nothing is dropped here without a line: a field that no reader names is reported by its name.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/foreign.h"

namespace palimpsest {

// The string at `key`; empty when there is none.
std::string_view text_of(JsonValue object, std::string_view key);
// The value at `key`, unless it is null.
std::optional<JsonValue> value_of(JsonValue object, std::string_view key);
// Null, "", [], {}, 0 and false: nothing is lost with it.
bool says_nothing(JsonValue value);
// The fields of an object that are there, whatever it is written in.
std::optional<JsonDocument> parsed(std::string_view json);

class Losses;

// Calls `each` with every line that is not blank. A last line that is torn is left out, and told.
Result<void> each_json_line(std::string_view text, Losses& losses,
                            const std::function<Result<void>(JsonValue line)>& each);

// A file of lines among which there is none of a session.
std::unexpected<Error> nothing_of(std::string_view program);

// What is not carried, one line for each kind of thing, with how often it was met.
class Losses {
public:
    void add(std::string what, std::size_t times = 1);
    // A line for every field that is not among `known` and says something.
    void add_others(JsonValue object, std::string_view of,
                    std::initializer_list<std::string_view> known);
    void report_to(std::vector<std::string>& lost) const;

private:
    std::vector<std::pair<std::string, std::size_t>> counts_ = {};  // in the order they were met
};

// Where the format to write keeps the header's system prompt.
enum class PromptPlace : std::uint8_t { in_list, apart, nowhere };

struct ExportMessage {
    Message message = {};
    Time at = {};
    bool pinned = false;
};
struct ExportList {
    std::vector<ExportMessage> messages = {};
    std::string system = {};  // Anthropic: what left the list
    std::vector<std::string> lost = {};
};
// As it was said, converted but not repaired: an export is a record, not a request.
Result<ExportList> export_list(FormatId to, const ForeignSource& source, PromptPlace prompt);

}  // namespace palimpsest
