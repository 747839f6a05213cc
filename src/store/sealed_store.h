// A store whose content only the holder of a master key can read, over any other store.
//
// Every log has a key of its own; what people said and wrote into headers is sealed with it
// (seal.h), bound to the log, the seq and the kind, so that nothing can be moved, swapped or
// replayed unnoticed. The log's key is kept in a record of the inner store, sealed with the master
// key (wrapped_key.h); erasing a conversation removes that record. Values of records are sealed
// with a key of the store. In the clear stay: tenants, ids, kinds, seqs, times, counts, sizes, keys
// of records. Owners and metadata can still be filtered for equal values: the inner store sees
// keyed digests.
//
// A write needs to know its seqs before it seals: it expects the end it has seen, and tries again
// when somebody else was faster.
//
// Masters change while others write. A new key is never left sealed with another master than the
// one that the store's own key names: who makes a key looks at that name after the key is there,
// who changes masters changes the name before looking for keys. One of the two sees the other.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/store.h"
#include "store/seal.h"
#include "store/wrapped_key.h"

namespace palimpsest {

// Whether keys of logs are among these records and the store's own is not: a sealed store that
// would pass for a plain one.
bool lacks_store_key(const std::map<RecordKey, Record>& records);

struct Rotation {
    std::size_t changed = 0;               // keys that were sealed anew
    std::vector<std::string> unread = {};  // those that none of the masters opens, and why
};

class SealedStore final : public Store {
public:
    // The inner store is empty, or was sealed with one of the keys; otherwise it fails and nothing
    // is changed.
    static Result<std::unique_ptr<Store>> open(std::unique_ptr<Store> inner,
                                               std::vector<MasterKey> masters);
    // Whether a store is sealed.
    static Result<bool> is_sealed(Store& store);
    // Whether open() would seal it: it is not sealed, and empty.
    static Result<bool> would_seal(Store& store);
    // Seals every key with the first master key; the others may have sealed them so far. From its
    // beginning on, stores that have not the first one refuse writes. Can be broken off and
    // repeated. When it returns, no key is sealed with another master but those in `unread`.
    static Result<Rotation> rotate(Store& inner, const std::vector<MasterKey>& masters);

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    // One whose key is lost is listed without what was sealed with it.
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    // Also opens every seal, and names changes of masters and erases that were broken off.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Durability durability() const override;
    Result<void> check_writable() override;
    bool held_alone() const override { return inner_->held_alone(); }
    Result<Contents> contents() override;
    Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants) override;
    Result<void> backup(const std::string& path) override;
    Result<CheckReport> repair(std::span<const std::string> tenants) override;

private:
    SealedStore(std::unique_ptr<Store> inner, std::vector<MasterKey> masters, SealKey store_key,
                WrappedKey mark);

    // The store's own key as it is there: now, or within the last second.
    enum class Seen : std::uint8_t { lately, now };
    Result<WrappedKey> mark(Seen seen);
    // The one that seals new keys. unavailable: it was changed, and is none of ours.
    Result<MasterKey> present_master(Seen seen);
    Result<void> check_master();

    Result<SealKey> key_of(const std::string& tenant, const LogId& log);
    Result<SealKey> open_key(const LogId& log, const Record& record);
    Result<SealKey> make_key(const std::string& tenant, const LogId& log);
    Result<void> place_key(const std::string& tenant, const LogId& log, const SealKey& key);
    Result<void> keep_key(const std::string& tenant, const LogId& log, const SealKey& key);
    Result<void> keep_new_key(const Header& made, const SealKey& key);
    Result<void> forget_if_gone(const std::string& tenant, const LogId& log);
    Result<void> remove_key(const LogId& log, const Record& record);
    Result<bool> is_there(const LogId& log);
    void drop_key(const LogId& log);
    Result<void> forget_orphans();
    Result<void> finish_erasures(std::span<const std::string> tenants);
    bool is_look_due();

    Result<Header> unsealed(Header header);
    Result<Appended> append_once(const ConversationId& name, const Batch& batch, bool& again);
    Result<Appended> refuse(const ConversationId& name, const Batch& batch, const Error& error);
    Result<std::vector<LogId>> chain_of(const ConversationId& name);
    Result<void> check_log(const Header& sealed, CheckReport& report);
    Result<void> check_tenant(const std::string& tenant, CheckReport& report);
    Result<void> check_keys(std::span<const std::string> tenants, CheckReport& report);

    std::unique_ptr<Store> inner_;
    const std::vector<MasterKey> masters_;
    const SealKey store_key_;
    std::array<std::mutex, 64> names_;  // one append to a conversation at a time
    std::mutex mutex_;                  // over all below
    std::map<LogId, SealKey> keys_;
    WrappedKey mark_;
    Duration marked_at_;
    std::optional<Duration> looked_at_ = {};  // for keys without a log
};

}  // namespace palimpsest
