#include "server/retry_key.h"

#include "base/clock.h"
#include "base/ids.h"
#include "server/gateway.h"
#include "server/keeper.h"

namespace palimpsest {
namespace {

constexpr std::string_view attempts = "x-stainless-retry-count";
constexpr Duration kept_for = std::chrono::minutes(10);

}  // namespace

bool counts_attempts(const HttpRequest& request) {
    return request.headers.find(attempts).has_value();
}

bool may_repeat(const HttpRequest& request) {
    const std::string_view count = request.header(attempts);
    return request.headers.find("Idempotency-Key") || (!count.empty() && count != "0");
}

Result<void> find_retry_key(Call& call) {
    if (!call.key.empty() || !counts_attempts(call.request)) return {};
    const std::string digest = call.request.path + "/" + digest_of_body(call);
    const RecordKey record{call.site.tenant, "retries", digest};
    if (call.request.header(attempts) != "0") {
        const auto kept = call.site.memory.store().get_record(record);
        if (kept) {
            call.key = kept->value;
            return {};
        }
        if (kept.error().code != ErrorCode::not_found) return std::unexpected(kept.error());
    }
    call.key = "retry-" + hex(random_log_id());
    call.site.keeper->put_later(call.site.memory.store(),
                                {.key = record, .value = call.key, .ttl = kept_for});
    return {};
}

}  // namespace palimpsest
