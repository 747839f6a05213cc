// audit: who changed or removed what, kept in the store beside it.
//
// An act is written down before it is done, and its outcome after: one that cannot be written down
// is not done, and one whose process died in between stands there as "begun". Never what was said,
// only names: whose key, which conversation. Records of the tenant, space "audit", newest first.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct AuditEntry {
    std::string id = {};  // in the order of time, newest first
    Time at = {};
    std::string tenant = {};
    std::string act = {};         // "conversation.erase"
    std::string target = {};      // what it was done to
    std::string who = {};         // "key ID", "anyone" while there are no keys, "pal, user UID"
    std::string request_id = {};  // of an act over HTTP
    std::string outcome = {};     // "begun", "done", or the code of an error
};

// For how long an entry is kept.
constexpr Duration audit_kept_for = std::chrono::hours(24 * 365);

// One act, from before it is done to its outcome. The store must outlive it.
class AuditedAct {
public:
    static Result<AuditedAct> begin(Store& store, AuditEntry entry);
    // That this cannot be written changes nothing of what was done.
    void end(const Error* error = nullptr);
    void name_target(std::string target) { entry_.target = std::move(target); }

private:
    AuditedAct(Store& store, AuditEntry entry) : store_(&store), entry_(std::move(entry)) {}
    Result<void> write();

    Store* store_;
    AuditEntry entry_;
};

// Behind the id `after`, older and older.
Result<std::vector<AuditEntry>> list_audit(Store& store, const std::string& tenant,
                                           std::string_view after, std::size_t limit);

}  // namespace palimpsest
