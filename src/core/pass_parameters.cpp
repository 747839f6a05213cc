#include "core/pass_parameters.h"

#include <algorithm>

namespace palimpsest {
namespace {

constexpr std::string_view pass_fields[] = {"pass", "target", "min_gain", "when"};

template <class Names>
bool has_name(const Names& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::unexpected<Error> unknown_field(std::string_view key,
                                     std::span<const std::string_view> known) {
    std::string message = "unknown field \"" + std::string(key) + "\"; known are";
    for (const std::string_view name : known) message += " \"" + std::string(name) + "\"";
    return fail(ErrorCode::invalid_request, std::move(message), std::string(key));
}

std::unexpected<Error> wrong(std::string_view name, std::string_view what, const JsonValue& value) {
    return fail(ErrorCode::invalid_request,
                "\"" + std::string(name) + "\" must be " + std::string(what) + "; it is " +
                    std::string(value.raw().substr(0, 64)),
                std::string(name));
}

}  // namespace

std::optional<JsonValue> present_field(const JsonValue& object, std::string_view name) {
    const auto value = object.find(name);
    return value && !value->is_null() ? value : std::nullopt;
}

Error error_under(std::string_view path, Error error) {
    const std::string field = error.param.empty() ? "" : "\"" + error.param + "\"";
    const bool joins = error.param.empty() || error.param.starts_with('[');
    const std::string whole = std::string(path) + (joins ? "" : ".") + error.param;
    const std::size_t at = error.message.find(field);
    if (!field.empty() && at != std::string::npos)
        error.message.replace(at, field.size(), "\"" + whole + "\"");
    error.param = whole;
    return error;
}

Result<void> only_fields(const JsonValue& object, std::initializer_list<std::string_view> known) {
    for (const JsonMember member : object.members())
        if (!has_name(known, member.key)) return unknown_field(member.key, known);
    return {};
}

Result<void> only_pass_fields(const JsonValue& object,
                              std::initializer_list<std::string_view> known) {
    std::vector<std::string_view> all(known);
    all.insert(all.end(), std::begin(pass_fields) + 1, std::end(pass_fields));
    for (const JsonMember member : object.members())
        if (!has_name(known, member.key) && !has_name(pass_fields, member.key))
            return unknown_field(member.key, all);
    return {};
}

Result<std::optional<std::size_t>> count_field(const JsonValue& object, std::string_view name) {
    const auto value = present_field(object, name);
    if (!value) return std::nullopt;
    const auto number = value->integer();
    if (!number || *number < 0) return wrong(name, "a whole number, 0 or more", *value);
    return static_cast<std::size_t>(*number);
}

Result<std::optional<std::size_t>> positive_field(const JsonValue& object, std::string_view name) {
    PAL_TRY(count, count_field(object, name));
    if (count == std::size_t{0}) return wrong(name, "a whole number above 0", *object.find(name));
    return count;
}

Result<std::optional<double>> share_field(const JsonValue& object, std::string_view name) {
    PAL_TRY(share, number_field(object, name));
    if (share && !(*share >= 0 && *share <= 1))
        return wrong(name, "between 0 and 1", *object.find(name));
    return share;
}

Result<std::optional<bool>> flag_field(const JsonValue& object, std::string_view name) {
    const auto value = present_field(object, name);
    if (!value) return std::nullopt;
    const auto flag = value->boolean();
    if (!flag) return wrong(name, "true or false", *value);
    return *flag;
}

Result<std::optional<double>> number_field(const JsonValue& object, std::string_view name) {
    const auto value = present_field(object, name);
    if (!value) return std::nullopt;
    const auto number = value->number();
    if (!number) return wrong(name, "a number", *value);
    return *number;
}

Result<std::optional<std::string>> text_field(const JsonValue& object, std::string_view name) {
    const auto value = present_field(object, name);
    if (!value) return std::nullopt;
    if (!value->is_string()) return wrong(name, "a string", *value);
    return std::string(value->string());
}

Result<std::vector<std::string>> texts_field(const JsonValue& object, std::string_view name) {
    std::vector<std::string> out;
    const auto value = present_field(object, name);
    if (!value) return out;
    if (!value->is_array()) return wrong(name, "a list of strings", *value);
    for (const JsonValue element : value->elements()) {
        if (!element.is_string()) return wrong(name, "a list of strings", *value);
        out.emplace_back(element.string());
    }
    return out;
}

Result<Amount> amount_field(const JsonValue& object, std::string_view name,
                            std::initializer_list<std::string_view> known) {
    const auto value = present_field(object, name);
    Amount amount;
    if (!value) return amount;
    if (const auto number = value->integer(); number && *number >= 0) {
        amount.tokens = static_cast<std::uint64_t>(*number);
        return amount;
    }
    if (!value->is_object())
        return wrong(name, "a number of tokens, {\"tokens\": N} or {\"window_share\": X}", *value);
    PAL_CHECK(under(name, only_fields(*value, known)));
    PAL_TRY(tokens, under(name, count_field(*value, "tokens")));
    PAL_TRY(share, under(name, share_field(*value, "window_share")));
    if (tokens.has_value() == share.has_value())
        return wrong(name, "either {\"tokens\": N} or {\"window_share\": X}", *value);
    amount.tokens = tokens;
    amount.window_share = share;
    return amount;
}

Result<std::optional<double>> dollars_field(const JsonValue& object, std::string_view name) {
    const auto value = present_field(object, name);
    if (!value || !value->is_object()) return std::nullopt;
    PAL_CHECK(under(name, only_fields(*value, {"tokens", "window_share", "dollars"})));
    const auto dollars = present_field(*value, "dollars");
    if (!dollars) return std::nullopt;
    if (present_field(*value, "tokens") || present_field(*value, "window_share"))
        return wrong(name, "either dollars or tokens", *value);
    const auto number = dollars->number();
    if (!number || *number < 0)
        return wrong(std::string(name) + ".dollars", "a number, 0 or more", *dollars);
    return *number;
}

std::optional<std::uint64_t> Amount::in(std::uint64_t window) const {
    if (tokens) return tokens;
    if (!window_share || window == 0) return std::nullopt;
    return static_cast<std::uint64_t>(*window_share * static_cast<double>(window));
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

}  // namespace palimpsest
