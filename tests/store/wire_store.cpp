#include "store/wire_store.h"

#include "store/port_wire.h"

namespace palimpsest {
namespace {

class WireStore final : public Store {
public:
    explicit WireStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

    Result<Header> head(const ConversationId& name) override {
        return call<Header>(StoreOperation::head, encode_request(name));
    }
    Result<Header> head(const LogId& log) override {
        return call<Header>(StoreOperation::head_of_log, encode_request(log));
    }
    Result<Appended> append(const ConversationId& name, const Batch& batch) override {
        return call<Appended>(StoreOperation::append, encode_request(name, batch));
    }
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override {
        return call<std::vector<Entry>>(StoreOperation::read, encode_request(log, query));
    }
    Result<Page> list(const ListQuery& query) override {
        return call<Page>(StoreOperation::list, encode_request(query));
    }
    Result<void> scrub(std::span<const Replacement> replacements) override {
        const std::vector<Replacement> all(replacements.begin(), replacements.end());
        return call<void>(StoreOperation::scrub, encode_request(all));
    }
    Result<Receipt> erase(const ConversationId& name) override {
        return call<Receipt>(StoreOperation::erase, encode_request(name));
    }
    Result<Record> get_record(const RecordKey& key) override {
        return call<Record>(StoreOperation::get_record, encode_request(key));
    }
    Result<std::uint64_t> put_record(const RecordWrite& write) override {
        return call<std::uint64_t>(StoreOperation::put_record, encode_request(write));
    }
    Result<std::vector<Record>> list_records(const RecordQuery& query) override {
        return call<std::vector<Record>>(StoreOperation::list_records, encode_request(query));
    }
    Result<std::size_t> sweep(std::size_t limit) override {
        return call<std::uint64_t>(StoreOperation::sweep, encode_request(limit));
    }
    Durability durability() const override {
        return *call<Durability>(StoreOperation::durability, encode_request());
    }

private:
    template <class T>
    Result<T> call(StoreOperation operation, const std::string& request) const {
        return decode_reply<T>(serve_operation(*store_, operation, request));
    }

    std::unique_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<Store> through_the_wire(std::unique_ptr<Store> store) {
    return std::make_unique<WireStore>(std::move(store));
}

}  // namespace palimpsest
