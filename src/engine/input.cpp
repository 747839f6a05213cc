#include "engine/input.h"

#include "base/json.h"
#include "base/time.h"
#include "engine/count.h"
#include "format/format_table.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

bool is_wrapped(const JsonValue& value) {
    const auto inner = value.find("message");
    return inner && inner->is_object() && !value.find("role") && !value.find("type");
}

// A copy of its own: a log outlives the request.
Result<Message> read_own(const JsonValue& value, FormatId format) {
    return read_message(format, value, make_bytes(std::string(value.raw())));
}

Result<Said> read_one(const JsonValue& value, FormatId format) {
    if (!is_wrapped(value)) {
        PAL_TRY(message, read_own(value, format));
        return Said{std::move(message), std::nullopt};
    }
    for (const JsonMember member : value.members())
        if (member.key != "at" && member.key != "message")
            return fail(ErrorCode::invalid_request,
                        "a wrapped message has the fields \"at\" and \"message\", not \"" +
                            std::string(member.key) + "\"",
                        std::string(member.key));
    PAL_TRY(message, read_own(*value.find("message"), format));
    Said said{std::move(message), std::nullopt};
    if (const auto at = value.find("at"); at && !at->is_null()) {
        PAL_TRY(time, parse_time(at->string()));
        said.at = time;
    }
    return said;
}

Error at_index(Error error, std::size_t index) {
    error.message = "message " + std::to_string(index) + ": " + error.message;
    if (error.param.empty()) error.param = "messages[" + std::to_string(index) + "]";
    return error;
}

JsonValue message_in(JsonValue value) {
    return is_wrapped(value) ? *value.find("message") : value;
}

Result<std::vector<Said>> read_list(JsonValue list, FormatId format,
                                    std::vector<JsonValue>& parsed) {
    std::vector<Said> said;
    for (const JsonValue value : list.elements()) {
        auto one = read_one(value, format);
        if (!one) return std::unexpected(at_index(one.error(), said.size()));
        said.push_back(std::move(*one));
        parsed.push_back(message_in(value));
    }
    return said;
}

bool holds_wrapped(JsonValue list) {
    if (!list.is_array()) return false;
    for (const JsonValue value : list.elements())
        if (is_wrapped(value)) return true;
    return false;
}

// `parsed` gets the messages as they stand in `root`, where they do.
Result<std::vector<Said>> read_all(JsonValue root, FormatId format,
                                   std::vector<JsonValue>& parsed) {
    if (root.is_array()) return read_list(root, format, parsed);
    std::vector<Said> said;
    const auto body = find_body_list(format_of(format), root);
    if (body && holds_wrapped(body->value)) return read_list(body->value, format, parsed);
    if (!body) {
        PAL_TRY(one, read_one(root, format));
        said.push_back(std::move(one));
        parsed.push_back(message_in(root));
        return said;
    }
    PAL_TRY(messages, read_messages(format, make_bytes(std::string(root.raw()))));
    for (Message& message : messages) {
        message.raw = message.raw.own();  // A log outlives the request.
        said.push_back({std::move(message), std::nullopt});
    }
    return said;
}

}  // namespace

Result<void> check_message_size(const Message& message, std::size_t bytes_max,
                                std::string_view what, std::string param) {
    if (message.raw->size() <= bytes_max) return {};
    return fail(ErrorCode::too_large,
                std::string(what) + " has " + std::to_string(message.raw->size()) +
                    " bytes, at most " + std::to_string(bytes_max) +
                    " are taken (message_bytes_max); raise the limit or split it",
                std::move(param));
}

Result<std::vector<Said>> read_said(std::string_view json, FormatId format,
                                    const Tokenizer& tokenizer, std::size_t bytes_max) {
    PAL_TRY(document, parse_json(json));
    std::vector<JsonValue> parsed;
    PAL_TRY(said, read_all(document.root(), format, parsed));
    for (std::size_t i = 0; i < said.size(); ++i) {
        Message& message = said[i].message;
        if (message.raw->size() > bytes_max) {
            const std::string index = std::to_string(i);
            PAL_CHECK(check_message_size(message, bytes_max, "message " + index,
                                         "messages[" + index + "]"));
        }
        PAL_TRY(count, i < parsed.size() ? count_message(tokenizer, message, parsed[i])
                                         : count_message(tokenizer, message));
        message.count = count;
    }
    return said;
}

}  // namespace palimpsest
