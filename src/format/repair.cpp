// Entry points of repair: what is valid comes back untouched, so the work begins with a check.
#include <cstring>

#include "format/check.h"
#include "format/format_table.h"
#include "format/repair_work.h"

namespace palimpsest {
namespace {

bool worth_a_repair(std::span<const Violation> violations) {
    for (const Violation& violation : violations)
        if (violation.severity != Severity::tolerate) return true;
    return false;
}

}  // namespace

std::string write_list(std::span<const Message> messages) {
    std::size_t bytes = messages.empty() ? 2 : 1;
    for (const Message& message : messages) bytes += view_of(message.raw).size() + 1;
    std::string out;
    out.resize_and_overwrite(bytes, [&](char* const begin, std::size_t) {
        char* at = begin;
        *at++ = '[';
        for (const Message& message : messages) {
            const std::string_view raw = view_of(message.raw);
            std::memcpy(at, raw.data(), raw.size());
            at += raw.size();
            *at++ = ',';
        }
        // The last comma, if there is one, becomes the end.
        if (!messages.empty()) --at;
        *at++ = ']';
        return static_cast<std::size_t>(at - begin);
    });
    return out;
}

Result<Repaired> repair(FormatId format, std::span<const Message> messages,
                        const CheckOptions& options) {
    PAL_TRY(violations, validate(format, messages, options));
    Repaired repaired;
    if (!worth_a_repair(violations)) {
        repaired.messages.assign(messages.begin(), messages.end());
        return repaired;
    }
    RepairWork work(format, options);
    for (std::size_t at = 0; at < messages.size(); ++at) {
        Piece piece = work.make_piece(messages[at], at);
        if (piece.dropped) work.note(at, "left out a message that cannot be read");
        work.pieces.push_back(std::move(piece));
    }
    work.erase_dropped();
    format_of(format).repair(work);
    work.erase_dropped();
    repaired.notes = std::move(work.notes);
    for (Piece& piece : work.pieces) repaired.messages.push_back(std::move(piece.message));
    return repaired;
}

Result<RepairedJson> repair_json(FormatId format, std::string_view json,
                                 const CheckOptions& options) {
    PAL_TRY(document, parse_json(json));
    const JsonValue root = document.root();
    const auto body = find_body_list(format_of(format), root);
    if (body && body->value.is_string()) return RepairedJson{std::string(json), {}};
    PAL_TRY(messages, read_messages(format, make_bytes(std::string(json))));
    CheckOptions all = options;
    if (body) add_body_options(root, all);
    PAL_TRY(repaired, repair(format, messages, all));
    if (repaired.notes.empty()) return RepairedJson{std::string(json), {}};
    const std::string list = write_list(repaired.messages);
    if (!body) return RepairedJson{list, std::move(repaired.notes)};
    std::string out(json);
    out.replace(body->value.offset(), body->value.raw().size(), list);
    return RepairedJson{std::move(out), std::move(repaired.notes)};
}

}  // namespace palimpsest
