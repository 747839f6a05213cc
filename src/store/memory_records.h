// Records in memory: small keyed values in shards of their own, one lock each. A space lies in one
// shard, in the order of its keys. Versions are drawn from one counter for all shards.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

class MemoryRecords {
public:
    Result<Record> get(const RecordKey& key, Time now);
    Result<std::uint64_t> put(const RecordWrite& write, Time now);
    Result<std::vector<Record>> list(const RecordQuery& query, Time now);
    std::set<RecordSpace> spaces();
    // Removes what has expired.
    void sweep(Time now);

private:
    struct Shard {
        std::mutex mutex;
        std::map<RecordKey, Record> records;
    };
    Shard& shard_of(std::string_view tenant, std::string_view space);

    std::array<Shard, 64> shards_;
    std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace palimpsest
