// Appends, creations, forks, and puts of records in the files store: decided against the catalog,
// added to a change.
#include <algorithm>

#include "base/clock.h"
#include "base/ids.h"
#include "core/codec.h"
#include "store/files_lost.h"
#include "store/files_read.h"
#include "store/files_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// A payload of this size gets a file of its own: the journal and the log's file stay small, and
// the same payload said again in the conversation is not stored again.
constexpr std::size_t apart_bytes_least = 256 << 10;

std::unexpected<Error> no_conversation(const ConversationId& name) {
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

// The batch that first brought this key, if it is remembered.
const OnceKey* find_key(const std::string& key, const LogPlaces* places, const StagedLog* staged,
                        Time now) {
    if (staged)
        for (const OnceKey& once : staged->keys)
            if (once.key == key) return &once;
    if (!places) return nullptr;
    const auto found = places->once.find(key);
    const bool known = found != places->once.end() && found->second.at + key_lifetime >= now;
    return known ? &found->second : nullptr;
}

bool has_large_payload(const std::vector<EncodedBody>& bodies) {
    return std::ranges::any_of(bodies, [](const EncodedBody& body) {
        return view_of(body.payload).size() >= apart_bytes_least;
    });
}

}  // namespace

// A batch with its entries encoded, made before the writer's turn.
struct FilesStore::Ready {
    const ConversationId& name;
    const Batch& batch;
    LogId fresh = {};
    std::vector<EncodedBody> bodies = {};
    std::size_t bytes = 0;
};

Result<Appended> FilesStore::append(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_batch(name, batch));
    Ready ready{.name = name, .batch = batch, .fresh = batch.new_log};
    if (ready.fresh.empty()) ready.fresh = random_log_id();
    for (const Draft& draft : batch.entries) {
        ready.bodies.push_back(encode_body(draft.body));
        ready.bytes +=
            ready.bodies.back().meta.size() + view_of(ready.bodies.back().payload).size();
    }
    Appended done;
    const FilesWriter::Join join = [&](FilesChange& change) {
        return join_append(ready, change, done);
    };
    const FilesWriter::Alone alone = [&] { return create(ready, done); };
    PAL_CHECK(writer_->run(join, alone, ready.bytes));
    return done;
}

Result<FilesWriter::Staged> FilesStore::join_append(const Ready& ready, FilesChange& change,
                                                    Appended& done) {
    const Batch& batch = ready.batch;
    const Time now = options_.clock();
    FilesLog* log = catalog_.find(ready.name);
    if (!log || expired(change.state_of(*log).header, now))
        return FilesWriter::Staged::must_be_alone;
    if (log->state.lost) return header_lost(log->header().log);
    if (!batch.key.empty() || has_large_payload(ready.bodies)) PAL_CHECK(writer_->load(*log));
    const auto staged = change.staged.find(log);
    const Header before = change.state_of(*log).header;
    if (!batch.key.empty()) {
        const OnceKey* once =
            find_key(batch.key, log->places.get(),
                     staged == change.staged.end() ? nullptr : &staged->second, now);
        if (once && once->digest != batch.digest)
            return fail(ErrorCode::unprocessable,
                        "the idempotency key was used for another request; use a new one", "key");
        if (once) {
            done =
                Appended{.first = once->first, .last = once->last, .header = before, .again = true};
            return FilesWriter::Staged::added;
        }
    }
    if (batch.fork)
        return fail(ErrorCode::conflict, "\"" + ready.name.id + "\" exists: a fork needs a new id");
    PAL_CHECK(check_expected(before, true, batch));
    StagedLog next =
        staged == change.staged.end() ? StagedLog{.state = log->state} : std::move(staged->second);
    auto added = stage_batch(ready, next, log->length, log->places.get(), now);
    if (added || staged != change.staged.end()) change.staged[log] = std::move(next);
    PAL_CHECK(added);
    change.sync = change.sync || !batch.entries.empty() || !batch.patch.empty();
    done = Appended{.first = before.end + 1};
    done.header = change.staged[log].state.header;
    done.last = done.header.end;
    return FilesWriter::Staged::added;
}

// Adds the frames of the batch to `staged`, whose own begin at `at` of the file. All or nothing.
Result<void> FilesStore::stage_batch(const Ready& ready, StagedLog& staged, std::uint64_t at,
                                     const LogPlaces* places, Time now) {
    const Batch& batch = ready.batch;
    const Header before = staged.state.header;
    Header next = before;
    PAL_CHECK(apply_batch(next, batch, now));
    std::vector<FilesEntry> entries;
    std::uint64_t ordinal = before.messages;
    for (std::size_t i = 0; i < ready.bodies.size(); ++i) {
        const EntryKind kind = kind_of(batch.entries[i].body);
        if (kind == EntryKind::message) ++ordinal;
        entries.push_back({.kind = kind,
                           .at = batch.entries[i].at.value_or(now),
                           .ordinal = ordinal,
                           .meta = ready.bodies[i].meta,
                           .payload = ready.bodies[i].payload});
    }
    if (has_large_payload(ready.bodies)) PAL_CHECK(keep_apart(next.log, places, staged, entries));
    staged.state.header = next;
    const bool whole_state =
        at + staged.bytes.size() == 0 || !batch.patch.empty() || entries.empty();
    if (whole_state) put_state(staged.bytes, at + staged.bytes.size(), staged.state);
    if (!entries.empty()) {
        const auto added = put_entries(staged.bytes, at + staged.bytes.size(), next.log, now,
                                       before.end + 1, entries);
        staged.places.insert(staged.places.end(), added.begin(), added.end());
    }
    // The time of the write is in the frame of the entries; another one must stand behind it.
    if (batch.stamp && !entries.empty())
        put_state(staged.bytes, at + staged.bytes.size(), staged.state);
    if (batch.key.empty()) return {};
    const OnceKey once{batch.key, batch.digest, before.end + 1, next.end, now};
    put_key(staged.bytes, at + staged.bytes.size(), next.log, once);
    staged.keys.push_back(once);
    return {};
}

// Large payloads go into files of their own, durable before anything names them.
Result<void> FilesStore::keep_apart(const LogId& log, const LogPlaces* places, StagedLog& staged,
                                    std::vector<FilesEntry>& entries) {
    PAL_CHECK(writer_->begin());
    std::uint64_t next = staged.apart_next > 0 ? staged.apart_next
                         : places              ? places->apart_next
                                               : 1;
    const std::uint64_t first = next;
    std::vector<EntryPlace> known = staged.places;
    if (places) known.insert(known.end(), places->entries.begin(), places->entries.end());
    for (FilesEntry& entry : entries) {
        if (view_of(entry.payload).size() < apart_bytes_least) continue;
        const std::uint64_t sum = sum_of(*entry.payload), size = entry.payload->size();
        entry.apart_sum = sum;
        entry.apart_bytes = size;
        for (const EntryPlace& place : known) {
            if (place.payload != PayloadPlace::apart || place.payload_sum != sum ||
                place.payload_bytes != size)
                continue;
            const auto same = writer_->folder().read_part(log, place.payload_at);
            if (same && *same == *entry.payload) entry.apart = place.payload_at;
            break;
        }
        if (entry.apart == 0) {
            entry.apart = next++;
            const auto written = writer_->folder().write_part(log, entry.apart, *entry.payload);
            if (!written) {
                for (; first < next; --next) writer_->folder().remove_part(log, next - 1);
                return written;
            }
        }
        known.push_back({.payload = PayloadPlace::apart,
                         .payload_sum = sum,
                         .payload_at = entry.apart,
                         .payload_bytes = size});
        entry.payload = nullptr;
    }
    staged.apart_next = next;
    return {};
}

// Gives the state the parent's epoch: it may have been scrubbed since the fork point was looked up.
Result<void> FilesStore::check_parent(const ForkPoint& fork, const ConversationId& child, Time now,
                                      LogState& state) {
    const FilesLog* log = catalog_.find(fork.parent);
    const std::optional<Header> parent = log ? as_of(*log, now) : std::nullopt;
    if (!parent) return fail(ErrorCode::not_found, "no log " + hex(fork.parent));
    PAL_CHECK(check_fork(*parent, child, fork));
    state.header.epoch = std::max(state.header.epoch, parent->epoch);
    return {};
}

Result<void> FilesStore::create(const Ready& ready, Appended& done) {
    const Batch& batch = ready.batch;
    const Time now = options_.clock();
    if (const FilesLog* old = catalog_.find(ready.name))
        PAL_CHECK(expire({old->header().log}, now));
    if (batch.if_absent == IfAbsent::fail) return no_conversation(ready.name);
    LogState state;
    state.header = new_header(ready.name, ready.fresh, batch, now);
    state.header.ttl = options_.ttl;
    if (batch.fork) PAL_CHECK(check_parent(*batch.fork, ready.name, now, state));
    if (catalog_.find(ready.fresh))
        return fail(ErrorCode::conflict, "a log " + hex(ready.fresh) + " exists");
    state.base_basis = state.header.basis;
    state.base_messages = state.header.messages;
    PAL_CHECK(check_expected(state.header, false, batch));
    FilesChange change;
    StagedLog& created = change.created.emplace_back(StagedLog{.state = std::move(state)});
    const Seq first = created.state.header.end + 1;
    PAL_CHECK(stage_batch(ready, created, 0, nullptr, now));
    const Header header = created.state.header;
    change.sync = true;
    PAL_CHECK(writer_->commit(change));
    done = Appended{.first = first, .last = header.end, .header = header, .created = true};
    return {};
}

// ---- records ------------------------------------------------------------------------------------

Result<std::uint64_t> FilesStore::put_record(const RecordWrite& write) {
    PAL_CHECK(check_record(write));
    std::uint64_t version = 0;
    const FilesWriter::Join join = [&](FilesChange& change) {
        return join_put(write, change, version);
    };
    PAL_CHECK(writer_->run(join, {}, write.value ? write.value->size() : 0));
    return version;
}

Result<FilesWriter::Staged> FilesStore::join_put(const RecordWrite& write, FilesChange& change,
                                                 std::uint64_t& version) {
    const Time now = options_.clock();
    const Record* have = nullptr;
    const auto staged = change.records.find(write.key);
    const auto found = catalog_.records().find(write.key);
    if (staged != change.records.end())
        have = staged->second ? &*staged->second : nullptr;
    else if (found != catalog_.records().end())
        have = &found->second;
    const bool live = have && !(have->expires && *have->expires <= now);
    const std::uint64_t current = live ? have->version : 0;
    if (write.expected && *write.expected != current)
        return fail(ErrorCode::conflict, "record \"" + write.key.key + "\" has version " +
                                             std::to_string(current) + ", not " +
                                             std::to_string(*write.expected) + " as expected");
    version = std::max(catalog_.record_version, change.record_version) + 1;
    change.record_version = version;
    change.sync = true;
    change.purge = change.purge || write.purge;
    if (!write.value) {
        change.records[write.key] = std::nullopt;
        return FilesWriter::Staged::added;
    }
    Record record{.key = write.key, .value = *write.value, .version = version};
    if (write.ttl) record.expires = now + *write.ttl;
    change.records[write.key] = std::move(record);
    return FilesWriter::Staged::added;
}

}  // namespace palimpsest
