// Words of the command line to flags and positional arguments, by a table of known flags.
//
// `--name value`, `--name=value`, `--switch`; `--` ends the flags; a lone `-` is an argument (the
// standard input). An unknown flag is an error that names the nearest known one, never a guess.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

// A command declares its own flags in a table beside its function.
struct Flag {
    std::string_view name;
    std::string_view value;  // how help names the value; empty: a switch
    std::string_view help;
    bool repeats = false;
};

// The same with a name of its own: the settings' flags are made, not written.
struct KnownFlag {
    std::string name = {};
    bool takes_value = false;
    bool repeats = false;
};

class Arguments {
public:
    std::size_t size() const { return positional_.size(); }
    const std::string& operator[](std::size_t index) const { return positional_[index]; }
    std::vector<std::string> from(std::size_t index) const;

    bool has(std::string_view flag) const { return flags_.contains(flag); }
    std::optional<std::string> get(std::string_view flag) const;
    std::vector<std::string> all(std::string_view flag) const;

    // A whole number, or invalid_request that names the flag. None when it was not given.
    Result<std::optional<std::uint64_t>> number(std::string_view flag) const;

private:
    friend Result<Arguments> parse_arguments(std::span<const std::string> words,
                                             std::span<const KnownFlag> known);
    std::vector<std::string> positional_;
    std::map<std::string, std::vector<std::string>, std::less<>> flags_;
};

Result<Arguments> parse_arguments(std::span<const std::string> words,
                                  std::span<const KnownFlag> known);

Result<std::uint64_t> parse_number(std::string_view text, std::string_view what);

}  // namespace palimpsest
