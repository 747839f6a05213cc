// budget: how much a key may spend in a day or a month, in money or in tokens.
//
// What it spent stands in records of the store (space "key_usage" of our own tenant, by key and
// window), to which every server adds, so a budget holds for all of them together. It is looked at
// before a model is asked and added to when its answer has come: calls under way at the same time
// can go over it, once. Days and months are those of UTC.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// 0: no limit.
struct KeyBudget {
    double dollars_a_day = 0, dollars_a_month = 0;
    std::uint64_t tokens_a_day = 0, tokens_a_month = 0;

    bool empty() const;
};

// "5usd/day,2000000tokens/month"; invalid_request says what it can be.
Result<KeyBudget> parse_budget(std::string_view text);
std::string budget_text(const KeyBudget& budget);

struct Spent {
    std::uint64_t tokens = 0;  // in and out
    double dollars = 0;
};

// In the day and in the month of `now`.
struct SpentNow {
    Spent day = {}, month = {};
};
Result<SpentNow> read_spent(Store& store, std::string_view key_id, Time now);
Result<void> add_spent(Store& store, std::string_view key_id, Time now, const Spent& spent);

// What is used up, and how long until it begins anew.
struct OverBudget {
    std::string limit = {};  // "5usd/day"
    int seconds = 0;
};
std::optional<OverBudget> check_budget(const KeyBudget& budget, const SpentNow& spent, Time now);

}  // namespace palimpsest
