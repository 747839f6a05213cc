// Converting whole requests: the list through render's conversion, the fields by meaning.
//
// A request is read into neutral fields (values stay raw JSON) and written as the target's fields;
// what no field carries is reported by name.
#include "base/json_write.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/request.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

void add_system(std::vector<Message>& messages, FormatId from, const std::string& system) {
    if (system.empty()) return;
    if (auto message = make_message(from, Role::system, system))
        messages.insert(messages.begin(), std::move(*message));
}

// A list alone, or with its system prompt where the target keeps that beside the list.
std::string bare_output(const Format& to, const Rendered& rendered) {
    if (rendered.system.empty()) return write_list(rendered.messages);
    std::string out;
    JsonWriter(out)
        .begin_object()
        .field(to.cut.system_field, rendered.system)
        .key(to.list_fields[0])
        .raw(write_list(rendered.messages))
        .end_object();
    return out;
}

}  // namespace

Result<ConvertedJson> convert_json(FormatId from, FormatId to, std::string_view json) {
    PAL_TRY(document, parse_json(json));
    if (from == to) return ConvertedJson{std::string(json), {}};
    const JsonValue root = document.root();
    const bool is_body = find_body_list(format_of(from), root).has_value();
    PAL_TRY(messages, read_messages(from, make_bytes(std::string(json)), Fingerprints::left_out));
    NeutralRequest request;
    if (is_body) request = read_request_fields(format_of(from), root);
    add_system(messages, from, request.system);
    PAL_TRY(rendered, convert_messages(to, messages));
    PAL_TRY(repaired, repair(to, rendered.messages, {.continued = true}));
    rendered.messages = std::move(repaired.messages);
    ConvertedJson converted{.lost = std::move(rendered.lost)};
    for (const RepairNote& note : repaired.notes)
        converted.lost.push_back("message " + std::to_string(note.at) + ": " + note.what);
    if (!is_body || request.only_system) {
        converted.json = bare_output(format_of(to), rendered);
        return converted;
    }
    request.system = rendered.system;
    converted.lost.insert(converted.lost.end(), request.lost.begin(), request.lost.end());
    converted.json =
        format_of(to).write_body(request, write_list(rendered.messages), converted.lost);
    return converted;
}

}  // namespace palimpsest
