#include "engine/usage_totals.h"

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 8;
constexpr std::string_view usage_space = "usage";

}  // namespace

void add_usage(Usage& sum, const Usage& more) {
    sum.input += more.input;
    sum.cached += more.cached;
    sum.cache_writes += more.cache_writes;
    sum.output += more.output;
    sum.reasoning += more.reasoning;
}

void add_usage(UsageRow& sum, const UsageRow& more) {
    sum.calls += more.calls;
    add_usage(sum.usage, more.usage);
    sum.cost += more.cost;
}

std::string write_usage_row(const UsageRow& row) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().key("calls").number(std::uint64_t{row.calls});
    out.key("input").number(row.usage.input).key("cached").number(row.usage.cached);
    out.key("cache_writes").number(row.usage.cache_writes);
    out.key("output").number(row.usage.output).key("reasoning").number(row.usage.reasoning);
    out.key("cost").number(row.cost).end_object();
    return text;
}

UsageRow read_usage_row(std::string_view day, std::string_view json) {
    UsageRow row{.day = std::string(day)};
    const auto document = parse_json(json);
    if (!document) return row;
    const auto number = [&](std::string_view field) -> std::uint64_t {
        const auto value = document->root().find(field);
        return value ? static_cast<std::uint64_t>(value->integer().value_or(0)) : 0;
    };
    row.calls = static_cast<std::size_t>(number("calls"));
    row.usage = {.input = number("input"),
                 .cached = number("cached"),
                 .cache_writes = number("cache_writes"),
                 .output = number("output"),
                 .reasoning = number("reasoning")};
    const auto cost = document->root().find("cost");
    if (cost) row.cost = cost->number().value_or(0);
    return row;
}

Result<void> add_to_usage(Store& store, const RecordKey& key, const UsageRow& row,
                          std::optional<Duration> ttl) {
    for (int attempt = 1;; ++attempt) {
        const auto record = store.get_record(key);
        if (!record && record.error().code != ErrorCode::not_found)
            return std::unexpected(record.error());
        UsageRow sum = read_usage_row(key.key, record ? record->value : "");
        add_usage(sum, row);
        const auto put = store.put_record({.key = key,
                                           .value = write_usage_row(sum),
                                           .expected = record ? record->version : 0,
                                           .ttl = ttl});
        if (put) return {};
        if (put.error().code != ErrorCode::conflict || attempt == attempts_max)
            return std::unexpected(put.error());
    }
}

RecordKey usage_key(const std::string& tenant, std::string_view day) {
    return {tenant, std::string(usage_space), std::string(day)};
}

bool UsageTotals::add(const std::string& tenant, const UsageRow& calls) {
    const std::lock_guard lock(mutex_);
    add_usage(waiting_[{tenant, calls.day}], calls);
    return std::chrono::steady_clock::now() - written_ > between_writes;
}

void UsageTotals::write(Store& store) {
    std::map<Key, UsageRow> rows;
    {
        const std::lock_guard lock(mutex_);
        rows.swap(waiting_);
        written_ = std::chrono::steady_clock::now();
    }
    for (const auto& [key, row] : rows) {
        const auto done = add_to_usage(store, usage_key(key.first, key.second), row);
        // Of an unknown outcome it may have been counted: rather once too few than twice.
        if (!done && done.error().code != ErrorCode::outcome_unknown) put_back(key, row);
    }
}

void UsageTotals::put_back(const Key& key, const UsageRow& row) {
    const std::lock_guard lock(mutex_);
    add_usage(waiting_[key], row);
}

}  // namespace palimpsest
