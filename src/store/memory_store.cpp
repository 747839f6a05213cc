#include "store/memory_store.h"

#include <algorithm>
#include <condition_variable>

#include "base/clock.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "store/rules.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

MemoryStoreOptions with_clock(MemoryStoreOptions options) {
    if (!options.clock) options.clock = system_now;
    return options;
}

std::unexpected<Error> no_conversation(const ConversationId& name) {
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

std::unexpected<Error> no_log(const LogId& log) {
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

bool living(const MemoryLog& log, Time now) {
    return log.named() && !expired(log.header, now);
}

bool matches(const MemoryLog& log, const ListQuery& query) {
    if (log.header.name.tenant != query.tenant) return false;
    if (query.owner && log.header.owner != *query.owner) return false;
    return std::ranges::all_of(query.metadata, [&](const auto& field) {
        const auto found = log.labels.find(field.first);
        return found != log.labels.end() && found->second == field.second;
    });
}

// Every family once, by address: the order in which whoever needs several must take them.
std::vector<std::unique_lock<std::shared_mutex>> lock_families(
    std::span<const std::shared_ptr<MemoryLog>> logs) {
    std::set<LogFamily*, std::less<>> families;
    for (const auto& log : logs)
        if (log) families.insert(log->family.get());
    std::vector<std::unique_lock<std::shared_mutex>> holds;
    for (LogFamily* family : families) holds.emplace_back(family->mutex);
    return holds;
}

Result<Entry*> entry_to_scrub(MemoryLog& log, const Replacement& replacement) {
    const Seq base = log.header.base;
    if (log.gone) return no_log(replacement.log);
    if (replacement.seq <= base || replacement.seq > base + log.entries.size())
        return fail(ErrorCode::not_found,
                    "the log owns no entry " + std::to_string(replacement.seq.value));
    Entry& entry = log.entries[replacement.seq.value - base.value - 1];
    if (kind_of(entry.body) != kind_of(replacement.body))
        return fail(ErrorCode::invalid_request, "a scrubbed entry keeps its kind", "body");
    return &entry;
}

}  // namespace

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(with_clock(std::move(options))) {
    if (options_.sweep <= Duration::zero()) return;
    sweeper_ = std::jthread([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock hold(mutex);
        SweepGuard guard;
        while (!wake.wait_for(hold, stop, options_.sweep, [] { return false; }) &&
               !stop.stop_requested())
            if (guard.may_sweep(options_.clock(), running_time())) (void)sweep(SIZE_MAX);
    });
}

// ---- finding ------------------------------------------------------------------------------------

std::size_t MemoryStore::NameHash::operator()(const ConversationId& name) const {
    const std::hash<std::string> hash;
    return hash(name.tenant) * 31 + hash(name.id);
}

MemoryStore::NameShard& MemoryStore::shard_of(const ConversationId& name) {
    return names_[NameHash{}(name) % names_.size()];
}

MemoryStore::UidShard& MemoryStore::shard_of(const LogId& log) {
    return uids_[log.bytes.back() % uids_.size()];
}

MemoryStore::LogPtr MemoryStore::find(const ConversationId& name) {
    NameShard& shard = shard_of(name);
    const std::lock_guard hold(shard.mutex);
    const auto found = shard.logs.find(name);
    return found == shard.logs.end() ? nullptr : found->second;
}

MemoryStore::LogPtr MemoryStore::find(const LogId& log) {
    UidShard& shard = shard_of(log);
    const std::lock_guard hold(shard.mutex);
    const auto found = shard.logs.find(log);
    return found == shard.logs.end() ? nullptr : found->second;
}

// The log as it is once expiry has been carried out: it may be nameless then, or gone. A log that
// lives by its name needs no look at its forks.
MemoryStore::LogPtr MemoryStore::find_settled(const LogId& uid) {
    LogPtr log = find(uid);
    if (!log) return nullptr;
    const Time now = options_.clock();
    const auto lives_by_name = [&] {
        const std::shared_lock hold(log->family->mutex);
        return log->gone || living(*log, now);
    };
    if (!lives_by_name()) settle(*log, now);
    return log;
}

// Carries out the expiry of all logs on which it depends how much of this one, and of the nameless
// ones above it, is still needed.
void MemoryStore::settle(MemoryLog& log, Time now) {
    std::vector<LogId> due;
    {
        const std::shared_lock hold(log.family->mutex);
        if (log.gone) return;
        MemoryLog* top = &log;
        while (top->parent && !living(*top->parent, now)) top = top->parent;
        for (const MemoryLog* fork : descendants(*top))
            if (fork->named() && expired(fork->header, now)) due.push_back(fork->header.log);
    }
    for (const LogId& fork : due)
        if (const LogPtr found = find(fork)) expire(*found, now);
}

Result<Header> MemoryStore::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    const LogPtr log = find(name);
    if (!log) return no_conversation(name);
    const std::shared_lock hold(log->family->mutex);
    if (!log->named() || expired(log->header, options_.clock())) return no_conversation(name);
    return log->header;
}

Result<Header> MemoryStore::head(const LogId& uid) {
    const LogPtr log = find_settled(uid);
    if (!log) return no_log(uid);
    const std::shared_lock hold(log->family->mutex);
    if (log->gone) return no_log(uid);
    return log->header;
}

Result<std::vector<Entry>> MemoryStore::read(const LogId& uid, const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    const LogPtr log = find_settled(uid);
    if (!log) return no_log(uid);
    const std::shared_lock hold(log->family->mutex);
    if (log->gone) return no_log(uid);
    return read_entries(*log, query);
}

// ---- writing ------------------------------------------------------------------------------------

Result<Appended> MemoryStore::append(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_batch(name, batch));
    if (batch.fork) find_settled(batch.fork->parent);
    const auto write = [&]() -> Result<Appended> {
        NameShard& shard = shard_of(name);
        const std::lock_guard hold(shard.mutex);
        const Time now = options_.clock();
        const LogPtr log = live_log(shard, name, now);
        if (!log) return create(shard, name, batch, now);
        const std::unique_lock family(log->family->mutex);
        PAL_TRY(before, seen_before(*log, batch, now));
        if (before) return std::move(*before);
        if (batch.fork)
            return fail(ErrorCode::conflict, "\"" + name.id + "\" exists: a fork needs a new id");
        PAL_CHECK(check_expected(log->header, true, batch));
        PAL_TRY(done, write_batch(*log, batch, now));
        touch(shard, *log);
        return std::move(done);
    };
    Result<Appended> done = write();
    if (done && done->created) make_room();
    return done;
}

MemoryStore::LogPtr MemoryStore::live_log(NameShard& shard, const ConversationId& name, Time now) {
    const auto found = shard.logs.find(name);
    if (found == shard.logs.end()) return nullptr;
    LogPtr log = found->second;
    const std::unique_lock family(log->family->mutex);
    if (!expired(log->header, now)) return log;
    remove(shard, *log);
    --conversations_;
    return nullptr;
}

Result<Appended> MemoryStore::create(NameShard& shard, const ConversationId& name,
                                     const Batch& batch, Time now) {
    if (batch.if_absent == IfAbsent::fail) return no_conversation(name);
    const LogId uid = batch.new_log.empty() ? random_log_id() : batch.new_log;
    const LogPtr parent = batch.fork ? find(batch.fork->parent) : nullptr;
    if (batch.fork && !parent) return no_log(batch.fork->parent);
    const auto log = std::make_shared<MemoryLog>(MemoryLog{
        .origin = name, .family = parent ? parent->family : std::make_shared<LogFamily>()});
    const std::unique_lock family(log->family->mutex);
    if (parent) {
        if (parent->gone) return no_log(batch.fork->parent);
        PAL_CHECK(check_fork(parent->header, name, *batch.fork));
    }
    log->header = new_header(name, uid, batch, now);
    log->header.ttl = options_.ttl;
    if (parent) log->header.epoch = std::max(log->header.epoch, parent->header.epoch);
    log->base_basis = log->header.basis;
    log->base_messages = log->header.messages;
    log->parent = parent.get();
    PAL_CHECK(check_expected(log->header, false, batch));
    return publish(shard, log, batch, now);
}

// Writes the batch into the new log, then lets it be found; under the family's mutex too.
Result<Appended> MemoryStore::publish(NameShard& shard, const LogPtr& log, const Batch& batch,
                                      Time now) {
    PAL_TRY(done, write_batch(*log, batch, now));
    UidShard& uids = shard_of(log->header.log);
    {
        const std::lock_guard hold(uids.mutex);
        if (!uids.logs.emplace(log->header.log, log).second)
            return fail(ErrorCode::conflict, "a log " + hex(log->header.log) + " exists");
    }
    if (log->parent) log->parent->forks.emplace(log->header.base, log.get());
    shard.logs.emplace(log->origin, log);
    log->recent = shard.recent.insert(shard.recent.end(), log.get());
    log->touched = ++touches_;
    ++conversations_;
    done.created = true;
    return std::move(done);
}

void MemoryStore::touch(NameShard& shard, MemoryLog& log) {
    shard.recent.splice(shard.recent.end(), shard.recent, log.recent);
    log.touched = ++touches_;
}

Result<void> MemoryStore::scrub(std::span<const Replacement> replacements) {
    std::vector<LogPtr> logs;
    for (const Replacement& replacement : replacements)
        logs.push_back(find_settled(replacement.log));
    const auto holds = lock_families(logs);
    std::vector<Entry*> entries;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        if (!logs[i]) return no_log(replacements[i].log);
        PAL_TRY(entry, entry_to_scrub(*logs[i], replacements[i]));
        entries.push_back(entry);
    }
    std::set<MemoryLog*> stale;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        entries[i]->body = replacements[i].body;
        for (MemoryLog* log : descendants(*logs[i])) stale.insert(log);
    }
    for (MemoryLog* log : stale) ++log->header.epoch;
    return {};
}

// ---- removing -----------------------------------------------------------------------------------

Result<Receipt> MemoryStore::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    const Time now = options_.clock();
    if (const LogPtr log = find(name)) settle(*log, now);
    NameShard& shard = shard_of(name);
    const std::lock_guard hold(shard.mutex);
    const LogPtr log = live_log(shard, name, now);
    if (!log) return no_conversation(name);
    const std::unique_lock family(log->family->mutex);
    --conversations_;
    return remove(shard, *log);
}

// Under the shard's and the family's mutex. The caller keeps the log alive and the count right.
Receipt MemoryStore::remove(NameShard& shard, MemoryLog& log) {
    shard.recent.erase(log.recent);
    shard.logs.erase(log.origin);
    std::vector<LogId> gone;
    Receipt receipt = detach(log, gone);
    for (const LogId& uid : gone) {
        UidShard& uids = shard_of(uid);
        const std::lock_guard hold(uids.mutex);
        uids.logs.erase(uid);
    }
    return receipt;
}

// Carries out the expiry of a log that is due; true when it was.
bool MemoryStore::expire(MemoryLog& log, Time now) {
    const auto due = [&] { return log.named() && expired(log.header, now); };
    {
        const std::shared_lock family(log.family->mutex);
        if (!due()) return false;
    }
    NameShard& shard = shard_of(log.origin);
    const std::lock_guard hold(shard.mutex);
    const std::unique_lock family(log.family->mutex);
    if (!due()) return false;
    remove(shard, log);
    --conversations_;
    return true;
}

Result<std::size_t> MemoryStore::sweep(std::size_t limit) {
    const Time now = options_.clock();
    records_.sweep(now);
    std::size_t went = 0;
    for (NameShard& shard : names_) {
        std::vector<LogPtr> logs;
        {
            const std::lock_guard hold(shard.mutex);
            for (const auto& [name, log] : shard.logs) logs.push_back(log);
        }
        for (const LogPtr& log : logs) {
            if (went >= limit) return went;
            if (expire(*log, now)) ++went;
        }
    }
    return went;
}

// Whoever finds too many takes one place off the count, and so owes exactly one conversation:
// threads that make room together never evict more than was too many.
void MemoryStore::make_room() {
    if (options_.max == 0) return;
    std::size_t have = conversations_;
    while (have > options_.max) {
        if (!conversations_.compare_exchange_weak(have, have - 1)) continue;
        while (!evict_least_recent()) {
        }
        have = conversations_;
    }
}

// False when the shard chosen has been emptied meanwhile.
bool MemoryStore::evict_least_recent() {
    NameShard* shard = least_recent_shard();
    if (!shard) return false;
    const std::lock_guard hold(shard->mutex);
    if (shard->recent.empty()) return false;
    const LogPtr log = shard->logs.at(shard->recent.front()->origin);
    const std::unique_lock family(log->family->mutex);
    remove(*shard, *log);
    return true;
}

MemoryStore::NameShard* MemoryStore::least_recent_shard() {
    NameShard* oldest = nullptr;
    std::uint64_t least = UINT64_MAX;
    for (NameShard& shard : names_) {
        const std::lock_guard hold(shard.mutex);
        if (shard.recent.empty() || shard.recent.front()->touched >= least) continue;
        least = shard.recent.front()->touched;
        oldest = &shard;
    }
    return oldest;
}

// ---- listing ------------------------------------------------------------------------------------

std::vector<MemoryStore::LogPtr> MemoryStore::candidates(const ListQuery& query) {
    std::vector<LogPtr> found;
    if (!query.children_of) {
        for (NameShard& shard : names_) {
            const std::lock_guard hold(shard.mutex);
            for (const auto& [name, log] : shard.logs)
                if (name.tenant == query.tenant) found.push_back(log);
        }
        return found;
    }
    const LogPtr parent = find_settled(*query.children_of);
    if (!parent) return found;
    std::vector<LogId> forks;
    {
        const std::shared_lock hold(parent->family->mutex);
        for (const auto& [at, fork] : parent->forks) forks.push_back(fork->header.log);
    }
    for (const LogId& fork : forks)
        if (LogPtr log = find_settled(fork)) found.push_back(std::move(log));
    return found;
}

Result<Page> MemoryStore::list(const ListQuery& query) {
    PAL_CHECK(check_list(query));
    std::optional<Cursor> after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const Time now = options_.clock();
    const auto precedes = [&](const Cursor& a, const Cursor& b) {
        return query.newest_first ? b < a : a < b;
    };
    std::vector<std::pair<Cursor, LogPtr>> rows;
    for (const LogPtr& log : candidates(query)) {
        const std::shared_lock hold(log->family->mutex);
        if (log->gone || expired(log->header, now) || !matches(*log, query)) continue;
        if (!query.children_of && !log->named()) continue;
        const Cursor at{sort_time(log->header, query.sort), log->header.log};
        if (!after || precedes(*after, at)) rows.emplace_back(at, log);
    }
    const std::size_t count = std::min(query.limit, rows.size());
    std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(count), precedes,
                              [](const auto& row) { return row.first; });
    Page page;
    if (count < rows.size()) page.next = write_cursor(query, rows[count - 1].first);
    for (std::size_t i = 0; i < count; ++i) {
        const MemoryLog& log = *rows[i].second;
        const std::shared_lock hold(log.family->mutex);
        if (!log.gone && (query.children_of || log.named())) page.headers.push_back(log.header);
    }
    return page;
}

// ---- the rest -----------------------------------------------------------------------------------

Result<Record> MemoryStore::get_record(const RecordKey& key) {
    return records_.get(key, options_.clock());
}

Result<std::uint64_t> MemoryStore::put_record(const RecordWrite& write) {
    return records_.put(write, options_.clock());
}

Result<std::vector<Record>> MemoryStore::list_records(const RecordQuery& query) {
    return records_.list(query, options_.clock());
}

Result<Contents> MemoryStore::contents() {
    std::set<std::string> tenants;
    for (NameShard& shard : names_) {
        const std::lock_guard hold(shard.mutex);
        for (const auto& [name, log] : shard.logs) tenants.insert(name.tenant);
    }
    const std::set<RecordSpace> spaces = records_.spaces();
    return Contents{{tenants.begin(), tenants.end()}, {spaces.begin(), spaces.end()}};
}

Durability MemoryStore::durability() const {
    return {.level = "memory: gone when the process ends"};
}

}  // namespace palimpsest
