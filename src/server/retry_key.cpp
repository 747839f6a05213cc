#include "server/retry_key.h"

#include <charconv>

#include "base/clock.h"
#include "base/ids.h"
#include "server/gateway.h"
#include "server/keeper.h"

namespace palimpsest {
namespace {

constexpr std::string_view attempts = "x-stainless-retry-count";
constexpr Duration kept_for = std::chrono::minutes(10);

std::uint64_t attempt_of(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// "ATTEMPT KEY"
std::string write_value(std::uint64_t attempt, std::string_view key) {
    return std::to_string(attempt) + " " + std::string(key);
}

// The key of the attempt before this one; empty: it never came here, or its answer went out.
Result<std::string> find_earlier(Store& store, const RecordKey& record, std::uint64_t attempt) {
    const auto kept = store.get_record(record);
    if (!kept && kept.error().code == ErrorCode::not_found) return std::string();
    if (!kept) return std::unexpected(kept.error());
    const std::string& value = kept->value;
    const std::size_t space = value.find(' ');
    if (space == value.npos || attempt_of(value) + 1 != attempt) return std::string();
    return value.substr(space + 1);
}

}  // namespace

bool counts_attempts(const HttpRequest& request) {
    return request.headers.find(attempts).has_value();
}

bool says_repeat(const HttpRequest& request) {
    const std::string_view count = request.header(attempts);
    return !count.empty() && count != "0";
}

bool may_repeat(const HttpRequest& request) {
    return request.headers.find("Idempotency-Key") || says_repeat(request);
}

Result<void> find_retry_key(Call& call, RetryOf what) {
    if (!call.key.empty() || !counts_attempts(call.request)) return {};
    const std::string digest =
        call.request.path + "/" + call.caller.id + "/" + digest_of_body(call);
    const std::uint64_t attempt = attempt_of(call.request.header(attempts));
    call.retry = RetryMark{.record = {call.site.tenant, "retries", digest},
                           .first_creates = what == RetryOf::creation && attempt == 0};
    Store& store = call.site.memory.store();
    if (attempt > 0) {
        PAL_TRY(key, find_earlier(store, call.retry->record, attempt));
        call.key = std::move(key);
    }
    if (call.key.empty()) call.key = "retry-" + hex(random_log_id());
    call.retry->value = write_value(attempt, call.key);
    call.site.keeper->put_later(
        store, {.key = call.retry->record, .value = call.retry->value, .ttl = kept_for});
    return {};
}

std::function<void()> on_delivery(const Call& call) {
    if (!call.retry) return {};
    return [mark = *call.retry, &site = call.site] {
        RecordWrite write{.key = mark.record};
        if (!mark.first_creates) {
            write.value = mark.value;
            write.ttl = lost_within;
        }
        site.keeper->put_later(site.memory.store(), std::move(write));
    };
}

}  // namespace palimpsest
