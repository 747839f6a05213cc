#include "store/sealed_erasure.h"

#include <algorithm>

#include "base/ids.h"
#include "store/wrapped_key.h"

namespace palimpsest {
namespace {

constexpr std::string_view erasure_space = "pal.erase";
constexpr std::size_t uid_digits = 32, at_once = 1000;

RecordKey record_of(const ConversationId& name) {
    return {name.tenant, std::string(erasure_space), name.id};
}

std::vector<LogId> logs_of(const Record& record) {
    std::vector<LogId> logs;
    const std::string_view text = record.value;
    for (std::size_t at = 0; at + uid_digits <= text.size(); at += uid_digits)
        if (const auto log = parse_log_id(text.substr(at, uid_digits))) logs.push_back(*log);
    return logs;
}

}  // namespace

bool is_own_space(std::string_view space) {
    return space == key_space || space == erasure_space;
}

Result<std::vector<LogId>> read_erasure(Store& inner, const ConversationId& name) {
    const auto record = inner.get_record(record_of(name));
    if (record) return logs_of(*record);
    if (record.error().code == ErrorCode::not_found) return std::vector<LogId>{};
    return std::unexpected(record.error());
}

Result<void> write_erasure(Store& inner, const ConversationId& name, std::span<const LogId> logs) {
    std::string text;
    for (const LogId& log : logs) text += hex(log);
    PAL_CHECK(inner.put_record({.key = record_of(name), .value = text}));
    return {};
}

Result<void> remove_erasure(Store& inner, const ConversationId& name) {
    const auto gone = inner.put_record({.key = record_of(name), .purge = true});
    if (gone || gone.error().code == ErrorCode::not_found) return {};
    return std::unexpected(gone.error());
}

Result<std::vector<ConversationId>> unfinished_erasures(Store& inner,
                                                        std::span<const std::string> tenants) {
    std::vector<ConversationId> found;
    PAL_TRY(contents, inner.contents());
    for (const RecordSpace& space : contents.spaces) {
        if (space.space != erasure_space) continue;
        if (!tenants.empty() && std::ranges::find(tenants, space.tenant) == tenants.end()) continue;
        PAL_TRY(begun, inner.list_records(
                           {.tenant = space.tenant, .space = space.space, .limit = at_once}));
        for (const Record& record : begun) {
            const bool removed = std::ranges::any_of(logs_of(record), [&](const LogId& log) {
                const auto header = inner.head(log);
                return !header && header.error().code == ErrorCode::not_found;
            });
            if (removed) found.push_back({record.key.tenant, record.key.key});
        }
    }
    return found;
}

}  // namespace palimpsest
