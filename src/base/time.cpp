#include "base/time.h"

#include <fmt/format.h>

#include <charconv>

namespace palimpsest {
namespace {

using namespace std::chrono;

// Reads exactly `digits` digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    int value = 0;
    if (text.size() < digits) return std::nullopt;
    for (std::size_t i = 0; i < digits; ++i) {
        if (text[i] < '0' || text[i] > '9') return std::nullopt;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<milliseconds> take_fraction(std::string_view& text) {
    if (!take(text, ".")) return milliseconds(0);
    int value = 0, digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1))
        if (digits++ < 3) value = value * 10 + (text.front() - '0');
    if (digits == 0) return std::nullopt;
    for (int i = digits; i < 3; ++i) value *= 10;
    return milliseconds(value);
}

std::optional<minutes> take_zone(std::string_view& text) {
    if (take(text, "Zz")) return minutes(0);
    const bool west = !text.empty() && text.front() == '-';
    if (!take(text, "+-")) return std::nullopt;
    const auto h = take_number(text, 2);
    if (!h || !take(text, ":")) return std::nullopt;
    const auto m = take_number(text, 2);
    if (!m || *h > 23 || *m > 59) return std::nullopt;
    const minutes offset = hours(*h) + minutes(*m);
    return west ? -offset : offset;
}

std::optional<Time> read_time(std::string_view text) {
    const auto y = take_number(text, 4);
    if (!y || !take(text, "-")) return std::nullopt;
    const auto mo = take_number(text, 2);
    if (!mo || !take(text, "-")) return std::nullopt;
    const auto d = take_number(text, 2);
    if (!d || !take(text, "Tt ")) return std::nullopt;
    const auto h = take_number(text, 2);
    if (!h || !take(text, ":")) return std::nullopt;
    const auto mi = take_number(text, 2);
    if (!mi || !take(text, ":")) return std::nullopt;
    const auto s = take_number(text, 2);
    const auto fraction = s ? take_fraction(text) : std::nullopt;
    const auto zone = fraction ? take_zone(text) : std::nullopt;
    const year_month_day date{year(*y), month(static_cast<unsigned>(*mo)),
                              day(static_cast<unsigned>(*d))};
    if (!zone || !text.empty() || !date.ok() || *h > 23 || *mi > 59 || *s > 60) return std::nullopt;
    return sys_days(date) + hours(*h) + minutes(*mi) + seconds(*s) + *fraction - *zone;
}

}  // namespace

std::string format_time(Time time) {
    const auto day_start = floor<days>(time);
    const year_month_day date(day_start);
    const hh_mm_ss clock(time - day_start);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()),
                       unsigned(date.month()), unsigned(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

Result<Time> parse_time(std::string_view text) {
    if (const auto time = read_time(text)) return *time;
    return fail(ErrorCode::invalid_request, "'" + std::string(text.substr(0, 64)) +
                                                "' is not an RFC 3339 time; write it as "
                                                "2026-11-15T09:30:00Z");
}

Result<Duration> parse_duration(std::string_view text) {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    struct Unit {
        std::string_view name;
        std::int64_t ms;
    };
    constexpr Unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    for (const Unit& known : units)
        if (error == std::errc() && unit == known.name && value > 0 &&
            value <= INT64_MAX / 86'400'000 / 1000)
            return Duration(value * known.ms);
    return fail(ErrorCode::invalid_request, "'" + std::string(text.substr(0, 64)) +
                                                "' is not a duration; write it as 90s, 15m, 24h "
                                                "or 7d");
}

}  // namespace palimpsest
