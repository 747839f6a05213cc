#include "server/audit.h"

#include <chrono>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/time.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::string_view space = "audit";

// Counts down, so that the newest is first in the order of records.
std::string new_id() {
    const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
    const auto left = ~static_cast<std::uint64_t>(now.count());
    return fmt::format("audit_{:016x}{}", left, hex(random_log_id()).substr(0, 8));
}

std::string write_entry(const AuditEntry& entry) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("at", format_time(entry.at)).field("act", entry.act);
    out.field("target", entry.target).field("who", entry.who);
    out.field("request_id", entry.request_id).field("outcome", entry.outcome).end_object();
    return text;
}

Result<AuditEntry> read_entry(const Record& record) {
    PAL_TRY(document, parse_json(record.value));
    const auto text = [&](std::string_view name) {
        const auto value = document.root().find(name);
        return value ? std::string(value->string()) : std::string();
    };
    PAL_TRY(at, parse_time(text("at")));
    return AuditEntry{.id = record.key.key,
                      .at = at,
                      .tenant = record.key.tenant,
                      .act = text("act"),
                      .target = text("target"),
                      .who = text("who"),
                      .request_id = text("request_id"),
                      .outcome = text("outcome")};
}

}  // namespace

Result<AuditedAct> AuditedAct::begin(Store& store, AuditEntry entry) {
    entry.id = new_id();
    entry.at = system_now();
    entry.outcome = "begun";
    AuditedAct act(store, std::move(entry));
    PAL_CHECK(act.write());
    return act;
}

void AuditedAct::end(const Error* error) {
    entry_.outcome = error ? error_info(error->code).name : "done";
    (void)write();
}

Result<void> AuditedAct::write() {
    PAL_CHECK(store_->put_record({.key = {entry_.tenant, std::string(space), entry_.id},
                                  .value = write_entry(entry_),
                                  .ttl = audit_kept_for}));
    return {};
}

Result<std::vector<AuditEntry>> list_audit(Store& store, const std::string& tenant,
                                           std::string_view after, std::size_t limit) {
    PAL_TRY(records, store.list_records({.tenant = tenant,
                                         .space = std::string(space),
                                         .after = std::string(after),
                                         .limit = limit}));
    std::vector<AuditEntry> entries;
    for (const Record& record : records) {
        PAL_TRY(entry, read_entry(record));
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace palimpsest
