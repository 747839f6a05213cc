#include "server/kept_words.h"

#include <deque>

#include "base/ids.h"
#include "server/response_log.h"
#include "store/damaged_log.h"

namespace palimpsest {
namespace {

constexpr std::size_t at_once = 1000;

// Calls `take` with every record of the query, which may remove it.
template <class Take>
Result<void> each_record(Store& store, RecordQuery query, const Take& take) {
    query.limit = at_once;
    while (true) {
        PAL_TRY(records, store.list_records(query));
        for (const Record& record : records) PAL_CHECK(take(record));
        if (records.size() < at_once) return {};
        query.after = records.back().key.key;
    }
}

Result<void> purge(Store& store, const RecordKey& key) {
    PAL_TRY(version, store.put_record({.key = key, .purge = true}));
    (void)version;
    return {};
}

// All logs that share entries with this one: those that it came from, and their forks.
Result<std::vector<Header>> relatives_of(Store& store, Header header) {
    const std::string tenant = header.name.tenant;
    while (header.parent) {
        auto parent = store.head(*header.parent);
        if (!parent && parent.error().code == ErrorCode::not_found) break;
        if (!parent) return std::unexpected(std::move(parent).error());
        header = *std::move(parent);
    }
    std::vector<Header> all;
    for (std::deque<Header> open{std::move(header)}; !open.empty(); open.pop_front()) {
        ListQuery query{.tenant = tenant, .limit = at_once};
        query.children_of = open.front().log;
        do {
            PAL_TRY(page, store.list(query));
            for (Header& child : page.headers) open.push_back(std::move(child));
            query.after = page.next;
        } while (!query.after.empty());
        all.push_back(open.front());
    }
    return all;
}

// The epoch in a key ID/EPOCH/NUMBER.
bool is_of_epoch(std::string_view key, std::uint64_t epoch) {
    return key.find("/" + std::to_string(epoch) + "/") != key.npos;
}

Result<void> purge_events(Store& store, const std::string& tenant, const LogId& log,
                          std::optional<std::uint64_t> epoch) {
    const RecordQuery query{tenant, std::string(event_space), "resp_" + hex(log)};
    return each_record(store, query, [&](const Record& record) -> Result<void> {
        if (epoch && is_of_epoch(record.key.key, *epoch)) return {};
        return purge(store, record.key);
    });
}

Result<void> purge_completions(Store& store, const std::string& tenant, const LogId& log,
                               std::optional<std::uint64_t> epoch) {
    const std::string prefix = hex(log) + "/";
    const RecordQuery query{tenant, std::string(log_completion_space), prefix};
    return each_record(store, query, [&](const Record& record) -> Result<void> {
        if (epoch && record.value.starts_with(std::to_string(*epoch) + "/")) return {};
        PAL_CHECK(purge(
            store, {tenant, std::string(completion_space), record.key.key.substr(prefix.size())}));
        return purge(store, record.key);
    });
}

// Those of the epoch stay; without one, none does.
Result<void> purge_kept(Store& store, const std::string& tenant, const LogId& log,
                        std::optional<std::uint64_t> epoch) {
    PAL_CHECK(purge_events(store, tenant, log, epoch));
    return purge_completions(store, tenant, log, epoch);
}

Result<void> purge_erased(Store& store, const std::string& tenant, const LogId& log) {
    PAL_CHECK(purge_kept(store, tenant, log, {}));
    for (const std::string_view space : {"response_deletes", "responses"})
        PAL_CHECK(purge_records(store, {tenant, std::string(space), "resp_" + hex(log)}));
    return {};
}

Result<void> purge_if_gone(Store& store, const std::string& tenant, const LogId& log) {
    const auto header = store.head(log);
    const bool gone =
        header ? header->name.id.empty() : header.error().code == ErrorCode::not_found;
    if (gone) return purge_erased(store, tenant, log);
    // One that is damaged is not gone, and does not stop the others.
    if (header || header.error().code == ErrorCode::internal) return {};
    return std::unexpected(header.error());
}

}  // namespace

Result<void> purge_records(Store& store, RecordQuery query) {
    return each_record(store, std::move(query),
                       [&](const Record& record) { return purge(store, record.key); });
}

Result<void> purge_gone(Store& store) {
    const auto contents = store.contents();
    if (!contents && contents.error().code == ErrorCode::unprocessable) return {};
    if (!contents) return std::unexpected(contents.error());
    for (const RecordSpace& space : contents->spaces) {
        if (space.space != log_completion_space) continue;
        std::optional<LogId> last;
        const RecordQuery query{space.tenant, space.space};
        PAL_CHECK(each_record(store, query, [&](const Record& record) -> Result<void> {
            const auto log = parse_log_id(record.key.key.substr(0, record.key.key.find('/')));
            if (!log || log == last) return {};
            last = log;
            return purge_if_gone(store, space.tenant, *log);
        }));
    }
    return {};
}

Result<bool> is_current(Store& store, const KeptOf& of) {
    const auto header = store.head(of.log);
    if (!header && header.error().code == ErrorCode::not_found) return false;
    if (!header) return std::unexpected(header.error());
    return !header->name.id.empty() && header->epoch == of.epoch;
}

Result<void> scrub_all(Memory& memory, const ConversationId& name, const std::vector<Seq>& seqs) {
    PAL_CHECK(memory.scrub(name, seqs));
    PAL_TRY(header, memory.head(name));
    PAL_TRY(relatives, relatives_of(memory.store(), header));
    for (const Header& one : relatives)
        PAL_CHECK(purge_kept(memory.store(), name.tenant, one.log, one.epoch));
    return {};
}

Result<Receipt> erase_all(Memory& memory, const ConversationId& name) {
    // None when there is none, which the store is asked about again: it may have an erase to
    // finish.
    PAL_TRY(log, log_behind(memory.store(), name));
    PAL_TRY(receipt, memory.erase(name));
    if (!log) return std::move(receipt);
    if (const auto purged = purge_erased(memory.store(), name.tenant, *log); !purged)
        receipt.remains.push_back(
            "what servers keep of its responses and completions (nobody is told it any more): " +
            purged.error().message);
    return std::move(receipt);
}

// What is being made is dropped first, so that nothing comes behind the purge.
Result<void> scrub_all(Site& site, const ConversationId& name, const std::vector<Seq>& seqs) {
    PAL_TRY(header, site.memory.head(name));
    PAL_TRY(relatives, relatives_of(site.memory.store(), header));
    for (const Header& one : relatives) site.responses->drop(one.log);
    return scrub_all(site.memory, name, seqs);
}

Result<Receipt> erase_all(Site& site, const ConversationId& name) {
    PAL_TRY(log, log_behind(site.memory.store(), name));
    if (log) site.responses->drop(*log);
    return erase_all(site.memory, name);
}

}  // namespace palimpsest
