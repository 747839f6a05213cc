// The store in memory: conversations by name in shards, logs by uid in shards, records in theirs.
//
// There is no lock over everything. Lock order: the shard of a name, then one family (scrub:
// several, by address, and no shard), then a shard of uids. At most one shard of names is held at a
// time. Reads hold a family's mutex shared and copy entries out; what people said is shared, not
// copied.
//
// A conversation that has expired is invisible at once; what it leaves behind goes when something
// touches it, with sweep(), or in the background. When there are more than `max` conversations the
// one least recently accessed goes; a new conversation is never the one to go.
#pragma once
#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "palimpsest/store.h"
#include "store/memory_log.h"
#include "store/memory_records.h"

namespace palimpsest {

struct MemoryStoreOptions {
    std::optional<Duration> ttl = std::chrono::hours(1);  // of conversations that name none
    std::size_t max = 10'000;                             // conversations; 0: any number
    Duration sweep = std::chrono::minutes(1);  // between sweeps in the background; 0: none
    Clock clock = {};
};

class MemoryStore final : public Store {
public:
    explicit MemoryStore(MemoryStoreOptions options);

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    Durability durability() const override;
    Result<Contents> contents() override;

private:
    using LogPtr = std::shared_ptr<MemoryLog>;
    struct NameHash {
        std::size_t operator()(const ConversationId& name) const;
    };
    struct NameShard {
        std::mutex mutex;
        std::unordered_map<ConversationId, LogPtr, NameHash> logs;
        std::list<MemoryLog*> recent;  // least recently accessed first
    };
    struct UidShard {
        std::mutex mutex;
        std::map<LogId, LogPtr> logs;
    };

    NameShard& shard_of(const ConversationId& name);
    UidShard& shard_of(const LogId& log);
    LogPtr find(const ConversationId& name);
    LogPtr find(const LogId& log);
    LogPtr find_settled(const LogId& log);
    // Down to `remove`: under the shard's mutex.
    LogPtr live_log(NameShard& shard, const ConversationId& name, Time now);
    Result<Appended> create(NameShard& shard, const ConversationId& name, const Batch& batch,
                            Time now);
    Result<Appended> publish(NameShard& shard, const LogPtr& log, const Batch& batch, Time now);
    void touch(NameShard& shard, MemoryLog& log);
    Receipt remove(NameShard& shard, MemoryLog& log);

    bool expire(MemoryLog& log, Time now);
    void settle(MemoryLog& log, Time now);
    void make_room();
    bool evict_least_recent();
    NameShard* least_recent_shard();
    std::vector<LogPtr> candidates(const ListQuery& query);

    const MemoryStoreOptions options_;
    std::array<NameShard, 64> names_;
    std::array<UidShard, 64> uids_;
    std::atomic<std::size_t> conversations_ = 0;
    std::atomic<std::uint64_t> touches_ = 0;
    MemoryRecords records_;
    std::jthread sweeper_;  // the last: it ends before what it sweeps
};

}  // namespace palimpsest
