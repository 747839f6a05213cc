// The list-append check: what clients saw of conversations while they were written and read, and
// whether that could have happened one after the other.
//
// Values are unique. Of each conversation the longest read is the order; everything else is
// compared with it. All of it is linear but for sorting.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace palimpsest::testing_support {

enum class Outcome : std::uint8_t { ok, failed, unknown };

struct Operation {
    std::int64_t invoked = 0, returned = 0;
    bool appends = false;
    int conversation = 0;
    std::int64_t value = 0;                 // appended
    std::vector<std::int64_t> values = {};  // read
    Outcome outcome = Outcome::ok;
};

class ListAppendCheck {
public:
    explicit ListAppendCheck(std::vector<Operation> history) : history_(std::move(history)) {}

    // One line for each anomaly: its name, the conversation, the value.
    std::vector<std::string> run() {
        std::map<int, std::vector<const Operation*>> by_conversation;
        for (const Operation& operation : history_)
            by_conversation[operation.conversation].push_back(&operation);
        for (const auto& [conversation, operations] : by_conversation) check(operations);
        return anomalies_;
    }

private:
    using Operations = std::vector<const Operation*>;
    using Places = std::unordered_map<std::int64_t, std::int64_t>;

    void note(const std::string& what, const Operation& at, std::int64_t value) {
        anomalies_.push_back(what + " in " + std::to_string(at.conversation) + ": " +
                             std::to_string(value));
    }

    void check(const Operations& operations) {
        const Operation* longest = nullptr;
        std::unordered_map<std::int64_t, const Operation*> appended;
        for (const Operation* one : operations) {
            if (one->appends) appended[one->value] = one;
            if (!one->appends && (!longest || one->values.size() > longest->values.size()))
                longest = one;
        }
        if (!longest) return;
        Places places;
        for (std::size_t i = 0; i < longest->values.size(); ++i) {
            const std::int64_t value = longest->values[i];
            if (!places.emplace(value, i).second) note("duplicate", *longest, value);
            const auto by = appended.find(value);
            if (by == appended.end()) note("phantom", *longest, value);
            if (by != appended.end() && by->second->outcome == Outcome::failed)
                note("aborted read", *longest, value);
        }
        for (const Operation* one : operations)
            if (!one->appends &&
                !std::equal(one->values.begin(), one->values.end(), longest->values.begin()))
                note("incompatible order", *one, static_cast<std::int64_t>(one->values.size()));
        sweep(operations, places);
    }

    // In the order of invocation; what had returned before is what must be seen.
    void sweep(Operations operations, const Places& places) {
        Operations returned = operations;
        std::ranges::sort(operations, {}, [](const Operation* one) { return one->invoked; });
        std::ranges::sort(returned, {}, [](const Operation* one) { return one->returned; });
        std::size_t next = 0;
        std::int64_t last_place = -1, last_value = -1, longest_read = 0;
        for (const Operation* one : operations) {
            for (; next < returned.size() && returned[next]->returned < one->invoked; ++next) {
                const Operation& before = *returned[next];
                if (!before.appends)
                    longest_read =
                        std::max(longest_read, static_cast<std::int64_t>(before.values.size()));
                if (!before.appends || before.outcome != Outcome::ok) continue;
                const auto place = places.find(before.value);
                if (place == places.end() || place->second <= last_place) continue;
                last_place = place->second;
                last_value = before.value;
            }
            judge(*one, places, {last_place, last_value, longest_read});
        }
    }

    struct Before {
        std::int64_t place, value, longest_read;
    };
    void judge(const Operation& one, const Places& places, const Before& before) {
        if (!one.appends) {
            const auto size = static_cast<std::int64_t>(one.values.size());
            if (size <= before.place) note("stale read", one, before.value);
            if (size < before.longest_read) note("non-monotonic read", one, size);
            return;
        }
        const auto place = places.find(one.value);
        if (place == places.end() && one.outcome == Outcome::ok) note("lost", one, one.value);
        if (place != places.end() && place->second < before.place)
            note("real-time order", one, one.value);
    }

    std::vector<Operation> history_;
    std::vector<std::string> anomalies_;
};

}  // namespace palimpsest::testing_support
