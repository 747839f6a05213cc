// The table of formats: everything that differs between them is a field or a function of a row.
//
// A format is a folder that defines one row; nothing outside these folders asks which format it has
// before it. Adding one is a folder, its line below and its line in formats.cpp.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/mend_body.h"
#include "format/neutral.h"
#include "palimpsest/error.h"
#include "palimpsest/format.h"
#include "palimpsest/message.h"
#include "palimpsest/stream.h"

namespace palimpsest {

struct Citation;
struct CheckInput;
class Findings;
class RepairWork;
struct NeutralRequest;

// Another word for why a reply ended.
struct StopAlias {
    std::string_view word = {};
    StopReason stop = {};
};

// How a format cuts a conversation into messages.
struct MessageCut {
    // Leading system messages leave the list for this field of the request; empty: they stay.
    std::string_view system_field = {};
    bool results_of_user = false;   // results stand in messages of the user, all of a turn in one
    bool one_part_items = false;    // every message, call and result is an item of its own
    bool object_arguments = false;  // arguments of a call are an object, not text
};

struct Format {
    FormatId id = {};
    std::string_view name = {};
    MessageCut cut = {};
    std::string_view list_fields[3] = {};  // where a request body keeps its messages
    std::string_view text_field = {};  // the one of them that may be a string: the user's message
    double temperature_max = 2;
    bool has_cache_marks = false;  // its blocks may carry cache_control; format/own_marks.h
    std::string_view own_text_type = "text";    // of a text part in the assistant's messages
    std::string_view other_text_type = "text";  // and in others'
    std::string_view result_field = "content";  // where a tool's result says what came out
    bool error_flags = true;    // a result can say that it failed, other than in words
    bool image_detail = false;  // an image can say how closely it is to be looked at
    // One of them is in the bytes of every message with a result of a tool that the provider runs.
    std::string_view hosted_marks[2] = {};
    std::string_view created_field = {};              // of a reply: when it was made
    std::array<std::string_view, 6> stop_words = {};  // by StopReason; the first match is meant
    std::span<const StopAlias> stop_aliases = {};
    std::span<const Rule> rules = {};  // that no other format has
    std::span<const BodyMend> body_mends = {};

    // One message into `message`, which is empty. Errors carry the path of the field inside the
    // message (Error::param).
    Result<void> (*read_into)(JsonValue json, NeutralMessage& message) = nullptr;
    // One message as one or more messages or items of this format. What has no place in it is
    // named in `lost`, one line each.
    std::vector<std::string> (*write)(const NeutralMessage& message,
                                      std::vector<std::string>& lost) = nullptr;

    // Reports what the provider would refuse; format/check.h.
    void (*check)(const CheckInput& input, Findings& findings) = nullptr;
    // What a request body says beside its list that bears on its validity; may be null.
    void (*read_options)(JsonValue body, CheckOptions& options) = nullptr;
    // Makes what `check` refuses acceptable; format/repair_work.h.
    void (*repair)(RepairWork& work) = nullptr;

    // One field of a request body; false if it has no common form. format/request.h.
    bool (*read_field)(NeutralRequest& request, std::string_view key, JsonValue value) = nullptr;
    // The whole body around a list that is written already.
    std::string (*write_body)(const NeutralRequest& request, std::string_view list,
                              std::vector<std::string>& lost) = nullptr;

    // Messages and stop_text of a whole reply.
    Result<void> (*read_reply)(Reply& reply, JsonValue body) = nullptr;
    ReplyUsage (*read_usage)(JsonValue usage) = nullptr;
    std::unique_ptr<StreamReader> (*make_reader)(OnDelta on_delta) = nullptr;
    std::unique_ptr<StreamWriter> (*make_writer)(StreamIdentity identity) = nullptr;
    // A whole reply with links to what its text rests on; null: it has no place for them.
    std::string (*cite)(JsonValue body, std::span<const Citation> citations) = nullptr;

    Result<NeutralMessage> read(JsonValue json) const {
        NeutralMessage message;
        PAL_CHECK(read_into(json, message));
        return message;
    }
    std::string_view stop_word(StopReason stop) const {
        return stop_words[static_cast<std::size_t>(stop)];
    }
};

extern const Format openai_chat_format;
extern const Format openai_responses_format;
extern const Format anthropic_format;

const Format& format_of(FormatId id);
std::span<const Format* const> format_table();

// The list inside a request body; none when `body` is a message itself or holds no list. The value
// may be a string where the format has a text_field.
struct BodyList {
    std::string_view field;
    JsonValue value;
};
std::optional<BodyList> find_body_list(const Format& format, JsonValue body);

// The message that `raw` is, of which `json` has been read.
Result<Message> read_message(FormatId format, JsonValue json, Bytes raw);
// Of a message that is parsed already; the parts live as long as what `json` is of.
Result<Parts> read_parts(const Message& message, JsonValue json);

}  // namespace palimpsest
