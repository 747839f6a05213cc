#include "engine/metered_store.h"

#include <chrono>

namespace palimpsest {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto full_for = std::chrono::minutes(1);

std::int64_t ticks(Steady::time_point at) {
    return at.time_since_epoch().count();
}

}  // namespace

void MeteredStore::note_write(std::optional<ErrorCode> error) {
    if (error == ErrorCode::no_space) full_until_ = ticks(Steady::now() + full_for);
    if (!error || error == ErrorCode::no_space) unavailable_ = false;
    if (error == ErrorCode::unavailable) unavailable_ = true;
}

Result<void> MeteredStore::check_writable() {
    PAL_CHECK(inner_->check_writable());
    if (unavailable_)
        return fail(ErrorCode::unavailable,
                    "the store could be read and not written at the last "
                    "write");
    if (ticks(Steady::now()) < full_until_)
        return fail(ErrorCode::no_space,
                    "a write found no space: free some on the disk of the store, or erase "
                    "conversations");
    return {};
}

Result<Header> MeteredStore::head(const ConversationId& name) {
    return counted(StoreCall::head, inner_->head(name));
}
Result<Header> MeteredStore::head(const LogId& log) {
    return counted(StoreCall::head, inner_->head(log));
}
Result<Appended> MeteredStore::append(const ConversationId& name, const Batch& batch) {
    return noted(StoreCall::append, inner_->append(name, batch));
}
Result<Appended> MeteredStore::append_ahead(const ConversationId& name, const Batch& batch,
                                            const OnWritten& written) {
    return noted(StoreCall::append, inner_->append_ahead(name, batch, written));
}
Result<std::vector<Entry>> MeteredStore::read(const LogId& log, const ReadQuery& query) {
    return counted(StoreCall::read, inner_->read(log, query));
}
Result<Page> MeteredStore::list(const ListQuery& query) {
    return counted(StoreCall::list, inner_->list(query));
}
Result<void> MeteredStore::scrub(std::span<const Replacement> replacements) {
    return noted(StoreCall::scrub, inner_->scrub(replacements));
}
Result<Receipt> MeteredStore::erase(const ConversationId& name) {
    return counted(StoreCall::erase, inner_->erase(name));
}
Result<Record> MeteredStore::get_record(const RecordKey& key) {
    return counted(StoreCall::get_record, inner_->get_record(key));
}
Result<std::uint64_t> MeteredStore::put_record(const RecordWrite& write) {
    return noted(StoreCall::put_record, inner_->put_record(write));
}
Result<std::vector<Record>> MeteredStore::list_records(const RecordQuery& query) {
    return counted(StoreCall::list_records, inner_->list_records(query));
}
Result<std::size_t> MeteredStore::sweep(std::size_t limit) {
    return counted(StoreCall::sweep, inner_->sweep(limit));
}
Result<CheckReport> MeteredStore::check(std::span<const std::string> tenants) {
    return inner_->check(tenants);
}
Durability MeteredStore::durability() const {
    return inner_->durability();
}
Result<std::vector<Unlisted>> MeteredStore::unlisted(std::span<const std::string> tenants) {
    return inner_->unlisted(tenants);
}

Result<Contents> MeteredStore::contents() {
    return inner_->contents();
}
Result<void> MeteredStore::backup(const std::string& path) {
    return inner_->backup(path);
}
Result<CheckReport> MeteredStore::repair(std::span<const std::string> tenants) {
    return inner_->repair(tenants);
}

}  // namespace palimpsest
