#include "store/model_store.h"

#include <algorithm>

#include "core/codec.h"
#include "core/metadata.h"

namespace palimpsest {
namespace {

std::unexpected<Error> absent() {
    return fail(ErrorCode::not_found, "absent");
}

bool is_message(const Entry& entry) {
    return std::holds_alternative<MessageEntry>(entry.body);
}

}  // namespace

// Whatever has expired is erased before anything else happens.
void ModelStore::settle() {
    const Time now = clock_();
    for (auto& [uid, log] : logs_)
        if (!log.header.name.id.empty() && log.header.expires && *log.header.expires <= now)
            take_name(log);
    collect();
    std::erase_if(records_, [&](const auto& row) {
        return row.second.expires && *row.second.expires <= now;
    });
}

bool ModelStore::descends(const Log& log, const LogId& from) const {
    for (const Log* at = &log; at->header.parent; at = &logs_.at(*at->header.parent))
        if (*at->header.parent == from) return true;
    return false;
}

Receipt ModelStore::take_name(Log& log) {
    Receipt receipt;
    for (const auto& [uid, other] : logs_)
        if (!other.header.name.id.empty() && descends(other, log.header.log))
            receipt.kept_for.push_back(other.header.name.id);
    std::ranges::sort(receipt.kept_for);
    const Header old = log.header;
    log.header = {};
    log.header.name.tenant = old.name.tenant;
    log.header.log = old.log;
    log.header.parent = old.parent;
    log.header.base = old.base;
    log.header.end = old.end;
    log.header.basis = old.basis;
    log.header.messages = old.messages;
    log.header.revision = old.revision;
    log.header.epoch = old.epoch;
    log.header.created = old.created;
    log.header.updated = old.updated;
    log.header.accessed = old.accessed;
    log.keys.clear();
    return receipt;
}

// Nameless logs lose what no fork needs, until nothing changes any more.
Receipt ModelStore::collect() {
    Receipt receipt;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto at = logs_.begin(); at != logs_.end(); ++at) {
            Log& log = at->second;
            if (!log.header.name.id.empty()) continue;
            std::optional<Seq> largest;
            for (const auto& [uid, other] : logs_)
                if (other.header.parent == log.header.log)
                    largest = std::max(largest.value_or(Seq{}), other.header.base);
            if (!largest) {
                receipt.entries += log.entries.size();
                ++receipt.logs;
                logs_.erase(at);
                changed = true;
                break;
            }
            receipt.entries += std::erase_if(
                log.entries, [&](const Entry& entry) { return entry.seq > *largest; });
            log.header.end = *largest;
            log.header.messages = log.messages_at_base;
            log.header.basis = log.basis_at_base;
            for (const Entry& entry : log.entries) {
                if (is_message(entry)) ++log.header.messages;
                if (basis_of(entry.body)) log.header.basis = entry.seq;
            }
        }
    }
    return receipt;
}

ModelStore::Log* ModelStore::by_name(const ConversationId& name) {
    for (auto& [uid, log] : logs_)
        if (log.header.name == name) return &log;
    return nullptr;
}

Result<Header> ModelStore::head(const ConversationId& name) {
    settle();
    const Log* log = by_name(name);
    if (!log) return absent();
    return log->header;
}

Result<Header> ModelStore::head(const LogId& log) {
    settle();
    const auto found = logs_.find(log);
    if (found == logs_.end()) return absent();
    return found->second.header;
}

Result<ModelStore::Log> ModelStore::fresh(const ConversationId& name, const Batch& batch) {
    Log log;
    log.header.name = name;
    log.header.log = batch.new_log;
    log.header.created = log.header.updated = log.header.accessed = clock_();
    if (!batch.fork) return log;
    const auto parent = logs_.find(batch.fork->parent);
    if (parent == logs_.end() || parent->second.header.name.tenant != name.tenant) return absent();
    if (batch.fork->at > parent->second.header.end || batch.fork->at < parent->second.header.base)
        return fail(ErrorCode::invalid_request, "not owned");
    log.header.parent = batch.fork->parent;
    log.header.base = log.header.end = batch.fork->at;
    log.header.basis = log.basis_at_base = batch.fork->basis;
    log.header.messages = log.messages_at_base = batch.fork->messages;
    log.header.epoch = std::max(batch.fork->epoch, parent->second.header.epoch);
    return log;
}

Result<Appended> ModelStore::append(const ConversationId& name, const Batch& batch) {
    settle();
    Log* existing = by_name(name);
    if (existing && existing->keys.contains(batch.key)) {
        const Seen& seen = existing->keys.at(batch.key);
        if (seen.digest != batch.digest) return fail(ErrorCode::unprocessable, "another request");
        return Appended{seen.first, seen.last, existing->header, true, false};
    }
    if (!existing && batch.if_absent == IfAbsent::fail) return absent();
    if (existing && batch.fork) return fail(ErrorCode::conflict, "taken");
    Log next;
    if (existing) next = *existing;
    if (!existing) {
        PAL_TRY(made, fresh(name, batch));
        next = made;
    }
    Header& header = next.header;
    if ((batch.expected_log && (!existing || *batch.expected_log != header.log)) ||
        (batch.expected_end && *batch.expected_end != header.end) ||
        (batch.expected_basis && *batch.expected_basis != header.basis) ||
        (batch.expected_epoch && *batch.expected_epoch != header.epoch) ||
        (batch.expected_revision && *batch.expected_revision != header.revision))
        return fail(ErrorCode::conflict, "moved");
    const HeaderPatch& patch = batch.patch;
    if (patch.metadata_merge) {
        PAL_TRY(merged, merge_metadata(header.metadata, *patch.metadata_merge));
        header.metadata = merged;
    }
    if (patch.owner) header.owner = *patch.owner;
    if (patch.title) header.title = *patch.title;
    if (patch.system_prompt) header.system_prompt = *patch.system_prompt;
    if (patch.policy) header.policy = *patch.policy;
    if (patch.ttl && *patch.ttl != header.ttl) header.expires.reset();
    if (patch.ttl) header.ttl = *patch.ttl;
    if (!patch.empty()) ++header.revision;
    const Seq first = header.end + 1;
    for (const Draft& draft : batch.entries) {
        header.end = header.end + 1;
        Entry entry{.seq = header.end, .at = draft.at.value_or(clock_()), .body = draft.body};
        if (is_message(entry)) ++header.messages;
        if (basis_of(entry.body)) header.basis = entry.seq;
        entry.ordinal = header.messages;
        next.entries.push_back(entry);
    }
    if (!patch.empty() || !batch.entries.empty()) header.updated = clock_();
    header.accessed = clock_();
    if (header.ttl)
        header.expires = std::max(header.expires.value_or(Time{}), header.accessed + *header.ttl);
    else
        header.expires.reset();
    if (!batch.key.empty()) next.keys[batch.key] = {batch.digest, first, header.end};
    logs_[header.log] = next;
    return Appended{first, header.end, header, false, existing == nullptr};
}

Result<std::vector<Entry>> ModelStore::read(const LogId& log, const ReadQuery& query) {
    settle();
    const auto found = logs_.find(log);
    if (found == logs_.end()) return absent();
    std::vector<Entry> all;
    for (const Entry& entry : found->second.entries) {
        const bool inside =
            query.ranges.empty() || std::ranges::any_of(query.ranges, [&](const Range& range) {
                return range.contains(entry.seq);
            });
        if (!inside || !query.kinds.has(kind_of(entry.body))) continue;
        all.push_back(entry);
        if (query.content) continue;
        const EncodedBody encoded = encode_body(entry.body);
        all.back().body = *decode_body(kind_of(entry.body), encoded.meta, nullptr);
    }
    if (query.newest_first) std::ranges::reverse(all);
    if (all.size() > query.limit) all.resize(query.limit);
    return all;
}

// The cursor is the number of rows already shown: right as long as nothing changes between pages.
Result<Page> ModelStore::list(const ListQuery& query) {
    settle();
    std::vector<Header> rows;
    for (const auto& [uid, log] : logs_) {
        const Header& header = log.header;
        if (header.name.tenant != query.tenant) continue;
        if (query.children_of ? header.parent != query.children_of : header.name.id.empty())
            continue;
        if (query.owner && header.owner != *query.owner) continue;
        const auto labels = labels_of(header.metadata);
        if (std::ranges::all_of(query.metadata, [&](const auto& field) {
                return labels.contains(field.first) && labels.at(field.first) == field.second;
            }))
            rows.push_back(header);
    }
    std::ranges::sort(rows, {}, [&](const Header& header) {
        if (query.sort == SortBy::created) return header.created;
        return query.sort == SortBy::updated ? header.updated : header.accessed;
    });
    if (query.newest_first) std::ranges::reverse(rows);
    const std::size_t shown = query.after.empty() ? 0 : std::stoul(query.after);
    Page page;
    for (std::size_t i = shown; i < rows.size() && i < shown + query.limit; ++i)
        page.headers.push_back(rows[i]);
    if (shown + query.limit < rows.size()) page.next = std::to_string(shown + query.limit);
    return page;
}

Result<void> ModelStore::scrub(std::span<const Replacement> replacements) {
    settle();
    auto after = logs_;
    std::map<LogId, bool> stale;
    for (const Replacement& replacement : replacements) {
        if (!after.contains(replacement.log)) return absent();
        auto& entries = after.at(replacement.log).entries;
        const auto entry = std::ranges::find(entries, replacement.seq, &Entry::seq);
        if (entry == entries.end()) return absent();
        if (entry->body.index() != replacement.body.index())
            return fail(ErrorCode::invalid_request, "kind");
        entry->body = replacement.body;
        for (const auto& [uid, log] : logs_)
            if (uid == replacement.log || descends(log, replacement.log)) stale[uid] = true;
    }
    for (const auto& [uid, yes] : stale) ++after.at(uid).header.epoch;
    logs_ = after;
    return {};
}

Result<Receipt> ModelStore::erase(const ConversationId& name) {
    settle();
    Log* log = by_name(name);
    if (!log) return absent();
    const Receipt named = take_name(*log);
    Receipt receipt = collect();
    receipt.kept_for = named.kept_for;
    return receipt;
}

Result<Record> ModelStore::get_record(const RecordKey& key) {
    settle();
    if (!records_.contains(key)) return absent();
    return records_.at(key);
}

Result<std::uint64_t> ModelStore::put_record(const RecordWrite& write) {
    settle();
    const std::uint64_t have = records_.contains(write.key) ? records_.at(write.key).version : 0;
    if (write.expected && *write.expected != have) return fail(ErrorCode::conflict, "moved");
    ++version_;
    records_.erase(write.key);
    if (!write.value) return version_;
    Record record{.key = write.key, .value = *write.value, .version = version_};
    if (write.ttl) record.expires = clock_() + *write.ttl;
    records_[write.key] = record;
    return version_;
}

Result<std::vector<Record>> ModelStore::list_records(const RecordQuery& query) {
    settle();
    std::vector<Record> found;
    for (const auto& [key, record] : records_)
        if (key.tenant == query.tenant && key.space == query.space &&
            key.key.starts_with(query.prefix) && key.key > query.after &&
            found.size() < query.limit)
            found.push_back(record);
    return found;
}

}  // namespace palimpsest
