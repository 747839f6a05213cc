#include "search/store_index.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/rank.h"

namespace palimpsest {
namespace {

// Messages of a log that used the tool, by their place.
std::set<std::uint32_t> messages_with_tool(const WordIndex& index, std::string_view tool) {
    std::set<std::uint32_t> places;
    std::vector<PostingList> lists;
    index.find(tool_term(tool), lists);
    for (const PostingList& list : lists)
        scan_postings(list.bytes, [&](std::uint32_t passage, std::size_t, std::uint32_t) {
            if (passage < index.passages().size()) places.insert(index.passages()[passage].message);
        });
    return places;
}

RowFilter filter_of(const IndexQuery& query, const std::vector<RankScope>& scopes) {
    std::vector<std::set<std::uint32_t>> by_tool;
    if (!query.tool.empty())
        for (const RankScope& scope : scopes)
            by_tool.push_back(messages_with_tool(*scope.words, query.tool));
    if (!query.role && !query.after && !query.before && by_tool.empty()) return {};
    return
        [&query, &scopes, by_tool = std::move(by_tool)](std::size_t scope, const MessageRow& row) {
            const Time at{Duration(row.at_ms)};
            if (query.role && static_cast<Role>(row.role) != *query.role) return false;
            if ((query.after && at < *query.after) || (query.before && at >= *query.before))
                return false;
            if (by_tool.empty()) return true;
            const auto place = &row - scopes[scope].words->messages().data();
            return by_tool[scope].contains(static_cast<std::uint32_t>(place));
        };
}

}  // namespace

std::size_t StoreIndex::Hash::operator()(const LogId& log) const {
    std::size_t hash = 0;  // The bytes are random.
    std::memcpy(&hash, log.bytes.data(), sizeof hash);
    return hash;
}

StoreIndex::KeptPtr StoreIndex::kept(const LogId& log) {
    const std::lock_guard lock(mutex_);
    const auto known = by_log_.find(log);
    if (known != by_log_.end()) {
        order_.splice(order_.begin(), order_, known->second);
        return order_.front().kept;
    }
    order_.push_front({log, std::make_shared<Kept>(options_.keep)});
    by_log_[log] = order_.begin();
    return order_.front().kept;
}

// Counts what the log takes now; logs that were not used for long make room.
void StoreIndex::weigh(const LogId& log, const KeptPtr& kept) {
    std::size_t bytes = 0;
    {
        const std::shared_lock lock(kept->mutex);
        bytes = kept->words.words().bytes();
    }
    const std::lock_guard lock(mutex_);
    const auto known = by_log_.find(log);
    if (known == by_log_.end() || known->second->kept != kept) return;
    bytes_ = bytes_ - kept->bytes + bytes;
    kept->bytes = bytes;
    while (order_.size() > 1 &&
           (order_.size() > options_.logs_max || bytes_ > options_.bytes_max)) {
        bytes_ -= order_.back().kept->bytes;
        by_log_.erase(order_.back().log);
        order_.pop_back();
        ++dropped_;
    }
}

Result<StoreIndex::KeptPtr> StoreIndex::current(const Header& header) {
    KeptPtr found = kept(header.log);
    {
        const std::shared_lock lock(found->mutex);
        if (found->words.is_current(header)) return found;
    }
    std::uint64_t before = 0, after = 0;
    {
        const std::unique_lock lock(found->mutex);
        before = found->words.words().messages().size();
        Stemmer stemmer;
        PAL_CHECK(found->words.update(store_, header, stemmer));
        after = found->words.words().messages().size();
    }
    weigh(header.log, found);
    const std::lock_guard lock(mutex_);
    ++updates_;
    messages_ += after - std::min(before, after);
    return found;
}

Result<IndexedLog> StoreIndex::update(const Header& header) {
    PAL_TRY(found, current(header));
    const std::shared_lock lock(found->mutex);
    return found->words.facts();
}

Result<IndexedLog> StoreIndex::rebuild(const Header& header, bool from_scratch) {
    if (from_scratch) PAL_CHECK(remove(header.name.tenant, header.log));
    PAL_TRY(found, current(header));
    const std::unique_lock lock(found->mutex);
    PAL_CHECK(found->words.save(store_, header));
    return found->words.facts();
}

Result<std::vector<IndexHit>> StoreIndex::search(const IndexQuery& query) {
    std::vector<IndexHit> hits;
    if (query.limit == 0 || query.text.empty()) return hits;
    std::vector<KeptPtr> logs;
    for (const IndexScope& scope : query.scopes) {
        PAL_TRY(found, current(scope.header));
        logs.push_back(std::move(found));
    }
    std::vector<std::shared_lock<std::shared_mutex>> locks;
    std::vector<RankScope> scopes;
    Languages languages = 0;
    for (std::size_t s = 0; s < logs.size(); ++s) {
        locks.emplace_back(logs[s]->mutex);
        scopes.push_back({&logs[s]->words.words(), query.scopes[s].upto});
        languages |= scopes.back().words->languages();
    }
    Stemmer stemmer;
    const SearchQuery asked = read_query(query.text, languages, stemmer);
    for (const Ranked& one : rank(scopes, asked, filter_of(query, scopes), query.limit))
        hits.push_back({one.scope,
                        one.seq,
                        one.passage,
                        one.score,
                        {{"own", one.parts.own},
                         {"near", one.parts.near},
                         {"stretch", one.parts.stretch},
                         {"prior", one.parts.prior}}});
    const std::lock_guard lock(mutex_);
    ++searches_;
    return hits;
}

Result<void> StoreIndex::remove(const std::string& tenant, const LogId& log) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = by_log_.find(log); known != by_log_.end()) {
            bytes_ -= known->second->kept->bytes;
            order_.erase(known->second);
            by_log_.erase(known);
        }
    }
    return options_.keep ? remove_log_words(store_, tenant, log) : Result<void>{};
}

std::string StoreIndex::metrics() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    const auto row = [&](std::string_view name, std::string_view kind, std::uint64_t value) {
        out += "# TYPE " + std::string(name) + " " + std::string(kind) + "\n" + std::string(name) +
               " " + std::to_string(value) + "\n";
    };
    row("memory_search_total", "counter", searches_);
    row("memory_search_indexed_messages_total", "counter", messages_);
    row("memory_search_updates_total", "counter", updates_);
    row("memory_search_logs", "gauge", order_.size());
    row("memory_search_bytes", "gauge", bytes_);
    row("memory_search_dropped_total", "counter", dropped_);
    return out;
}

}  // namespace palimpsest
