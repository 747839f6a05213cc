// A store around a store: counts what passes through, from any thread, and fails where a test tells
// it to.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "palimpsest/store.h"

namespace palimpsest::testing_support {

struct Traffic {
    int calls = 0;
    std::size_t entries_read = 0, content_bytes_read = 0;
};

// Fails the call number `fail_on` (from 1): either before it is carried out (`unavailable`), or
// after (`outcome_unknown`: it happened, but the caller is not told).
struct Fault {
    int fail_on = 0;
    bool after = false;
};

class WrappedStore : public Store {
public:
    explicit WrappedStore(Store& inner, Traffic& traffic, Fault fault = {})
        : inner_(inner), traffic_(traffic), fault_(fault) {}

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
        auto entries = pass([&] { return inner_.read(log, query); });
        if (entries) count(*entries);
        return entries;
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

private:
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        const bool failing = ++std::atomic_ref(traffic_.calls) == fault_.fail_on;
        if (failing && !fault_.after) return fail(ErrorCode::unavailable, "planted");
        auto done = call();
        if (failing) return fail(ErrorCode::outcome_unknown, "planted");
        return done;
    }

    void count(const std::vector<Entry>& entries) {
        std::atomic_ref(traffic_.entries_read) += entries.size();
        for (const Entry& entry : entries)
            if (const auto* said = std::get_if<MessageEntry>(&entry.body))
                std::atomic_ref(traffic_.content_bytes_read) += view_of(said->message.raw).size();
    }

    Store& inner_;
    Traffic& traffic_;
    Fault fault_;
};

}  // namespace palimpsest::testing_support
