// The keys of an encrypted store: where they are kept, sealed with a master key, and how masters
// change.
#include <algorithm>

#include "base/ids.h"
#include "base/wire.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

constexpr std::string_view key_space = "pal.key";
constexpr std::string_view store_tenant = "pal", store_name = "store";
constexpr std::size_t page_records = 500;
constexpr std::size_t cached_keys_max = 100'000;

RecordKey record_of(const std::string& tenant, const LogId& log) {
    return {tenant, std::string(key_space), hex(log)};
}
RecordKey record_of_store() {
    return {std::string(store_tenant), std::string(key_space), std::string(store_name)};
}

std::string bound_to(const RecordKey& key) {
    return "key " + key.tenant + "\x1f" + key.key;
}

std::string wrap(const MasterKey& master, const RecordKey& record, const SealKey& key) {
    WireWriter out;
    out.byte(1);
    out.text(master.id);
    out.bytes(seal(master.key, key.bytes(), bound_to(record)));
    return out.take();
}

Result<SealKey> unwrap(const std::vector<MasterKey>& masters, const Record& record,
                       std::string* master_id = nullptr) {
    WireReader in(record.value);
    const bool known = in.byte() == 1;
    const std::string id(in.text());
    const std::string_view sealed = in.bytes(in.left());
    if (!known || !in.ok())
        return fail(ErrorCode::internal, "the key \"" + record.key.key + "\" does not decode");
    for (const MasterKey& master : masters) {
        if (master.id != id) continue;
        PAL_TRY(bytes, unseal(master.key, sealed, bound_to(record.key)));
        if (bytes.size() != SealKey::size)
            return fail(ErrorCode::internal, "the key \"" + record.key.key + "\" has no 32 bytes");
        if (master_id) *master_id = id;
        return SealKey::from(bytes);
    }
    return fail(ErrorCode::forbidden,
                "wrong key: this store is sealed with the master key " + id +
                    "; give that one with --encryption-key. Nothing was changed");
}

// One page of the keys of a tenant.
Result<std::vector<Record>> keys_of(Store& store, const std::string& tenant,
                                    const std::string& after) {
    return store.list_records(
        {.tenant = tenant, .space = std::string(key_space), .after = after, .limit = page_records});
}

Result<bool> is_empty(Store& store) {
    const auto contents = store.contents();
    if (!contents && contents.error().code == ErrorCode::unprocessable) return true;
    if (!contents) return std::unexpected(contents.error());
    return contents->tenants.empty() && contents->spaces.empty();
}

}  // namespace

bool lacks_store_key(const std::map<RecordKey, Record>& records) {
    if (records.contains(record_of_store())) return false;
    return std::ranges::any_of(records,
                               [](const auto& row) { return row.first.space == key_space; });
}

Result<bool> SealedStore::is_sealed(Store& store) {
    const auto marker = store.get_record(record_of_store());
    if (marker) return true;
    if (marker.error().code == ErrorCode::not_found) return false;
    return std::unexpected(marker.error());
}

Result<std::unique_ptr<Store>> SealedStore::open(std::unique_ptr<Store> inner,
                                                 std::vector<MasterKey> masters) {
    auto marker = inner->get_record(record_of_store());
    if (!marker && marker.error().code != ErrorCode::not_found)
        return std::unexpected(marker.error());
    if (!marker) {
        PAL_TRY(empty, is_empty(*inner));
        // What another process has put into it since we looked came after the marker.
        if (!empty) marker = inner->get_record(record_of_store());
        if (!empty && !marker)
            return fail(ErrorCode::invalid_request,
                        "this store is not encrypted, and what is in it stays as it is: copy it "
                        "into a new one with `pal copy --to URL --to-encryption-key SOURCE`",
                        "encryption_key");
    }
    if (!marker) {
        const SealKey key = SealKey::random();
        const auto made = inner->put_record({.key = record_of_store(),
                                             .value = wrap(masters.front(), record_of_store(), key),
                                             .expected = 0});
        // Another process may have been faster: what counts is what is there.
        if (!made && made.error().code != ErrorCode::conflict) return std::unexpected(made.error());
        marker = inner->get_record(record_of_store());
        if (!marker) return std::unexpected(marker.error());
    }
    PAL_TRY(store_key, unwrap(masters, *marker));
    return std::unique_ptr<Store>(new SealedStore(std::move(inner), std::move(masters), store_key));
}

Result<std::size_t> SealedStore::rotate(Store& inner, const std::vector<MasterKey>& masters) {
    PAL_TRY(contents, inner.contents());
    std::size_t changed = 0;
    const auto renew = [&](const Record& record) -> Result<void> {
        std::string id;
        PAL_TRY(key, unwrap(masters, record, &id));
        if (id == masters.front().id) return {};
        const auto put = inner.put_record({.key = record.key,
                                           .value = wrap(masters.front(), record.key, key),
                                           .expected = record.version,
                                           .purge = true});
        if (!put && put.error().code != ErrorCode::conflict) return std::unexpected(put.error());
        if (put) ++changed;
        return {};
    };
    for (const RecordSpace& space : contents.spaces) {
        if (space.space != key_space) continue;
        std::string after;
        for (;;) {
            PAL_TRY(page, keys_of(inner, space.tenant, after));
            if (page.empty()) break;
            for (const Record& record : page) PAL_CHECK(renew(record));
            after = page.back().key.key;
        }
    }
    return changed;
}

Result<SealKey> SealedStore::key_of(const std::string& tenant, const LogId& log) {
    {
        const std::lock_guard hold(mutex_);
        const auto found = keys_.find(log);
        if (found != keys_.end()) return found->second;
    }
    const auto record = inner_->get_record(record_of(tenant, log));
    if (!record && record.error().code == ErrorCode::not_found)
        return fail(ErrorCode::forbidden,
                    "the key of log " + hex(log) + " is gone: what it sealed cannot be read");
    if (!record) return std::unexpected(record.error());
    PAL_TRY(key, unwrap(masters_, *record));
    const std::lock_guard hold(mutex_);
    if (keys_.size() >= cached_keys_max) keys_.clear();
    keys_.insert_or_assign(log, key);
    return key;
}

Result<SealKey> SealedStore::make_key(const std::string& tenant, const LogId& log) {
    const SealKey key = SealKey::random();
    const RecordKey record = record_of(tenant, log);
    const auto put = inner_->put_record(
        {.key = record, .value = wrap(masters_.front(), record, key), .expected = 0});
    // A log of this uid is there, or was begun: its key is.
    if (!put && put.error().code == ErrorCode::conflict) return key_of(tenant, log);
    if (!put) return std::unexpected(put.error());
    const std::lock_guard hold(mutex_);
    keys_.insert_or_assign(log, key);
    return key;
}

// A key is made before its log, so a sweep elsewhere may have taken it for one whose log is gone.
// Either that sweep sees the log after it has removed the key, and puts it back; or it has removed
// it by now, and we do.
void SealedStore::keep_key(const std::string& tenant, const LogId& log, const SealKey& key) {
    const RecordKey at = record_of(tenant, log);
    const auto there = inner_->get_record(at);
    if (!there && there.error().code == ErrorCode::not_found)
        (void)inner_->put_record(
            {.key = at, .value = wrap(masters_.front(), at, key), .expected = 0});
}

// A key goes with its log, for good.
Result<void> SealedStore::forget_if_gone(const std::string& tenant, const LogId& log) {
    const RecordKey at = record_of(tenant, log);
    const auto header = inner_->head(log);
    if (header) return {};
    if (header.error().code != ErrorCode::not_found) return std::unexpected(header.error());
    const auto kept = inner_->get_record(at);
    if (!kept && kept.error().code != ErrorCode::not_found) return std::unexpected(kept.error());
    if (kept) PAL_CHECK(inner_->put_record({.key = at, .purge = true}));
    if (kept && inner_->head(log)) {
        (void)inner_->put_record({.key = at, .value = kept->value, .expected = 0});
        return {};
    }
    const std::lock_guard hold(mutex_);
    keys_.erase(log);
    return {};
}

// ---- records ------------------------------------------------------------------------------------

Result<std::size_t> SealedStore::sweep(std::size_t limit) {
    PAL_TRY(went, inner_->sweep(limit));
    if (went == 0) return went;
    const auto contents = inner_->contents();
    if (!contents) return went;
    for (const RecordSpace& space : contents->spaces) {
        if (space.space != key_space) continue;
        std::string after;
        for (;;) {
            PAL_TRY(page, keys_of(*inner_, space.tenant, after));
            if (page.empty()) break;
            for (const Record& record : page)
                if (const auto log = parse_log_id(record.key.key))
                    PAL_CHECK(forget_if_gone(space.tenant, *log));
            after = page.back().key.key;
        }
    }
    return went;
}

Result<Contents> SealedStore::contents() {
    PAL_TRY(found, inner_->contents());
    std::erase_if(found.spaces, [](const RecordSpace& it) { return it.space == key_space; });
    return found;
}

}  // namespace palimpsest
