// A store around a store: counts what passes through, from any thread, and fails where a test tells
// it to.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "support/passing_store.h"

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

class WrappedStore : public PassingStore<WrappedStore> {
public:
    explicit WrappedStore(Store& inner, Traffic& traffic, Fault fault = {})
        : PassingStore(inner), traffic_(traffic), fault_(fault) {}

    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override {
        auto entries = PassingStore::read(log, query);
        if (entries) count(*entries);
        return entries;
    }

private:
    friend class PassingStore<WrappedStore>;
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

    Traffic& traffic_;
    Fault fault_;
};

}  // namespace palimpsest::testing_support
