// What a copy that is there has to do with its original. Pure.
#pragma once
#include <string_view>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

enum class Match : std::uint8_t { same, source_scrubbed, target_scrubbed, other };
// Of the same seq, both read without content: what was said is compared by its fingerprint.
Match match_entries(const Entry& source, const Entry& target);

// The fields of the header that differ, by their names.
std::vector<std::string_view> differing_fields(const Header& source, const Header& target);
// Gives the target the source's fields; those that are equal are absent.
HeaderPatch patch_towards(const Header& source, const Header& target);

}  // namespace palimpsest
