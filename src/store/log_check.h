// Reading logs through the port and saying what is not as their headers say.
#pragma once
#include <set>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// A JSON object, as what headers hold must be.
bool is_metadata(std::string_view text);

// Adds to the report what one log after the other comes to, each with what it was forked from, as
// far as that has not been checked.
class ChainCheck {
public:
    ChainCheck(Store& store, CheckReport& report) : store_(store), report_(report) {}
    Result<void> run(Header header);

private:
    Store& store_;
    CheckReport& report_;
    std::set<LogId> checked_;
};

// Those that are named, or all that have conversations.
Result<std::vector<std::string>> tenants_or_all(Store& store, std::span<const std::string> tenants);

}  // namespace palimpsest
