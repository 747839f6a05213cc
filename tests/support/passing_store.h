// A store around another one. What becomes of a call is for `Self`: pass(call) carries it out, or
// not.
#pragma once
#include "palimpsest/store.h"

namespace palimpsest::testing_support {

template <class Self>
class PassingStore : public Store {
public:
    explicit PassingStore(Store& inner) : inner_(inner) {}

    Result<Header> head(const ConversationId& name) override {
        return pass([&] { return inner_.head(name); });
    }
    Result<Header> head(const LogId& log) override {
        return pass([&] { return inner_.head(log); });
    }
    Result<Appended> append(const ConversationId& name, const Batch& batch) override {
        return pass([&] { return inner_.append(name, batch); });
    }
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override {
        return pass([&] { return inner_.read(log, query); });
    }
    Result<Page> list(const ListQuery& query) override {
        return pass([&] { return inner_.list(query); });
    }
    Result<void> scrub(std::span<const Replacement> replacements) override {
        return pass([&] { return inner_.scrub(replacements); });
    }
    Result<Receipt> erase(const ConversationId& name) override {
        return pass([&] { return inner_.erase(name); });
    }
    Result<Record> get_record(const RecordKey& key) override {
        return pass([&] { return inner_.get_record(key); });
    }
    Result<std::uint64_t> put_record(const RecordWrite& write) override {
        return pass([&] { return inner_.put_record(write); });
    }
    Result<std::vector<Record>> list_records(const RecordQuery& query) override {
        return pass([&] { return inner_.list_records(query); });
    }
    Result<void> check_writable() override { return inner_.check_writable(); }
    bool held_alone() const override { return inner_.held_alone(); }

protected:
    Store& inner_;

private:
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        return static_cast<Self*>(this)->pass(call);
    }
};

}  // namespace palimpsest::testing_support
