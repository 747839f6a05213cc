// call: what the functions of routes ask of their request.
#include <charconv>

#include "server/route.h"

namespace palimpsest {
namespace {

std::string_view last_word(std::string_view pattern) {
    return pattern.substr(pattern.rfind('/') + 1);
}

}  // namespace

std::optional<std::string_view> Query::text(std::string_view name) const {
    return find_parameter(parameters_, name);
}

std::optional<std::uint64_t> Query::number(std::string_view name) const {
    const std::optional<std::string_view> value = text(name);
    if (!value) return {};
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(value->data(), value->data() + value->size(), number);
    return fault == std::errc{} && end == value->data() + value->size() ? std::optional(number)
                                                                        : std::nullopt;
}

bool Query::flag(std::string_view name) const {
    const std::optional<std::string_view> value = text(name);
    return value == "1" || value == "true";
}

std::optional<JsonValue> Call::field(std::string_view name) const {
    std::optional<JsonValue> value = json ? json->root().find(name) : std::nullopt;
    if (value && value->is_null()) return {};
    return value;
}

std::optional<std::string> Call::text(std::string_view name) const {
    const std::optional<JsonValue> value = field(name);
    return value ? std::optional(std::string(value->string())) : std::nullopt;
}

std::optional<std::uint64_t> Call::number(std::string_view name) const {
    const std::optional<JsonValue> value = field(name);
    const std::optional<std::int64_t> number = value ? value->integer() : std::nullopt;
    return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

WriteOptions Call::write(IfAbsent if_absent) const {
    std::string own;
    if (!key.empty()) own = std::string(last_word(route.pattern)) + "/" + key;
    return {.key = std::move(own), .expected_end = if_match, .if_absent = if_absent};
}

}  // namespace palimpsest
