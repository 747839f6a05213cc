#include "server/budget.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/time.h"
#include "engine/usage_totals.h"
#include "server/own_records.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::string_view space = "key_usage";
constexpr Duration kept_for = std::chrono::hours(24 * 62);  // a month and the one before
constexpr std::size_t day_bytes = 10, month_bytes = 7;      // of "2026-11-15"

enum class Window : std::uint8_t { day, month };

// One kind of limit. Either member is null.
struct Limit {
    std::string_view unit, window_name;
    Window window;
    double KeyBudget::* dollars;
    std::uint64_t KeyBudget::* tokens;
};
constexpr Limit limits[] = {
    {"usd", "day", Window::day, &KeyBudget::dollars_a_day, nullptr},
    {"usd", "month", Window::month, &KeyBudget::dollars_a_month, nullptr},
    {"tokens", "day", Window::day, nullptr, &KeyBudget::tokens_a_day},
    {"tokens", "month", Window::month, nullptr, &KeyBudget::tokens_a_month},
};

std::string text_of(const Limit& row, const KeyBudget& budget) {
    const std::string amount = row.dollars ? fmt::format("{}", budget.*row.dollars)
                                           : fmt::format("{}", budget.*row.tokens);
    return fmt::format("{}{}/{}", amount, row.unit, row.window_name);
}

bool is_set(const Limit& row, const KeyBudget& budget) {
    return row.dollars ? budget.*row.dollars > 0 : budget.*row.tokens > 0;
}

std::unexpected<Error> bad(std::string_view text) {
    return fail(ErrorCode::invalid_request,
                "'" + std::string(text) +
                    "' is no budget; one is as 5usd/day, 100usd/month, 200000tokens/day or "
                    "2000000tokens/month, several are separated by commas",
                "budget");
}

template <class Number>
bool read_amount(std::string_view text, Number& into) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
    return fault == std::errc() && end == text.data() + text.size() && into > 0;
}

Result<void> read_one(std::string_view text, KeyBudget& budget) {
    for (const Limit& row : limits) {
        const std::string tail = std::string(row.unit) + "/" + std::string(row.window_name);
        if (!text.ends_with(tail)) continue;
        const std::string_view amount = text.substr(0, text.size() - tail.size());
        const bool read = row.dollars ? read_amount(amount, budget.*row.dollars)
                                      : read_amount(amount, budget.*row.tokens);
        if (!read || (row.dollars && !(budget.*row.dollars < 1e12))) return bad(text);
        return {};
    }
    return bad(text);
}

RecordKey record_of(std::string_view key_id, Time now, Window window) {
    const std::string day =
        format_time(now).substr(0, window == Window::day ? day_bytes : month_bytes);
    return own_record(space, std::string(key_id) + "/" + day);
}

Result<Spent> read_window(Store& store, const RecordKey& key) {
    const auto record = store.get_record(key);
    if (!record && record.error().code == ErrorCode::not_found) return Spent{};
    if (!record) return std::unexpected(record.error());
    const UsageRow row = read_usage_row(key.key, record->value);
    return Spent{row.usage.input + row.usage.output, row.cost};
}

// Rounded up, so that who waits so long is let in.
int seconds_left(Time now, Window window) {
    using namespace std::chrono;
    const sys_days today = floor<days>(now);
    const year_month_day date(today);
    const sys_days next = window == Window::day
                              ? today + days(1)
                              : sys_days((date.year() / date.month() + months(1)) / 1);
    return static_cast<int>(ceil<seconds>(next - now).count());
}

}  // namespace

bool KeyBudget::empty() const {
    return std::ranges::none_of(limits, [&](const Limit& row) { return is_set(row, *this); });
}

Result<KeyBudget> parse_budget(std::string_view text) {
    KeyBudget budget;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        PAL_CHECK(read_one(text.substr(0, end), budget));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return budget;
}

std::string budget_text(const KeyBudget& budget) {
    std::string text;
    for (const Limit& row : limits)
        if (is_set(row, budget)) text += (text.empty() ? "" : ",") + text_of(row, budget);
    return text;
}

Result<SpentNow> read_spent(Store& store, std::string_view key_id, Time now) {
    PAL_TRY(day, read_window(store, record_of(key_id, now, Window::day)));
    PAL_TRY(month, read_window(store, record_of(key_id, now, Window::month)));
    return SpentNow{day, month};
}

Result<void> add_spent(Store& store, std::string_view key_id, Time now, const Spent& spent) {
    const UsageRow row{.calls = 1, .usage = {.input = spent.tokens}, .cost = spent.dollars};
    for (const Window window : {Window::day, Window::month})
        PAL_CHECK(add_to_usage(store, record_of(key_id, now, window), row, kept_for));
    return {};
}

std::optional<OverBudget> check_budget(const KeyBudget& budget, const SpentNow& spent, Time now) {
    std::optional<OverBudget> over;
    for (const Limit& row : limits) {
        if (!is_set(row, budget)) continue;
        const Spent& so_far = row.window == Window::day ? spent.day : spent.month;
        const bool used_up = row.dollars ? so_far.dollars >= budget.*row.dollars
                                         : so_far.tokens >= budget.*row.tokens;
        const int seconds = seconds_left(now, row.window);
        // Of several the one that lasts longest says when to come again.
        if (used_up && (!over || seconds > over->seconds)) over = {text_of(row, budget), seconds};
    }
    return over;
}

}  // namespace palimpsest
