// A store whose calls are counted, and that remembers how writes end. Everything passes through
// unchanged.
#pragma once
#include <atomic>
#include <memory>

#include "engine/meters.h"
#include "palimpsest/store.h"

namespace palimpsest {

class MeteredStore final : public Store {
public:
    // `meters` must outlive it.
    MeteredStore(std::unique_ptr<Store> inner, Meters& meters)
        : inner_(std::move(inner)), meters_(meters) {}

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<Appended> append_ahead(const ConversationId& name, const Batch& batch,
                                  const OnWritten& written) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Durability durability() const override;
    // Also fails with what writes failed with: `no_space` for a minute behind the last one that
    // did, because a smaller one may still fit; `unavailable` until one succeeds.
    Result<void> check_writable() override;
    bool held_alone() const override { return inner_->held_alone(); }
    Result<Contents> contents() override;
    Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants) override;
    Result<void> backup(const std::string& path) override;
    Result<CheckReport> repair(std::span<const std::string> tenants) override;

private:
    template <class T>
    Result<T> counted(StoreCall call, Result<T> result) {
        meters_.count_store(call, result ? std::nullopt : std::optional(result.error().code));
        return result;
    }

    template <class T>
    Result<T> noted(StoreCall call, Result<T> result) {
        note_write(result ? std::nullopt : std::optional(result.error().code));
        return counted(call, std::move(result));
    }
    void note_write(std::optional<ErrorCode> error);

    std::unique_ptr<Store> inner_;
    Meters& meters_;
    std::atomic<bool> unavailable_ = false;     // the last write was
    std::atomic<std::int64_t> full_until_ = 0;  // of the steady clock, in its ticks
};

}  // namespace palimpsest
