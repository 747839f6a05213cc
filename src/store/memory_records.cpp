#include "store/memory_records.h"

#include <functional>

#include "base/ids.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

bool is_expired(const Record& record, Time now) {
    return record.expires && *record.expires <= now;
}

}  // namespace

MemoryRecords::Shard& MemoryRecords::shard_of(std::string_view tenant, std::string_view space) {
    const std::hash<std::string_view> hash;
    return shards_[(hash(tenant) * 31 + hash(space)) % shards_.size()];
}

Result<Record> MemoryRecords::get(const RecordKey& key, Time now) {
    PAL_CHECK(check_record(key));
    Shard& shard = shard_of(key.tenant, key.space);
    const std::lock_guard hold(shard.mutex);
    const auto found = shard.records.find(key);
    if (found == shard.records.end() || is_expired(found->second, now))
        return fail(ErrorCode::not_found, "no record \"" + key.key + "\" in " + key.space);
    return found->second;
}

Result<std::uint64_t> MemoryRecords::put(const RecordWrite& write, Time now) {
    PAL_CHECK(check_record(write));
    Shard& shard = shard_of(write.key.tenant, write.key.space);
    const std::lock_guard hold(shard.mutex);
    const auto found = shard.records.find(write.key);
    const bool live = found != shard.records.end() && !is_expired(found->second, now);
    const std::uint64_t have = live ? found->second.version : 0;
    if (write.expected && *write.expected != have)
        return fail(ErrorCode::conflict, "record \"" + write.key.key + "\" has version " +
                                             std::to_string(have) + ", not " +
                                             std::to_string(*write.expected) + " as expected");
    const std::uint64_t version = ++version_;
    if (!write.value) {
        if (found != shard.records.end()) shard.records.erase(found);
        return version;
    }
    Record record{.key = write.key, .value = *write.value, .version = version};
    if (write.ttl) record.expires = now + *write.ttl;
    shard.records.insert_or_assign(write.key, std::move(record));
    return version;
}

Result<std::vector<Record>> MemoryRecords::list(const RecordQuery& query, Time now) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    PAL_CHECK(check_id(query.space, "space"));
    Shard& shard = shard_of(query.tenant, query.space);
    const std::lock_guard hold(shard.mutex);
    std::vector<Record> found;
    const bool resumed = query.after >= query.prefix;
    const RecordKey start{query.tenant, query.space, resumed ? query.after : query.prefix};
    for (auto at = shard.records.lower_bound(start);
         at != shard.records.end() && found.size() < query.limit; ++at) {
        const RecordKey& key = at->first;
        if (key.tenant != query.tenant || key.space != query.space) break;
        if (!key.key.starts_with(query.prefix)) break;
        if (key.key <= query.after || is_expired(at->second, now)) continue;
        found.push_back(at->second);
    }
    return found;
}

std::set<RecordSpace> MemoryRecords::spaces() {
    std::set<RecordSpace> found;
    for (Shard& shard : shards_) {
        const std::lock_guard hold(shard.mutex);
        for (const auto& [key, record] : shard.records) found.insert({key.tenant, key.space});
    }
    return found;
}

void MemoryRecords::sweep(Time now) {
    for (Shard& shard : shards_) {
        const std::lock_guard hold(shard.mutex);
        std::erase_if(shard.records, [&](const auto& row) { return is_expired(row.second, now); });
    }
}

}  // namespace palimpsest
