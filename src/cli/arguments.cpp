#include "cli/arguments.h"

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "base/utf8.h"
#include "cli/terminal.h"

namespace palimpsest {
namespace {

std::unexpected<Error> unknown_flag(std::string_view name, std::span<const KnownFlag> known) {
    std::vector<std::string_view> names;
    for (const KnownFlag& flag : known) names.push_back(flag.name);
    const std::string_view nearest = nearest_name(name, names);
    std::string message = "there is no flag --" + clipped(name, 60);
    if (!nearest.empty())
        message += "; did you mean --" + std::string(nearest) + "?";
    else
        message += "; `pal help COMMAND` lists the flags";
    return fail(ErrorCode::invalid_request, std::move(message), "--" + clipped(name, 60));
}

}  // namespace

std::vector<std::string> Arguments::from(std::size_t index) const {
    if (index >= positional_.size()) return {};
    return {positional_.begin() + static_cast<std::ptrdiff_t>(index), positional_.end()};
}

std::optional<std::string> Arguments::get(std::string_view flag) const {
    const auto found = flags_.find(flag);
    if (found == flags_.end()) return std::nullopt;
    return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
    const auto found = flags_.find(flag);
    return found == flags_.end() ? std::vector<std::string>() : found->second;
}

Result<std::optional<std::uint64_t>> Arguments::number(std::string_view flag) const {
    const auto text = get(flag);
    if (!text) return std::optional<std::uint64_t>();
    PAL_TRY(value, parse_number(*text, "--" + std::string(flag)));
    return std::optional(value);
}

Result<std::uint64_t> parse_number(std::string_view text, std::string_view what) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > INT64_MAX)
        return fail(
            ErrorCode::invalid_request,
            std::string(what) + " must be a whole number, not \"" + clipped(text, 40) + "\"",
            std::string(what));
    return value;
}

Result<Arguments> parse_arguments(std::span<const std::string> words,
                                  std::span<const KnownFlag> known) {
    Arguments arguments;
    bool flags_ended = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word = words[i] == "-h" ? "--help" : words[i];
        if (flags_ended || !word.starts_with('-') || word == "-") {
            arguments.positional_.push_back(words[i]);
            continue;
        }
        flags_ended = word == "--";
        if (flags_ended) continue;
        const std::string_view rest = std::string_view(word).substr(word.starts_with("--") ? 2 : 1);
        const std::size_t equals = rest.find('=');
        const std::string name(rest.substr(0, equals));
        const auto flag = std::ranges::find(known, name, &KnownFlag::name);
        if (flag == known.end() || !word.starts_with("--")) return unknown_flag(name, known);
        std::string value = equals == rest.npos ? "true" : std::string(rest.substr(equals + 1));
        if (flag->takes_value && equals == rest.npos) {
            if (++i == words.size())
                return fail(ErrorCode::invalid_request, "--" + name + " needs a value",
                            "--" + name);
            value = words[i];
        }
        if (!is_utf8(value))
            return fail(ErrorCode::invalid_request, "--" + name + " is not UTF-8: convert it first",
                        "--" + name);
        auto& values = arguments.flags_[name];
        if (!values.empty() && !flag->repeats)
            return fail(ErrorCode::invalid_request, "--" + name + " was given twice", "--" + name);
        values.push_back(std::move(value));
    }
    return arguments;
}

}  // namespace palimpsest
