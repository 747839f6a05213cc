// Looking after an encrypted store: what expired, keys that no log has, and whether all opens.
#include <algorithm>
#include <set>

#include "base/ids.h"
#include "store/log_check.h"
#include "store/sealed_content.h"
#include "store/sealed_erasure.h"
#include "store/sealed_store.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_entries = 500;
constexpr Duration between_looks = std::chrono::hours(1);

}  // namespace

// Their logs are gone, and their keys go now.
Result<void> SealedStore::finish_erasures(std::span<const std::string> tenants) {
    PAL_TRY(names, unfinished_erasures(*inner_, tenants));
    for (const ConversationId& name : names) {
        PAL_TRY(logs, read_erasure(*inner_, name));
        for (const LogId& log : logs) PAL_CHECK(forget_if_gone(name.tenant, log));
        PAL_CHECK(remove_erasure(*inner_, name));
    }
    return {};
}

// Keys of logs that are gone or have expired, also by the inner store itself.
Result<void> SealedStore::forget_orphans() {
    PAL_CHECK(finish_erasures({}));
    return each_key(*inner_, [&](const Record& record) -> Result<void> {
        const auto log = parse_log_id(record.key.key);
        return log ? forget_if_gone(record.key.tenant, *log) : Result<void>{};
    });
}

bool SealedStore::is_look_due() {
    const std::lock_guard hold(mutex_);
    return !looked_at_ || running_time() - *looked_at_ >= between_looks;
}

Result<std::size_t> SealedStore::sweep(std::size_t limit) {
    PAL_TRY(went, inner_->sweep(limit));
    if (went == 0 && !is_look_due()) return went;
    const auto looked = forget_orphans();
    if (!looked && looked.error().code == ErrorCode::unprocessable) return went;
    PAL_CHECK(looked);
    const std::lock_guard hold(mutex_);
    looked_at_ = running_time();
    return went;
}

Result<std::vector<Unlisted>> SealedStore::unlisted(std::span<const std::string> tenants) {
    return inner_->unlisted(tenants);
}

Result<Contents> SealedStore::contents() {
    PAL_TRY(found, inner_->contents());
    std::erase_if(found.spaces, [](const RecordSpace& it) { return is_own_space(it.space); });
    return found;
}

// ---- checks -------------------------------------------------------------------------------------

Result<void> SealedStore::check_log(const Header& sealed, CheckReport& report) {
    const std::string where = sealed.name.id.empty() ? hex(sealed.log) : sealed.name.id;
    std::string said;
    const auto note = [&](const Error& error) {
        if (error.message != said) report.findings.push_back({"sealed", where, error.message});
        said = error.message;
    };
    if (const auto header = unsealed(sealed); !header) note(header.error());
    for (Seq next = sealed.base + 1; next <= sealed.end;) {
        const Seq last = std::min(sealed.end, next + (page_entries - 1));
        const auto entries = read(sealed.log, {.ranges = {{next, last}}});
        if (!entries) note(entries.error());
        next = last + 1;
    }
    return {};
}

// Every conversation, and what it was forked from.
Result<void> SealedStore::check_tenant(const std::string& tenant, CheckReport& report) {
    ListQuery query{.tenant = tenant, .sort = SortBy::created, .newest_first = false};
    std::set<LogId> checked;
    do {
        PAL_TRY(page, inner_->list(query));
        query.after = page.next;
        for (const Header& named : page.headers) {
            Result<Header> header = named;
            while (header && checked.insert(header->log).second) {
                PAL_CHECK(check_log(*header, report));
                if (!header->parent) break;
                header = inner_->head(LogId(*header->parent));
            }
        }
    } while (!query.after.empty());
    return {};
}

Result<void> SealedStore::check_keys(std::span<const std::string> tenants, CheckReport& report) {
    PAL_TRY(store_key, mark(Seen::now));
    if (store_key.state == KeyState::changing)
        report.findings.push_back({"master", "store",
                                   "the change of the master key from " + store_key.former +
                                       " to " + store_key.master +
                                       " is under way or was broken off: `pal keys rotate "
                                       "--encryption-key OLD --to NEW` finishes it"});
    const auto unfinished = unfinished_erasures(*inner_, tenants);
    if (!unfinished && unfinished.error().code == ErrorCode::unprocessable) return {};
    if (!unfinished) return std::unexpected(unfinished.error());
    for (const ConversationId& name : *unfinished)
        report.findings.push_back({"key", name.id,
                                   "it was erased and its key is still there: `pal erase` again, "
                                   "or `pal doctor --repair`, removes it"});
    return {};
}

Result<CheckReport> SealedStore::check(std::span<const std::string> tenants) {
    PAL_TRY(report, inner_->check(tenants));
    PAL_TRY(wanted, tenants_or_all(*inner_, tenants));
    for (const std::string& tenant : wanted) PAL_CHECK(check_tenant(tenant, report));
    PAL_CHECK(check_keys(tenants, report));
    return std::move(report);
}

Result<CheckReport> SealedStore::repair(std::span<const std::string> tenants) {
    PAL_TRY(mended, inner_->repair(tenants));
    const auto finished = finish_erasures(tenants);
    if (!finished && finished.error().code != ErrorCode::unprocessable)
        return std::unexpected(finished.error());
    PAL_TRY(report, check(tenants));
    // What was found below and is no longer there to be found was mended.
    std::erase_if(mended.findings, [&](const Finding& done) {
        return std::ranges::any_of(report.findings, [&](const Finding& left) {
            return left.where == done.where && left.message == done.message;
        });
    });
    report.findings.insert(report.findings.begin(), mended.findings.begin(), mended.findings.end());
    return std::move(report);
}

}  // namespace palimpsest
