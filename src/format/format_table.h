// The table of formats. Adding one is a file that defines these functions and a row.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/neutral.h"
#include "palimpsest/error.h"
#include "palimpsest/message.h"

namespace palimpsest {

struct CheckInput;
class Findings;
class RepairWork;

struct Format {
    FormatId id = FormatId::openai_chat;
    std::string_view name;
    // One message. Errors carry the path of the field inside the message (Error::param). It is read
    // into `blank`, so that a reader of many lends the memory of the one before.
    Result<NeutralMessage> (*read_into)(JsonValue json, NeutralMessage blank) = nullptr;
    // One message as one or more messages or items of this format. What has no place in it is
    // named in `lost`, one line each.
    std::vector<std::string> (*write)(const NeutralMessage& message,
                                      std::vector<std::string>& lost) = nullptr;
    // Reports what the provider would refuse; format/check.h.
    void (*check)(const CheckInput& input, Findings& findings) = nullptr;
    // Makes what `check` refuses acceptable; format/repair_work.h.
    void (*repair)(RepairWork& work) = nullptr;
    std::string_view list_fields[3];  // where a request body keeps its messages

    Result<NeutralMessage> read(JsonValue json) const { return read_into(json, {}); }
};

const Format& format_of(FormatId id);
std::span<const Format> format_table();

// The formats' own files.
Result<NeutralMessage> read_openai_chat(JsonValue json, NeutralMessage blank);
std::vector<std::string> write_openai_chat(const NeutralMessage& message,
                                           std::vector<std::string>& lost);
Result<NeutralMessage> read_openai_responses(JsonValue json, NeutralMessage blank);
std::vector<std::string> write_openai_responses(const NeutralMessage& message,
                                                std::vector<std::string>& lost);
Result<NeutralMessage> read_anthropic(JsonValue json, NeutralMessage blank);
std::vector<std::string> write_anthropic(const NeutralMessage& message,
                                         std::vector<std::string>& lost);

void check_openai_chat(const CheckInput& input, Findings& findings);
void check_openai_responses(const CheckInput& input, Findings& findings);
void check_anthropic(const CheckInput& input, Findings& findings);

void repair_openai_chat(RepairWork& work);
void repair_openai_responses(RepairWork& work);
void repair_anthropic(RepairWork& work);

// The list inside a request body; none when `body` is a message itself or holds no list. The value
// may be a string in Responses.
struct BodyList {
    std::string_view field;
    JsonValue value;
};
std::optional<BodyList> find_body_list(const Format& format, JsonValue body);

}  // namespace palimpsest
