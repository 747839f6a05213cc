// Formats: provider bytes to messages and back. Nothing here touches a file, socket or clock; what
// a writer needs of them (ids, times) is passed in. All functions may be called from any thread.
//
// A message read here keeps the bytes it came in; those are what is stored and sent. Everything
// else (shape, fingerprint, parts) is read from them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/types.h"

namespace palimpsest {

// "openai_chat", "openai_responses", "anthropic".
std::string_view format_name(FormatId format);
std::optional<FormatId> format_by_name(std::string_view name);
// The format of that name, or invalid_request with the names that exist.
Result<FormatId> parse_format_name(std::string_view name);

// One message (or Responses item). Surrounding white space is trimmed; every other byte stays.
// Unknown roles, item types and parts are kept. invalid_request names the field that is of the
// wrong kind and what was expected. Counts are not filled in.
Result<Message> read_message(FormatId format, Bytes raw);

// A message, a list of them, or a request body that holds one (`messages`, `input`, `items`). Each
// message's raw is its own bytes exactly, without a copy: they share the memory of `json` and keep
// it alive, so what outlives the request takes raw.own(). An `input` that is a string becomes a
// user message. Fields beside the list (a system prompt, tools) are not read.
// Fingerprints tell what the log has already; who only looks or sends can do without their cost.
enum class Fingerprints : std::uint8_t { taken, left_out };
Result<std::vector<Message>> read_messages(FormatId format, Bytes json,
                                           Fingerprints fingerprints = Fingerprints::taken);

// The parts, in order. Their views stay good as long as the Parts or a copy of it lives.
Result<Parts> read_parts(const Message& message);

// A plain text message. A tool's message needs a call to answer, so Role::tool is refused.
Result<Message> make_message(FormatId format, Role role, std::string_view text);

constexpr std::string_view removed_text = "[removed]";

// What a scrub leaves behind: a valid message of the same role that makes the same calls and
// answers the same calls (ids only; names and arguments go), its text replaced by removed_text.
// Needs the shape; the raw bytes only where the item's type must be known.
Result<Bytes> scrubbed_message(const Message& message);

// ---- validity -----------------------------------------------------------------------------------

// What becomes of a request that breaks a rule.
enum class Severity : std::uint8_t {
    reject,         // the provider refuses it
    limit,          // it exceeds a size or number that the provider refuses
    tolerate,       // accepted, but not as meant
    needs_context,  // refused, which is only known with the model, the log or the rest of the body
};
std::string_view severity_name(Severity severity);

struct Rule {
    std::string_view id;      // "C1", "R4", "A10", or a word
    std::string_view format;  // the name of the one that has it, or "every"
    Severity severity = Severity::reject;
    std::string_view meaning;
};
std::vector<Rule> rule_table();

struct Violation {
    std::string_view rule = {};
    std::size_t at = 0;        // index of the message or item
    std::string message = {};  // what is wrong and how to mend it
    Severity severity = Severity::reject;
};

// What is known beside the messages. Empty fields switch off the checks that need them.
struct CheckOptions {
    std::string_view model = {};            // that the request goes to
    std::string_view reasoning_model = {};  // that wrote the reasoning in the history
    std::span<const Message> log = {};      // what was really said; repair restores calls from it
    bool open_end = false;         // calls at the end may still be answered: leave them alone
    bool continued = false;        // Responses: calls may be in a stored response or conversation
    bool unstored = false;         // Responses: the service keeps nothing (store: false)
    std::size_t marks_beside = 0;  // Anthropic: cache_control in tools and system prompt
};

// Every broken rule, in the order of positions. Context rules are checked as far as `options` goes.
Result<std::vector<Violation>> validate(FormatId format, std::span<const Message> messages,
                                        const CheckOptions& options = {});
// The same for a request body or a bare list; a body brings its model and more rules. A message
// that cannot be read is a violation of the rule "shape". Fails only when it is no JSON at all, or
// JSON with duplicate keys (rule "json" says so in the error's param).
Result<std::vector<Violation>> validate_json(FormatId format, std::string_view json,
                                             const CheckOptions& options = {});
// Nothing in it that a provider would refuse.
bool is_sendable(std::span<const Violation> violations);

// ---- repair -------------------------------------------------------------------------------------

constexpr std::string_view interrupted_text =
    "[error: the tool call was interrupted; it has no result]";

// One change. `at` is the index in what came in.
struct RepairNote {
    std::size_t at = 0;
    std::string what = {};
};
struct Repaired {
    std::vector<Message> messages = {};
    std::vector<std::size_t> origins = {};  // of each message, the given one that it begins with
    std::vector<RepairNote> notes = {};     // empty: nothing was changed
};

// Makes a history sendable, touching only what is broken: the same input gives the same output, a
// valid history comes back with the very same bytes, and repairing twice is repairing once. All
// messages must be of `format`.
Result<Repaired> repair(FormatId format, std::span<const Message> messages,
                        const CheckOptions& options = {});

struct RepairedJson {
    std::string json = {};
    std::vector<RepairNote> notes = {};
};
// A list or a request body; what is not the list stays byte for byte, but for fields that such a
// list does not allow.
Result<RepairedJson> repair_json(FormatId format, std::string_view json,
                                 const CheckOptions& options = {});

// The messages as a JSON list, each byte for byte.
std::string write_list(std::span<const Message> messages);

// ---- conversion and rendering -------------------------------------------------------------------

struct Rendered {
    std::vector<Message> messages = {};     // all of the target format
    std::vector<std::size_t> origins = {};  // of each, the given one that it begins with
    std::string system = {};                // Anthropic: the leading system messages' text
    std::string system_blocks = {};         // the same as a JSON list, if blocks of it are marked
    std::vector<std::string> lost = {};     // what has no place in the target format, one line each
    std::vector<RepairNote> notes = {};     // what was repaired; indexes are those after conversion
};

// Any messages, of whatever formats, as a list that the target's provider accepts: those of the
// target format keep their bytes, others are converted, all of it is repaired and validated.
// Of the caller's cache_control marks the newest stay, as many as the provider takes.
// `internal` if a violation remains (this is a bug); `unprocessable` if a limit is exceeded.
Result<Rendered> render(FormatId to, std::span<const Message> messages,
                        const CheckOptions& options = {});
// Messages are joined and moved on the way: how many of `rendered` stand behind the one that holds
// the message which of the `given` had `behind` behind it.
std::size_t rendered_behind(const Rendered& rendered, std::size_t given, std::size_t behind);
// The system prompt as JSON, for a field of the request.
std::string system_json(const Rendered& rendered);

struct ConvertedJson {
    std::string json = {};
    std::vector<std::string> lost = {};
};
// A list or a request body in another format, in the same shape; a list with a system prompt
// becomes a body in Anthropic's format, which has no other place for it.
Result<ConvertedJson> convert_json(FormatId from, FormatId to, std::string_view json);

}  // namespace palimpsest
