#include "base/json.h"

#include <charconv>

namespace palimpsest {

std::string_view json_kind_name(JsonKind kind) {
    constexpr std::string_view names[] = {"null", "boolean", "number", "string", "array", "object"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view JsonValue::string() const {
    const JsonNode& at = node();
    if (kind() != JsonKind::string) return {};
    const char* from = at.link == json_not_in_arena ? tape_->text.data() + at.begin + 1
                                                    : tape_->arena.get() + at.link;
    return {from, at.size};
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

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
    for (const JsonMember& member : members())
        if (member.key == key) return member.value;
    return std::nullopt;
}

}  // namespace palimpsest
