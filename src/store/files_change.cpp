#include "store/files_change.h"

#include "base/wire.h"
#include "store/port_fields.h"

namespace palimpsest {
namespace {

enum class Step : std::uint8_t { drop = 1, swap = 2, put = 3, record = 4, removed_record = 5 };

void begin(WireWriter& out, Step step) {
    out.byte(static_cast<std::uint8_t>(step));
}

void put_uid(WireWriter& out, const LogId& log) {
    for (const std::uint8_t byte : log.bytes) out.byte(byte);
}

LogId get_uid(WireReader& in) {
    LogId log;
    for (std::uint8_t& byte : log.bytes) byte = in.byte();
    return log;
}

void write_put(WireWriter& out, const LogFileId& id, std::uint64_t at, std::string_view bytes) {
    begin(out, Step::put);
    put_uid(out, id.log);
    out.varint(id.version);
    out.varint(at);
    out.text(bytes);
}

void write_records(WireWriter& out, const FilesChange& change) {
    for (const auto& [key, record] : change.records) {
        begin(out, record ? Step::record : Step::removed_record);
        FieldWriter write(out);
        if (record)
            write(*record);
        else
            write(key);
        out.varint(change.record_version);
    }
}

void add_places(LogPlaces& places, const StagedLog& staged) {
    for (const EntryPlace& place : staged.places) {
        if (place.kind != EntryKind::message) places.marks.push_back(places.entries.size());
        places.entries.push_back(place);
    }
    for (const OnceKey& key : staged.keys) places.once[key.key] = key;
    if (staged.apart_next > 0) places.apart_next = staged.apart_next;
}

std::unexpected<Error> damaged() {
    return fail(ErrorCode::internal, "a group of the journal does not decode");
}

Result<void> replay_record(WireReader& in, Step step, const ReplayTarget& target) {
    FieldReader read(in);
    Record record;
    if (step == Step::record)
        read(record);
    else
        read(record.key);
    const std::uint64_t version = in.varint();
    if (!in.ok()) return damaged();
    const RecordKey key = record.key;
    target.record(key, step == Step::record ? std::optional(std::move(record)) : std::nullopt,
                  version);
    return {};
}

}  // namespace

const LogState& FilesChange::state_of(const FilesLog& log) const {
    const auto found = staged.find(const_cast<FilesLog*>(&log));
    return found == staged.end() ? log.state : found->second.state;
}

StagedLog& FilesChange::stage(FilesLog& log) {
    const auto [found, fresh] = staged.try_emplace(&log);
    if (fresh) found->second.state = log.state;
    return found->second;
}

std::string encode_change(const FilesChange& change) {
    WireWriter out;
    for (const FilesLog* log : change.dropped) {
        begin(out, Step::drop);
        put_uid(out, log->header().log);
    }
    for (const SwappedLog& swapped : change.swapped) {
        begin(out, Step::swap);
        put_uid(out, swapped.state.header.log);
        out.varint(swapped.version);
        out.varint(swapped.length);
        out.text(encode_state(swapped.state));
    }
    for (const StagedLog& created : change.created)
        write_put(out, {created.state.header.log, 1}, 0, created.bytes);
    for (const auto& [log, staged] : change.staged)
        write_put(out, {log->header().log, log->version}, log->length, staged.bytes);
    write_records(out, change);
    return out.take();
}

void carry_out(const FilesChange& change, FilesCatalog& catalog) {
    for (FilesLog* log : change.dropped) catalog.remove(*log);
    for (const SwappedLog& swapped : change.swapped) {
        swapped.log->version = swapped.version;
        swapped.log->length = swapped.length;
        swapped.log->places = swapped.places;
        catalog.set_state(*swapped.log, swapped.state);
    }
    for (const StagedLog& created : change.created) {
        FilesLog log{.state = created.state, .length = created.bytes.size()};
        log.places = std::make_shared<LogPlaces>();
        add_places(*log.places, created);
        catalog.add(std::move(log));
    }
    for (const auto& [log, staged] : change.staged) {
        log->length += staged.bytes.size();
        if (log->places) add_places(*log->places, staged);
        catalog.set_state(*log, staged.state);
    }
    for (const auto& [key, record] : change.records) {
        if (record)
            catalog.records().insert_or_assign(key, *record);
        else
            catalog.records().erase(key);
    }
    catalog.record_version = std::max(catalog.record_version, change.record_version);
}

Result<void> replay_change(std::string_view group, const ReplayTarget& target) {
    WireReader in(group);
    while (in.ok() && in.left() > 0) {
        const auto step = static_cast<Step>(in.byte());
        if (step == Step::record || step == Step::removed_record) {
            PAL_CHECK(replay_record(in, step, target));
            continue;
        }
        LogFileId id{.log = get_uid(in)};
        if (step == Step::drop) {
            if (in.ok()) target.drop(id.log);
            continue;
        }
        if (step != Step::swap && step != Step::put) return damaged();
        id.version = in.varint();
        const std::uint64_t number = in.varint();
        const std::string_view bytes = in.text();
        if (!in.ok()) break;
        if (step == Step::put) {
            PAL_CHECK(target.put(id, number, bytes));
            continue;
        }
        PAL_TRY(state, decode_state(bytes));
        PAL_CHECK(target.swap(id, number, std::move(state)));
    }
    if (!in.ok()) return damaged();
    return {};
}

}  // namespace palimpsest
