// Entry points of validation: read everything once, then let the format's checker report.
#include "base/surrogates.h"
#include "format/check.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/reply.h"

namespace palimpsest {
namespace {

NeutralMessage text_message(std::string_view text) {
    NeutralMessage message;
    message.role = Role::user;
    message.role_text = "user";
    message.parts.push_back({.kind = PartKind::text, .type = "text", .text = text});
    return message;
}

// A message that cannot be read is reported, and stands as an empty one of an unknown role.
void read_or_report(const Format& format, JsonValue json, std::vector<NeutralMessage>& messages,
                    Findings& findings) {
    auto message = format.read(json);
    if (!message)
        findings.add("shape", messages.size(), message.error().message);
    else if (message->role == Role::assistant && json.find(unfinished_field))
        findings.add("unfinished", messages.size(),
                     "the message keeps what an interruption cut short in the field " +
                         quoted(unfinished_field) + ": leave the field out");
    if (has_lone_surrogates(json.raw()))
        findings.add("surrogates", messages.size(),
                     "a text has half of a surrogate pair (\\ud800 to \\udfff alone): it was cut "
                     "inside of a character; write \\ufffd or nothing in its place");
    messages.push_back(message ? std::move(*message) : text_message("unreadable"));
}

void check_range(JsonValue body, std::string_view field, double most, Findings& findings) {
    const auto value = body.find(field);
    const auto number = value ? value->number() : std::nullopt;
    if (number && (*number < 0 || *number > most))
        findings.add("sampling", 0,
                     std::string(field) + " is " + std::string(value->raw()) +
                         ": use a number from 0 to " + (most == 1 ? "1" : "2"));
}

}  // namespace

void add_body_options(const Format& format, JsonValue body, CheckOptions& options) {
    if (options.model.empty()) options.model = any_string(body, "model");
    if (format.read_options) format.read_options(body, options);
}

Result<std::vector<Violation>> validate(FormatId id, std::span<const Message> messages,
                                        const CheckOptions& options) {
    const Format& format = format_of(id);
    std::vector<JsonDocument> documents;
    std::vector<NeutralMessage> read;
    Findings findings;
    std::size_t bytes = 0;
    for (const Message& message : messages) {
        if (message.format != id)
            return fail(ErrorCode::invalid_request, "message " + std::to_string(read.size()) +
                                                        " is in the format " +
                                                        std::string(format_name(message.format)) +
                                                        ", not " + std::string(format.name));
        PAL_TRY(document, parse_json(view_of(message.raw)));
        documents.push_back(std::move(document));
        read_or_report(format, documents.back().root(), read, findings);
        bytes += view_of(message.raw).size();
    }
    format.check({.messages = read, .options = options, .bytes = bytes}, findings);
    return findings.take();
}

Result<std::vector<Violation>> validate_json(FormatId id, std::string_view json,
                                             const CheckOptions& options) {
    const Format& format = format_of(id);
    auto document = parse_json(json);
    if (!document) {
        document.error().param = "json";
        return std::unexpected(std::move(document).error());
    }
    const JsonValue root = document->root();
    const auto body = find_body_list(format, root);
    std::vector<NeutralMessage> read;
    Findings findings;
    CheckInput input{.options = options, .bytes = json.size()};
    if (body && body->value.is_string()) {
        read.push_back(text_message(body->value.string()));
    } else if (body || root.is_array()) {
        for (const JsonValue element : (body ? body->value : root).elements())
            read_or_report(format, element, read, findings);
    } else {
        read_or_report(format, root, read, findings);
    }
    input.messages = read;
    if (body) {
        input.body = root;
        add_body_options(format, root, input.options);
        check_range(root, "temperature", format.temperature_max, findings);
        check_range(root, "top_p", 1, findings);
    }
    format.check(input, findings);
    return findings.take();
}

bool is_sendable(std::span<const Violation> violations) {
    for (const Violation& violation : violations)
        if (violation.severity != Severity::tolerate) return false;
    return true;
}

}  // namespace palimpsest
