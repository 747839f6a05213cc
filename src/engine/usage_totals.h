// What the calls of each tenant took, by day: added up here, and written every few seconds to
// records of the store (space "usage", by day), where several processes add to the same ones.
//
// The exact figures stand in the notes of the conversations; what a killed process had not written
// is missing from the totals.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "palimpsest/chat.h"

namespace palimpsest {

class UsageTotals {
public:
    // What calls of a day took. True: it is time to write.
    bool add(const std::string& tenant, const UsageRow& calls);
    // What cannot be written now waits for the next time.
    void write(Store& store);

private:
    using Key = std::pair<std::string, std::string>;  // tenant, day
    void put_back(const Key& key, const UsageRow& row);

    static constexpr auto between_writes = std::chrono::seconds(5);
    std::mutex mutex_;  // Guards all below.
    std::map<Key, UsageRow> waiting_;
    std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

std::string write_usage_row(const UsageRow& row);
// A row of nothing when the text is of another form.
UsageRow read_usage_row(std::string_view day, std::string_view json);
RecordKey usage_key(const std::string& tenant, std::string_view day);

void add_usage(Usage& sum, const Usage& more);
void add_usage(UsageRow& sum, const UsageRow& more);  // whatever their days
// Adds to a record that others may add to at the same time.
Result<void> add_to_usage(Store& store, const RecordKey& key, const UsageRow& row,
                          std::optional<Duration> ttl = {});

}  // namespace palimpsest
