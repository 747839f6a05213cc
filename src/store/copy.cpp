#include "store/copy.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/ids.h"

namespace palimpsest {
namespace {

constexpr std::size_t batch_entries = 256, page_rows = 500;

// A log that lost its name but has forks: the target needs a name to make it, for a while.
std::string passing_name(const LogId& log) {
    return "pal.copy." + hex(log);
}

class Copier {
public:
    Copier(Store& from, Store& to, CopyReport& report) : from_(from), to_(to), report_(report) {}

    Result<void> conversation(const Header& listed) {
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
        if (outcome == Outcome::written) ++report_.conversations;
        if (outcome == Outcome::there) ++report_.there;
        return {};
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
    Result<void> records(const RecordSpace& space) {
        const Result<void> done = records_of(space);
        if (done || !is_of_one(done.error())) return done;
        report_.failures.push_back({.what = "records " + space.space, .error = done.error()});
        return {};
    }

private:
    enum class Outcome : std::uint8_t { written, there, failed };

    // A fault of one conversation, not of a store.
    static bool is_of_one(const Error& error) {
        return error.code != ErrorCode::unavailable && error.code != ErrorCode::no_space &&
               error.code != ErrorCode::outcome_unknown && error.code != ErrorCode::unauthorized;
    }

    Result<void> records_of(const RecordSpace& space) {
        RecordQuery query{.tenant = space.tenant, .space = space.space, .limit = page_rows};
        for (;;) {
            PAL_TRY(page, from_.list_records(query));
            if (page.empty()) return {};
            for (const Record& record : page) PAL_CHECK(put(record));
            query.after = page.back().key.key;
        }
    }

    // What it was forked from comes first; as much of that as is there may be enough.
    Result<Outcome> copied(const Header& header) {
        const auto [at, first] = done_.try_emplace(header.log, Outcome::failed);
        if (!first) return at->second;
        if (header.parent) {
            const auto parent = from_.head(*header.parent);
            if (!parent && !is_of_one(parent.error())) return std::unexpected(parent.error());
            if (parent) PAL_CHECK(copied(*parent));
        }
        Seq next = header.base + 1;
        const Result<bool> wrote = log(header, next);
        if (!wrote && !is_of_one(wrote.error())) return std::unexpected(wrote.error());
        if (!wrote)
            report_.failures.push_back({name_of(header).id, next - 1, header.end, wrote.error()});
        const Outcome outcome = !wrote   ? Outcome::failed
                                : *wrote ? Outcome::written
                                         : Outcome::there;
        return done_[header.log] = outcome;
    }

    static ConversationId name_of(const Header& header) {
        const bool nameless = header.name.id.empty();
        return {header.name.tenant, nameless ? passing_name(header.log) : header.name.id};
    }

    // True when something was written. `next`: the first seq that is not there, also on failure.
    Result<bool> log(const Header& header, Seq& next) {
        const bool nameless = header.name.id.empty();
        const ConversationId name = name_of(header);
        const auto there = to_.head(header.log);
        if (!there && there.error().code != ErrorCode::not_found)
            return std::unexpected(there.error());
        if (nameless && (!there || !there->name.id.empty())) lent_.push_back(name);
        if (there && there->end >= header.end) return false;
        if (there) next = there->end + 1;
        if (!there) PAL_CHECK(create(name, header));
        while (next <= header.end) {
            if (entries(name, header, next, batch_entries)) continue;
            // One by one, up to the entry that is to blame.
            while (next <= header.end) PAL_CHECK(entries(name, header, next, 1));
        }
        return true;
    }

    Result<void> create(const ConversationId& name, const Header& header) {
        Batch batch{.new_log = header.log};
        batch.patch = {.owner = header.owner,
                       .title = header.title,
                       .system_prompt = header.system_prompt,
                       .policy = header.policy,
                       .metadata_merge = header.metadata,
                       .ttl = header.ttl};
        batch.stamp = Stamp{header.created, header.updated, header.accessed};
        if (header.parent) {
            PAL_TRY(point, from_.read(*header.parent,
                                      {.ranges = {{header.base, header.base}}, .content = false}));
            ForkPoint fork{.parent = *header.parent, .at = header.base, .epoch = header.epoch};
            if (!point.empty()) fork.messages = point.front().ordinal;
            PAL_TRY(basis, basis_at(header));
            fork.basis = basis;
            batch.fork = fork;
        }
        if (to_.head(name))
            return fail(ErrorCode::conflict,
                        "the target has another conversation \"" + name.id + "\"");
        PAL_CHECK(to_.append(name, batch));
        return {};
    }

    // The newest basis at or below the fork point, along the chain.
    Result<Seq> basis_at(Header header) {
        while (header.parent) {
            const Seq at = header.base;
            PAL_TRY(parent, from_.head(*header.parent));
            PAL_TRY(found, from_.read(parent.log, {.ranges = {{Seq{1}, at}},
                                                   .kinds = basis_kinds,
                                                   .limit = 1,
                                                   .newest_first = true,
                                                   .content = false}));
            if (!found.empty()) return found.front().seq;
            header = parent;
        }
        return Seq{};
    }

    Result<void> entries(const ConversationId& name, const Header& header, Seq& next,
                         std::size_t most) {
        const Seq last = std::min(header.end, next + (most - 1));
        PAL_TRY(found, from_.read(header.log, {.ranges = {{next, last}}}));
        if (found.empty())
            return fail(ErrorCode::internal, "entry " + std::to_string(next.value) + " of \"" +
                                                 name.id + "\" is missing in the source");
        Batch batch{.expected_log = header.log,
                    .expected_end = next - 1,
                    .if_absent = IfAbsent::fail,
                    .stamp = Stamp{header.created, header.updated, header.accessed}};
        for (Entry& entry : found) batch.entries.push_back({std::move(entry.body), entry.at});
        const auto written = to_.append(name, batch);
        if (!written) return std::unexpected(written.error());
        report_.entries += found.size();
        next = last + 1;
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
    CopyReport& report_;
    std::map<LogId, Outcome> done_;
    std::vector<ConversationId> lent_;
};

Result<std::vector<Header>> all_headers(Store& store, const std::vector<std::string>& tenants) {
    std::vector<Header> all;
    for (const std::string& tenant : tenants) {
        ListQuery query{.tenant = tenant, .sort = SortBy::created, .newest_first = false};
        query.limit = page_rows;
        do {
            PAL_TRY(page, store.list(query));
            std::ranges::move(page.headers, std::back_inserter(all));
            query.after = page.next;
        } while (!query.after.empty());
    }
    return all;
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
    CopyReport report;
    Copier copier(from, to, report);
    PAL_TRY(headers, all_headers(from, tenants));
    CopyProgress progress{.total = headers.size()};
    for (const Header& header : headers) {
        if (options.progress) options.progress(progress);
        PAL_CHECK(copier.conversation(header));
        ++progress.done;
    }
    if (options.progress) options.progress(progress);
    PAL_CHECK(copier.finish());
    for (const RecordSpace& space : spaces) PAL_CHECK(copier.records(space));
    return report;
}

}  // namespace palimpsest
