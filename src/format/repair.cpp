// Entry points of repair: what is valid comes back untouched, so the work begins with a check.
#include <cstring>
#include <numeric>

#include "base/surrogates.h"
#include "format/check.h"
#include "format/format_table.h"
#include "format/own_marks.h"
#include "format/repair_work.h"
#include "format/reply.h"

namespace palimpsest {
namespace {

// Messages that were read from one text mostly stand in it as they are written: with one comma
// between them. Gives the end of such a run in memory, and moves `i` behind it.
const char* end_of_run(std::span<const Message> messages, std::size_t& i) {
    for (;;) {
        const Bytes& raw = messages[i].raw;
        const char* const end = raw->data() + raw->size();
        if (++i == messages.size()) return end;
        const Bytes& next = messages[i].raw;
        if (!next.shares_memory(raw) || next->data() != end + 1 || *end != ',') return end;
    }
}

bool worth_a_repair(std::span<const Violation> violations) {
    for (const Violation& violation : violations)
        if (violation.severity != Severity::tolerate) return true;
    return false;
}

bool is_empty(const Shape& shape) {
    return !shape.text && !shape.reasoning && shape.media == 0 && shape.calls.empty() &&
           shape.results.empty();
}

Message with_whole_characters(RepairWork& work, const Message& message, std::size_t at) {
    if (!has_lone_surrogates(view_of(message.raw))) return message;
    auto whole =
        read_message(message.format, make_bytes(without_lone_surrogates(view_of(message.raw))));
    if (!whole) return message;
    work.note(at, "put U+FFFD in the place of half a surrogate pair");
    return *std::move(whole);
}

// Without what an interruption cut short; a message that was nothing else goes.
Piece finished_piece(RepairWork& work, const Message& said, std::size_t at) {
    const Message message = with_whole_characters(work, said, at);
    const Message finished = without_unfinished(message).value_or(message);
    Piece piece = work.make_piece(finished, at);
    if (piece.dropped) {
        work.note(at, "left out a message that cannot be read");
    } else if (finished.raw != message.raw) {
        work.note(at, "left out what an interruption cut short");
        piece.dropped = is_empty(finished.shape);
    }
    return piece;
}

}  // namespace

std::string write_list(std::span<const Message> messages) {
    std::size_t bytes = messages.empty() ? 2 : 1;
    for (const Message& message : messages) bytes += view_of(message.raw).size() + 1;
    std::string out;
    out.resize_and_overwrite(bytes, [&](char* const begin, std::size_t) {
        char* at = begin;
        *at++ = '[';
        for (std::size_t i = 0; i < messages.size();) {
            const char* const from = messages[i].raw->data();
            const char* const to = end_of_run(messages, i);
            std::memcpy(at, from, static_cast<std::size_t>(to - from));
            at += to - from;
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
        repaired.origins.resize(messages.size());
        std::iota(repaired.origins.begin(), repaired.origins.end(), std::size_t{0});
        return repaired;
    }
    RepairWork work(format, options);
    for (std::size_t at = 0; at < messages.size(); ++at) {
        work.pieces.push_back(finished_piece(work, messages[at], at));
    }
    work.erase_dropped();
    format_of(format).repair(work);
    work.erase_dropped();
    for (Piece& piece : work.pieces) {
        repaired.messages.push_back(std::move(piece.message));
        repaired.origins.push_back(piece.at);
    }
    if (format_of(format).has_cache_marks)
        for (const std::size_t i : drop_older_marks(repaired.messages, room_for_marks(options)))
            work.note(work.pieces[i].at, "took off older cache_control marks");
    repaired.notes = std::move(work.notes);
    return repaired;
}

Result<RepairedJson> repair_json(FormatId format, std::string_view json,
                                 const CheckOptions& options) {
    PAL_TRY(document, parse_json(json));
    const JsonValue root = document.root();
    const auto body = find_body_list(format_of(format), root);
    if (body && body->value.is_string()) return RepairedJson{std::string(json), {}};
    PAL_TRY(messages, read_messages(format, make_bytes(std::string(json)), Fingerprints::left_out));
    CheckOptions all = options;
    if (body) add_body_options(format_of(format), root, all);
    PAL_TRY(repaired, repair(format, messages, all));
    if (!body && repaired.notes.empty()) return RepairedJson{std::string(json), {}};
    const std::string list = write_list(repaired.messages);
    if (!body) return RepairedJson{list, std::move(repaired.notes)};
    std::string out(json);
    if (!repaired.notes.empty()) out.replace(body->value.offset(), body->value.raw().size(), list);
    std::vector<std::string> mended;
    out = mend_body(format, std::move(out), mended);
    for (std::string& line : mended) repaired.notes.push_back({0, std::move(line)});
    return RepairedJson{std::move(out), std::move(repaired.notes)};
}

}  // namespace palimpsest
