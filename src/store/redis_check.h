// What a look at all keys of a Redis store carries with it.
#pragma once
#include <set>

#include "store/log_check.h"
#include "store/redis_store.h"

namespace palimpsest {

struct RedisStore::Census {
    std::set<std::pair<std::string, LogId>> headers, lists;  // logs that have one, or entries
    std::set<std::string> listings, due;                     // keys
    std::set<std::string> spaces;                            // tags
    std::set<std::string> sharing;                           // tags that have bodies or uses
    std::set<std::string> families;                          // tags that have a set of logs
    std::set<std::string> names;                             // tags that lead to a log
};

struct RedisStore::Check {
    std::set<std::string> tenants;  // none: all
    bool repair = false;
    CheckReport& report;
    ChainCheck chain;
    std::vector<RedisPlace> suspects;
    std::set<std::string> foreign = {};  // keys of listings that are none
    std::set<std::string> forked = {};   // tags under which there are forks

    bool wants(const std::string& tenant) const {
        return tenants.empty() || tenants.contains(tenant);
    }
    bool wants(std::optional<ConversationId> name) const { return !name || wants(name->tenant); }
    void note(std::string what, std::string where, std::string message) {
        report.findings.push_back({std::move(what), std::move(where), std::move(message)});
    }
    // Damage is told, and the check goes on behind it.
    Result<void> behind(Result<void> done, std::string where) {
        if (done || done.error().code != ErrorCode::internal) return done;
        note("damaged", std::move(where), done.error().message);
        return {};
    }
};

// What does not lead to a log that has a name.
struct RedisStore::Faults {
    bool name = false, pointer = false;
    std::string name_has = {};         // what the name key says instead
    std::size_t listings = 0, of = 0;  // in which it is missing
    bool any() const { return name || pointer || listings > 0; }
};

}  // namespace palimpsest
