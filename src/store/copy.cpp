#include "store/copy.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/ids.h"
#include "store/copy_log.h"
#include "store/files_lost.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_rows = 500;
constexpr std::size_t uid_digits = 32;

std::string called(const Header& header) {
    if (!header.name.id.empty()) return header.name.id;
    return "log " + hex(header.log) + ", which is erased but for its forks";
}

// Listed or not. The unlisted are asked for first: a listing is mended while it is read.
Result<std::vector<Header>> all_headers(Store& store, const std::vector<std::string>& tenants,
                                        std::vector<Unlisted> unlisted) {
    std::vector<Header> all;
    std::set<LogId> known;
    for (const std::string& tenant : tenants) {
        ListQuery query{.tenant = tenant, .sort = SortBy::created, .newest_first = false};
        query.limit = page_rows;
        do {
            PAL_TRY(page, store.list(query));
            for (Header& header : page.headers)
                if (known.insert(header.log).second) all.push_back(std::move(header));
            query.after = page.next;
        } while (!query.after.empty());
    }
    for (Unlisted& one : unlisted)
        if (known.insert(one.log).second)
            all.push_back({.name = std::move(one.name), .log = one.log});
    return all;
}

class Copier {
public:
    Copier(Store& from, Store& to, const CopyOptions& options, CopyReport& report)
        : from_(from),
          to_(to),
          options_(options),
          report_(report),
          log_(from, to, options, report) {}

    Result<void> conversation(const Header& listed) {
        if (unreadable_.contains(listed.log)) return {};
        // An encrypted store lists one whose key is lost without what is sealed.
        const auto header = from_.head(listed.log);
        if (!header && header.error().code == ErrorCode::not_found) return {};
        if (!header && !is_of_one(header.error())) return std::unexpected(header.error());
        if (!header) {
            report_.failures.push_back(
                {.what = listed.name.id, .end = listed.end, .error = header.error()});
            return {};
        }
        PAL_TRY(outcome, copied(*header));
        if (!outcome->error) ++(outcome->wrote ? report_.conversations : report_.there);
        return {};
    }
    // What is damaged so that nobody knows whose it is may be of a tenant that is copied.
    Result<void> name_lost() {
        PAL_TRY(headers, all_headers(from_, {std::string(lost_tenant)}, {}));
        for (const Header& listed : headers) {
            const auto header = from_.head(listed.log);
            if (header || header.error().code != ErrorCode::internal) continue;
            report_.failures.push_back(
                {.what = listed.name.id, .end = listed.end, .error = header.error()});
        }
        return {};
    }
    // Those that nobody can read are told, and left out of the rest.
    void name_damaged(std::vector<Unlisted>& unlisted) {
        for (const Unlisted& one : unlisted) {
            if (one.damage.empty()) continue;
            unreadable_.insert(one.log);
            report_.failures.push_back(
                {.what = one.name.id.empty() ? "log " + hex(one.log) : one.name.id,
                 .error = {.code = ErrorCode::internal, .message = one.damage}});
        }
        std::erase_if(unlisted, [](const Unlisted& one) { return !one.damage.empty(); });
    }
    // Names that were only lent go, once all forks are there.
    Result<void> finish() {
        for (const ConversationId& name : lent_) {
            const auto erased = to_.erase(name);
            if (!erased && erased.error().code != ErrorCode::not_found)
                return std::unexpected(erased.error());
        }
        return {};
    }
    // Where all tenants are copied, those of which the source has nothing any more as well; their
    // names say the tenant then.
    Result<void> name_those_of_target_alone(std::vector<std::string> tenants,
                                            const std::vector<Header>& source) {
        const bool all = options_.tenants.empty();
        if (const auto theirs = to_.contents(); all && theirs)
            for (const std::string& tenant : theirs->tenants)
                if (std::ranges::find(tenants, tenant) == tenants.end()) tenants.push_back(tenant);
        std::set<LogId> logs = unreadable_;
        std::set<ConversationId> names;
        for (const Header& header : source) {
            logs.insert(header.log);
            names.insert(header.name);
        }
        PAL_TRY(headers, all_headers(to_, tenants, {}));
        for (const Header& header : headers)
            if (!logs.contains(header.log) && !names.contains(header.name))
                report_.in_target_alone.push_back((all ? header.name.tenant + "/" : "") +
                                                  header.name.id);
        return {};
    }
    Result<void> records(const RecordSpace& space) {
        const Result<void> done = records_of(space);
        if (done || !is_of_one(done.error())) return done;
        report_.failures.push_back({.what = "records " + space.space, .error = done.error()});
        return {};
    }

private:
    // What it was forked from comes first; as much of that as is there may be enough.
    Result<const LogOutcome*> copied(const Header& header) {
        const auto [at, first] = done_.try_emplace(header.log);
        if (!first) return &at->second;
        const LogOutcome* parent = nullptr;
        if (header.parent) {
            const auto found = from_.head(*header.parent);
            if (!found && !is_of_one(found.error())) return std::unexpected(found.error());
            if (found) {
                PAL_TRY(before, copied(*found));
                parent = before;
            }
        }
        lend_name(header);
        PAL_TRY(outcome, log_.run(header, parent));
        if (outcome.error)
            report_.failures.push_back({.what = called(header),
                                        .there = outcome.there,
                                        .copied = outcome.there ? outcome.same : Seq{},
                                        .end = header.end,
                                        .lost = outcome.lost,
                                        .error = *outcome.error});
        if (!outcome.alike) unlike_.insert(hex(header.log));
        done_[header.log] = std::move(outcome);
        return &done_[header.log];
    }

    // A log that lost its name but has forks: the target needs a name to make it, for a while.
    void lend_name(const Header& header) {
        if (!header.name.id.empty()) return;
        const auto there = to_.head(header.log);
        const ConversationId name = name_in_copy(header);
        if (!there || there->name.id == name.id) lent_.push_back(name);
    }

    Result<void> records_of(const RecordSpace& space) {
        const auto& left_out = options_.spaces_left_out;
        if (space.space == copy_space || std::ranges::find(left_out, space.space) != left_out.end())
            return {};
        RecordQuery query{.tenant = space.tenant, .space = space.space, .limit = page_rows};
        for (;;) {
            PAL_TRY(page, from_.list_records(query));
            if (page.empty()) return {};
            for (const Record& record : page) {
                PAL_TRY(wanted, is_wanted(space, record));
                if (wanted) PAL_CHECK(put(record));
            }
            query.after = page.back().key.key;
        }
    }

    // What is kept about a log (a search index) fits only a log with the same entries. What was
    // revoked in either store does not come back.
    Result<bool> is_wanted(const RecordSpace& space, const Record& record) {
        if (unlike_.contains(record.key.key.substr(0, uid_digits))) return false;
        for (const CopyOptions::Revocable& one : options_.revocable) {
            if (space == one.revoked) PAL_CHECK(revoke(one.space, record.key.key));
            if (space != one.space) continue;
            const auto gone =
                to_.get_record({one.revoked.tenant, one.revoked.space, record.key.key});
            if (gone) return false;
            if (gone.error().code != ErrorCode::not_found) return std::unexpected(gone.error());
        }
        return true;
    }

    Result<void> revoke(const RecordSpace& space, const std::string& key) {
        const RecordKey record{space.tenant, space.space, key};
        if (!to_.get_record(record)) return {};
        PAL_CHECK(to_.put_record({.key = record, .purge = true}));
        ++report_.revoked;
        return {};
    }

    Result<void> put(const Record& record) {
        const auto there = to_.get_record(record.key);
        if (there && there->value == record.value) return {};
        RecordWrite write{.key = record.key, .value = record.value};
        if (record.expires) {
            write.ttl = *record.expires - system_now();
            if (*write.ttl <= Duration::zero()) return {};
        }
        const auto put = to_.put_record(write);
        if (!put) return std::unexpected(put.error());
        ++report_.records;
        return {};
    }

    Store& from_;
    Store& to_;
    const CopyOptions& options_;
    CopyReport& report_;
    LogCopy log_;
    std::map<LogId, LogOutcome> done_;
    std::set<std::string> unlike_;  // uids in hex
    std::vector<ConversationId> lent_;
    std::set<LogId> unreadable_;
};

// What is revoked is known before anything is copied that it ends.
void revoked_first(std::vector<RecordSpace>& spaces, const CopyOptions& options) {
    std::ranges::stable_partition(spaces, [&](const RecordSpace& space) {
        return std::ranges::any_of(options.revocable,
                                   [&](const auto& one) { return one.revoked == space; });
    });
}

}  // namespace

Result<CopyReport> copy_store(Store& from, Store& to, const CopyOptions& options) {
    std::vector<std::string> tenants = options.tenants;
    std::vector<RecordSpace> spaces;
    const auto contents = from.contents();
    if (contents) {
        if (tenants.empty()) tenants = contents->tenants;
        const bool all = options.tenants.empty();
        for (const RecordSpace& space : contents->spaces)
            if (all || std::ranges::find(tenants, space.tenant) != tenants.end())
                spaces.push_back(space);
    } else if (tenants.empty()) {
        return std::unexpected(contents.error());
    }
    revoked_first(spaces, options);
    CopyReport report;
    Copier copier(from, to, options, report);
    PAL_TRY(unlisted, from.unlisted(options.tenants));
    copier.name_damaged(unlisted);
    PAL_TRY(headers, all_headers(from, tenants, std::move(unlisted)));
    CopyProgress progress{.total = headers.size()};
    for (const Header& header : headers) {
        if (options.progress) options.progress(progress);
        PAL_CHECK(copier.conversation(header));
        ++progress.done;
    }
    if (options.progress) options.progress(progress);
    PAL_CHECK(copier.finish());
    PAL_CHECK(copier.name_those_of_target_alone(tenants, headers));
    if (std::ranges::find(tenants, lost_tenant) == tenants.end()) PAL_CHECK(copier.name_lost());
    for (const RecordSpace& space : spaces) PAL_CHECK(copier.records(space));
    return report;
}

}  // namespace palimpsest
