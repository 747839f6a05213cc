// A store whose content only the holder of a master key can read, over any other store.
//
// Every log has a key of its own; what people said and wrote into headers is sealed with it
// (seal.h), bound to the log, the seq and the kind, so that nothing can be moved, swapped or
// replayed unnoticed. The log's key is kept in a record of the inner store, sealed with the master
// key; erasing a conversation removes that record. Values of records are sealed with a key of the
// store. In the clear stay: tenants, ids, kinds, seqs, times, counts, sizes, keys of records.
// Owners and metadata can still be filtered for equal values: the inner store sees keyed digests.
//
// A write needs to know its seqs before it seals: it expects the end it has seen, and tries again
// when somebody else was faster.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/store.h"
#include "store/seal.h"

namespace palimpsest {

// Whether keys of logs are among these records and the store's own is not: a sealed store that
// would pass for a plain one.
bool lacks_store_key(const std::map<RecordKey, Record>& records);

class SealedStore final : public Store {
public:
    // The inner store is empty, or was sealed with one of the keys; otherwise it fails and nothing
    // is changed.
    static Result<std::unique_ptr<Store>> open(std::unique_ptr<Store> inner,
                                               std::vector<MasterKey> masters);
    // Whether a store is sealed.
    static Result<bool> is_sealed(Store& store);
    // Seals every key with the first master key; the others may have sealed them so far. Can be
    // broken off and repeated. Gives how many keys were changed.
    static Result<std::size_t> rotate(Store& inner, const std::vector<MasterKey>& masters);

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
    // Also opens every seal.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Durability durability() const override;
    Result<Contents> contents() override;
    Result<void> backup(const std::string& path) override;
    Result<CheckReport> repair(std::span<const std::string> tenants) override;

private:
    SealedStore(std::unique_ptr<Store> inner, std::vector<MasterKey> masters, SealKey store_key)
        : inner_(std::move(inner)), masters_(std::move(masters)), store_key_(store_key) {}
    Result<SealKey> key_of(const std::string& tenant, const LogId& log);
    Result<SealKey> make_key(const std::string& tenant, const LogId& log);
    void keep_key(const std::string& tenant, const LogId& log, const SealKey& key);
    Result<void> forget_if_gone(const std::string& tenant, const LogId& log);
    Result<Header> unsealed(Header header);
    Result<Appended> append_once(const ConversationId& name, const Batch& batch, bool& again);
    Result<Appended> refuse(const ConversationId& name, const Batch& batch, const Error& error);
    Result<void> check_tenant(const std::string& tenant, CheckReport& report);

    std::unique_ptr<Store> inner_;
    const std::vector<MasterKey> masters_;
    const SealKey store_key_;
    std::array<std::mutex, 64> names_;  // one append to a conversation at a time
    std::mutex mutex_;                  // over the keys
    std::map<LogId, SealKey> keys_;
};

}  // namespace palimpsest
