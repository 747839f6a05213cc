#include "store/copy_lost.h"

#include "base/json_write.h"
#include "palimpsest/format.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr std::string_view lost_note = "lost";

Result<Body> lost_message(MessageEntry rest) {
    rest.message.raw = nullptr;
    PAL_TRY(raw, scrubbed_message(rest.message));
    rest.message.raw = raw;
    rest.message.fingerprint = {};
    rest.message.count = {};
    rest.scrubbed = true;
    return rest;
}

Result<Body> lost_compaction(CompactionEntry rest) {
    PAL_TRY(removed, scrubbed_message({}));
    for (Edit& edit : rest.edits) {
        edit.scrubbed = true;
        edit.reason = lost_note;
        edit.after = {};
        if (edit.treatment == Treatment::dropped) continue;
        edit.result = edit.treatment == Treatment::folded ? make_bytes("") : removed;
    }
    return rest;
}

Result<Body> stand_in(const LostEntry& lost, bool message) {
    const Body* rest = lost.rest ? &lost.rest->body : nullptr;
    if (rest)
        if (const auto* compaction = std::get_if<CompactionEntry>(rest))
            return lost_compaction(*compaction);
    if (message) {
        const auto* said = rest ? std::get_if<MessageEntry>(rest) : nullptr;
        return lost_message(said ? *said : MessageEntry{});
    }
    return NoteEntry{.kind = std::string(lost_note), .body = make_bytes("{}")};
}

bool is_message(const LostEntry& lost) {
    return lost.rest && kind_of(lost.rest->body) == EntryKind::message;
}

Result<void> read_one(Store& store, const Header& header, Seq seq, bool content, ReadAround& out) {
    ReadQuery query{.ranges = {{seq, seq}}, .content = content};
    auto found = store.read(header.log, query);
    if (!found && found.error().code != ErrorCode::internal) return std::unexpected(found.error());
    if (found && found->size() == 1) {
        out.entries.push_back(std::move(found->front()));
        return {};
    }
    if (!out.error)
        out.error = found ? entry_trouble(header, seq, "missing").error() : found.error();
    LostEntry& lost = out.lost.emplace_back(LostEntry{.seq = seq});
    query.content = false;
    if (auto rest = store.read(header.log, query); rest && rest->size() == 1)
        lost.rest = std::move(rest->front());
    return {};
}

}  // namespace

Result<ReadAround> read_around(Store& store, const Header& header, Range range, bool content) {
    auto whole = store.read(header.log, {.ranges = {range}, .content = content});
    if (!whole && whole.error().code != ErrorCode::internal) return std::unexpected(whole.error());
    ReadAround out;
    if (whole && whole->size() == range.to.value - range.from.value + 1) {
        out.entries = std::move(*whole);
        return out;
    }
    for (Seq seq = range.from; seq <= range.to; seq = seq + 1)
        PAL_CHECK(read_one(store, header, seq, content, out));
    return out;
}

Result<std::vector<Draft>> stand_ins(const std::vector<LostEntry>& lost, std::uint64_t messages,
                                     Time at) {
    std::uint64_t unknown = messages;
    for (const LostEntry& entry : lost) unknown -= is_message(entry) && unknown > 0 ? 1 : 0;
    std::vector<Draft> drafts;
    for (const LostEntry& entry : lost) {
        bool message = is_message(entry);
        if (!entry.rest && unknown > 0) {
            message = true;
            --unknown;
        }
        PAL_TRY(body, stand_in(entry, message));
        drafts.push_back({std::move(body), entry.rest ? entry.rest->at : at});
    }
    return drafts;
}

bool may_stand_in(const Body& body) {
    if (const auto* message = std::get_if<MessageEntry>(&body)) return message->scrubbed;
    const auto* note = std::get_if<NoteEntry>(&body);
    return note && note->kind == lost_note;
}

}  // namespace palimpsest
