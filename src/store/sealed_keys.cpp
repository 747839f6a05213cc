// The keys of an encrypted store: how they are made, kept, found and destroyed.
#include <algorithm>

#include "base/ids.h"
#include "store/sealed_store.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

constexpr std::size_t cached_keys_max = 100'000;
constexpr Duration mark_age_max = std::chrono::seconds(1);

Result<bool> is_empty(Store& store) {
    const auto contents = store.contents();
    if (!contents && contents.error().code == ErrorCode::unprocessable) return true;
    if (!contents) return std::unexpected(contents.error());
    return contents->tenants.empty() && contents->spaces.empty();
}

// The store's own key: the one that is there, or a new one in a store that is empty.
Result<Record> find_or_make_store_key(Store& inner, const MasterKey& master) {
    const RecordKey at = store_key_record();
    auto there = inner.get_record(at);
    if (there || there.error().code != ErrorCode::not_found) return there;
    PAL_TRY(empty, is_empty(inner));
    if (!empty) {
        // What another process has put into it since we looked came after its key.
        there = inner.get_record(at);
        if (there) return there;
        return fail(ErrorCode::invalid_request,
                    "this store is not encrypted, and what is in it stays as it is: copy it "
                    "into a new one with `pal copy --to URL --to-encryption-key SOURCE`",
                    "encryption_key");
    }
    const auto made =
        inner.put_record({.key = at,
                          .value = write_wrapped_key(wrap_key(master, at, SealKey::random())),
                          .expected = 0});
    // Another process may have been faster: what counts is what is there.
    if (!made && made.error().code != ErrorCode::conflict) return std::unexpected(made.error());
    return inner.get_record(at);
}

}  // namespace

bool lacks_store_key(const std::map<RecordKey, Record>& records) {
    if (records.contains(store_key_record())) return false;
    return std::ranges::any_of(records,
                               [](const auto& row) { return row.first.space == key_space; });
}

Result<bool> SealedStore::is_sealed(Store& store) {
    const auto marker = store.get_record(store_key_record());
    if (marker) return true;
    if (marker.error().code == ErrorCode::not_found) return false;
    return std::unexpected(marker.error());
}

Result<bool> SealedStore::would_seal(Store& store) {
    PAL_TRY(sealed, is_sealed(store));
    if (sealed) return false;
    return is_empty(store);
}

SealedStore::SealedStore(std::unique_ptr<Store> inner, std::vector<MasterKey> masters,
                         SealKey store_key, WrappedKey mark)
    : inner_(std::move(inner)),
      masters_(std::move(masters)),
      store_key_(store_key),
      mark_(std::move(mark)),
      marked_at_(running_time()) {}

Result<std::unique_ptr<Store>> SealedStore::open(std::unique_ptr<Store> inner,
                                                 std::vector<MasterKey> masters) {
    PAL_TRY(record, find_or_make_store_key(*inner, masters.front()));
    PAL_TRY(mark, read_wrapped_key(record));
    if (!find_master(masters, mark.master))
        return fail(ErrorCode::forbidden,
                    "wrong key: " + words_of_wrong_master(mark) + ". Nothing was changed");
    PAL_TRY(store_key, unwrap_key(masters, record.key, mark));
    return std::unique_ptr<Store>(
        new SealedStore(std::move(inner), std::move(masters), store_key, std::move(mark)));
}

// ---- the present master -------------------------------------------------------------------------

Result<WrappedKey> SealedStore::mark(Seen seen) {
    {
        const std::lock_guard hold(mutex_);
        const Duration now = running_time();
        if (seen == Seen::lately && now - marked_at_ < mark_age_max) return mark_;
        marked_at_ = now;
    }
    const auto record = inner_->get_record(store_key_record());
    if (!record && record.error().code == ErrorCode::not_found)
        return fail(ErrorCode::internal, "the key of the store is gone: nothing new can be sealed");
    if (!record) return std::unexpected(record.error());
    PAL_TRY(found, read_wrapped_key(*record));
    const std::lock_guard hold(mutex_);
    mark_ = found;
    return found;
}

Result<MasterKey> SealedStore::present_master(Seen seen) {
    PAL_TRY(found, mark(seen));
    if (const MasterKey* master = find_master(masters_, found.master)) return *master;
    return fail(ErrorCode::unavailable,
                "the master key of this store was changed to " + found.master +
                    " while this process ran: start it again with the new key "
                    "(--encryption-key). Nothing was changed");
}

Result<void> SealedStore::check_master() {
    PAL_CHECK(present_master(Seen::lately));
    return {};
}

// ---- the keys of logs ---------------------------------------------------------------------------

Result<SealKey> SealedStore::open_key(const LogId& log, const Record& record) {
    PAL_TRY(wrapped, read_wrapped_key(record));
    if (!find_master(masters_, wrapped.master)) {
        PAL_TRY(present, present_master(Seen::now));
        return fail(ErrorCode::forbidden,
                    "the key of log " + hex(log) + " is sealed with the former master key " +
                        wrapped.master +
                        ": `pal keys rotate --encryption-key OLD --to NEW` seals it with the "
                        "present one, " +
                        present.id);
    }
    auto key = unwrap_key(masters_, record.key, wrapped);
    if (!key) key.error().message += " (the key of log " + hex(log) + ")";
    return key;
}

Result<SealKey> SealedStore::key_of(const std::string& tenant, const LogId& log) {
    {
        const std::lock_guard hold(mutex_);
        const auto found = keys_.find(log);
        if (found != keys_.end()) return found->second;
    }
    const auto record = inner_->get_record(key_record(tenant, log));
    if (!record && record.error().code == ErrorCode::not_found)
        return fail(ErrorCode::forbidden,
                    "the key of log " + hex(log) + " is gone: what it sealed cannot be read");
    if (!record) return std::unexpected(record.error());
    PAL_TRY(key, open_key(log, *record));
    const std::lock_guard hold(mutex_);
    if (keys_.size() >= cached_keys_max) keys_.clear();
    keys_.insert_or_assign(log, key);
    return key;
}

void SealedStore::drop_key(const LogId& log) {
    const std::lock_guard hold(mutex_);
    keys_.erase(log);
}

// Sealed with the store's present master, or not there. `conflict`: one is there already.
Result<void> SealedStore::place_key(const std::string& tenant, const LogId& log,
                                    const SealKey& key) {
    const RecordKey at = key_record(tenant, log);
    PAL_TRY(master, present_master(Seen::lately));
    std::uint64_t expected = 0;
    for (;;) {
        PAL_TRY(version, inner_->put_record({.key = at,
                                             .value = write_wrapped_key(wrap_key(master, at, key)),
                                             .expected = expected}));
        const auto present = present_master(Seen::now);
        if (present && present->id == master.id) return {};
        if (!present) {
            (void)forget_if_gone(tenant, log);
            return std::unexpected(present.error());
        }
        master = *present;
        expected = version;
    }
}

Result<SealKey> SealedStore::make_key(const std::string& tenant, const LogId& log) {
    const SealKey key = SealKey::random();
    const auto placed = place_key(tenant, log, key);
    // A log of this uid is there, or was begun: its key is.
    if (!placed && placed.error().code == ErrorCode::conflict) return key_of(tenant, log);
    if (!placed) return std::unexpected(placed.error());
    const std::lock_guard hold(mutex_);
    keys_.insert_or_assign(log, key);
    return key;
}

// A key is made before its log, so somebody may have condemned it meanwhile, or removed it. From
// now on nobody does: who condemns it sees the log.
Result<void> SealedStore::keep_key(const std::string& tenant, const LogId& log,
                                   const SealKey& key) {
    const RecordKey at = key_record(tenant, log);
    for (;;) {
        const auto there = inner_->get_record(at);
        if (!there && there.error().code != ErrorCode::not_found)
            return std::unexpected(there.error());
        if (!there) {
            const auto placed = place_key(tenant, log, key);
            if (placed || placed.error().code != ErrorCode::conflict) return placed;
            continue;
        }
        PAL_TRY(wrapped, read_wrapped_key(*there));
        if (wrapped.state != KeyState::condemned) return {};
        wrapped.state = KeyState::kept;
        const auto put = inner_->put_record(
            {.key = at, .value = write_wrapped_key(wrapped), .expected = there->version});
        if (put) return {};
        if (put.error().code != ErrorCode::conflict) return std::unexpected(put.error());
    }
}

// Nothing is acknowledged whose key may not be there.
Result<void> SealedStore::keep_new_key(const Header& made, const SealKey& key) {
    const auto kept = keep_key(made.name.tenant, made.log, key);
    if (kept) return {};
    drop_key(made.log);
    return fail(
        ErrorCode::outcome_unknown,
        "it was written, and whether its key was kept is not known: " + kept.error().message);
}

// A key goes with its log, for good.
Result<void> SealedStore::forget_if_gone(const std::string& tenant, const LogId& log) {
    PAL_TRY(there, is_there(log));
    if (there) return {};
    drop_key(log);
    const auto kept = inner_->get_record(key_record(tenant, log));
    if (kept) return remove_key(log, *kept);
    if (kept.error().code == ErrorCode::not_found) return {};
    return std::unexpected(kept.error());
}

// It is condemned before the last look at the log, so that who makes that log, or changes masters,
// never finds it gone for a while. A step that somebody else came before is not done.
Result<void> SealedStore::remove_key(const LogId& log, const Record& record) {
    const auto put = [&](RecordWrite write) -> Result<std::uint64_t> {
        write.key = record.key;
        auto done = inner_->put_record(write);
        if (!done && done.error().code == ErrorCode::conflict) return 0;
        return done;
    };
    std::uint64_t version = record.version;
    if (auto wrapped = read_wrapped_key(record)) {
        wrapped->state = KeyState::condemned;
        PAL_TRY(condemned, put({.value = write_wrapped_key(*wrapped), .expected = version}));
        if (condemned == 0) return {};
        version = condemned;
        PAL_TRY(there, is_there(log));
        wrapped->state = KeyState::kept;
        if (there) {
            PAL_CHECK(put({.value = write_wrapped_key(*wrapped), .expected = version}));
            return {};
        }
    }
    PAL_CHECK(put({.expected = version, .purge = true}));
    return {};
}

Result<bool> SealedStore::is_there(const LogId& log) {
    const auto header = inner_->head(log);
    // One that is damaged is there: its key stays, and it keeps no other key.
    if (header || header.error().code == ErrorCode::internal) return true;
    if (header.error().code == ErrorCode::not_found) return false;
    return std::unexpected(header.error());
}

}  // namespace palimpsest
