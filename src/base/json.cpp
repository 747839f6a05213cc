#include "base/json.h"

#include <charconv>

namespace palimpsest {

std::string_view json_kind_name(JsonKind kind) {
    constexpr std::string_view names[] = {"null", "boolean", "number", "string", "array", "object"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<bool> JsonValue::boolean() const {
    if (kind() != JsonKind::boolean) return std::nullopt;
    return raw().front() == 't';
}

std::optional<double> JsonValue::number() const {
    if (kind() != JsonKind::number) return std::nullopt;
    const std::string_view digits = raw();
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> JsonValue::integer() const {
    if (kind() != JsonKind::number) return std::nullopt;
    const std::string_view digits = raw();
    const char* const stop = digits.data() + digits.size();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), stop, value);
    if (error != std::errc() || end != stop) return std::nullopt;
    return value;
}

std::size_t JsonValue::size() const {
    return kind() >= JsonKind::array ? node().size : 0;
}

}  // namespace palimpsest
