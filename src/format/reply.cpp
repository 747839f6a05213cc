// Reading whole replies: what was said, why it ended, what it cost.
#include "format/reply.h"

#include <algorithm>

#include "format/fields.h"
#include "format/format_table.h"
#include "format/json_edit.h"

namespace palimpsest {
namespace {

StopReason stop_of(const Format& format, std::string_view word) {
    const auto& words = format.stop_words;
    const auto found = std::ranges::find(words, word);
    if (found != words.end()) return static_cast<StopReason>(found - words.begin());
    const auto alias = std::ranges::find(format.stop_aliases, word, &StopAlias::word);
    return alias == format.stop_aliases.end() ? StopReason::other : alias->stop;
}

// The provider's own word for what is wrong; never empty.
std::string kind_of_error(JsonValue error) {
    for (const std::string_view field : {"code", "type"})
        if (const auto word = any_string(error, field); !word.empty()) return std::string(word);
    return "error";
}

Result<void> refuse_error(JsonValue body) {
    const auto error = body.find("error");
    if (!error || !error->is_object()) return {};
    return fail(ErrorCode::upstream_failed,
                "the provider answered: " + std::string(any_string(*error, "message")),
                kind_of_error(*error));
}

// What a model says is the assistant's, whatever a server calls it: stored under another role it
// would be somebody else's words. Items without a role keep what they are.
Result<void> claim_roles(FormatId format, Reply& reply) {
    for (Message& message : reply.messages) {
        const Role role = message.shape.role;
        const bool foreign = role == Role::user || role == Role::system || role == Role::tool;
        if (!foreign) continue;
        PAL_TRY(document, parse_json(view_of(message.raw)));
        const std::string_view called = any_string(document.root(), "role");
        if (called.empty()) continue;
        std::string raw = with_member(document.root(), "role", R"("assistant")");
        reply.warnings.push_back("the server gave its answer the role '" + std::string(called) +
                                 "'; it is taken for the assistant's");
        PAL_TRY(claimed, read_message(format, make_bytes(std::move(raw))));
        message = std::move(claimed);
    }
    return {};
}

}  // namespace

std::uint64_t count_at(std::optional<JsonValue> object, std::string_view key) {
    const auto value = object ? object->find(key) : std::nullopt;
    const auto number = value ? value->integer() : std::nullopt;
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

Result<void> keep_unfinished(Reply& reply, FormatId format,
                             const std::vector<std::string>& unfinished, std::string_view home) {
    if (unfinished.empty()) return {};
    const bool fits = !reply.messages.empty() && reply.messages.back().shape.calls.empty() &&
                      !reply.messages.back().shape.reasoning;
    if (!home.empty() && !fits) {
        PAL_TRY(empty, read_message(format, make_bytes(std::string(home))));
        reply.messages.push_back(std::move(empty));
    }
    Message& last = reply.messages.back();
    PAL_TRY(document, parse_json(view_of(last.raw)));
    std::string raw = with_member(document.root(), unfinished_field, json_list(unfinished));
    PAL_TRY(message, read_message(format, make_bytes(std::move(raw))));
    last = std::move(message);
    return {};
}

Result<Message> without_unfinished(const Message& message) {
    if (message.shape.role != Role::assistant ||
        view_of(message.raw).find(unfinished_field) == std::string_view::npos)
        return message;
    PAL_TRY(document, parse_json(view_of(message.raw)));
    if (!document.root().find(unfinished_field)) return message;
    std::string raw = with_member(document.root(), unfinished_field, std::nullopt);
    return read_message(message.format, make_bytes(std::move(raw)));
}

std::unexpected<Error> broke_off(std::optional<JsonValue> error) {
    const bool tells = error && error->is_object();
    return fail(ErrorCode::upstream_failed,
                "the provider broke off: " +
                    std::string(tells ? any_string(*error, "message") : "it does not say why"),
                tells ? kind_of_error(*error) : "error");
}

Result<void> refuse_error_event(JsonValue event) {
    const auto error = event.find("error");
    const bool named = any_string(event, "type") == "error";
    if (!named && !(error && error->is_object())) return {};
    return broke_off(error && error->is_object() ? error : event);
}

bool is_whole_json(std::string_view text) {
    return parse_json(text).has_value();
}

std::string_view stop_word(FormatId format, StopReason stop) {
    return format_of(format).stop_word(stop);
}

Result<Reply> read_reply(FormatId id, std::string_view json) {
    const Format& format = format_of(id);
    PAL_TRY(document, parse_json(json));
    const JsonValue body = document.root();
    PAL_CHECK(refuse_error(body));
    Reply reply{.body = std::string(json)};
    PAL_CHECK(format.read_reply(reply, body));
    PAL_CHECK(claim_roles(id, reply));
    reply.stop = stop_of(format, reply.stop_text);
    bool calls = false;
    for (const Message& message : reply.messages) calls = calls || !message.shape.calls.empty();
    if (calls && reply.stop == StopReason::end) reply.stop = StopReason::tool_calls;
    if (const auto usage = body.find("usage"); usage && usage->is_object())
        reply.usage = format.read_usage(*usage);
    return reply;
}

std::unique_ptr<StreamReader> make_stream_reader(FormatId format, OnDelta on_delta) {
    return format_of(format).make_reader(std::move(on_delta));
}

std::unique_ptr<StreamWriter> make_stream_writer(FormatId format, StreamIdentity identity) {
    return format_of(format).make_writer(std::move(identity));
}

}  // namespace palimpsest
