#include "search/store_index.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <tuple>

#include "core/rank.h"
#include "core/vectors.h"
#include "search/stored_parts.h"

namespace palimpsest {
namespace {

// Messages that a search embeds before it answers; more are left to the background.
constexpr std::uint64_t embedded_at_once = 64;

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

// What was found of a log by vectors, beside its messages.
std::vector<VectorRow> vector_rows(const WordIndex& words,
                                   const std::vector<LogVectors::Found>& found) {
    std::vector<VectorRow> rows(words.messages().size());
    std::size_t m = 0;
    for (const LogVectors::Found& one : found) {
        while (m < rows.size() && words.messages()[m].seq < one.seq.value) ++m;
        if (m < rows.size() && words.messages()[m].seq == one.seq.value)
            rows[m] = {one.cosine, one.passage};
    }
    return rows;
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
        bytes = kept->words.words().bytes() + kept->vectors.bytes();
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

IndexedLog StoreIndex::facts_of(const Header& header, Kept& kept) const {
    const std::shared_lock lock(kept.mutex);
    IndexedLog facts = kept.words.facts();
    if (!options_.embedder) return facts;
    facts.vectors = kept.vectors.rows();
    if (kept.vectors.is_current(header, *options_.embedder)) return facts;
    const auto after = [&](Seq seq) {
        const auto& rows = kept.words.words().messages();
        const auto from = std::ranges::upper_bound(rows, seq.value, {}, &MessageRow::seq);
        return static_cast<std::uint64_t>(rows.end() - from);
    };
    facts.unembedded = after(kept.vectors.is_of(*options_.embedder) ? kept.vectors.upto() : Seq{});
    return facts;
}

Result<IndexedLog> StoreIndex::update(const Header& header) {
    PAL_TRY(found, current(header));
    return facts_of(header, *found);
}

Result<IndexedLog> StoreIndex::rebuild(const Header& header, bool from_scratch,
                                       const Embedded& embedded) {
    if (from_scratch) PAL_CHECK(remove(header.name.tenant, header.log));
    PAL_TRY(found, current(header));
    if (options_.embedder) PAL_CHECK(embed_new(header, found, embedded));
    {
        const std::unique_lock lock(found->mutex);
        PAL_CHECK(found->words.save(store_, header));
        PAL_CHECK(found->vectors.save(store_, header, true));
    }
    return facts_of(header, *found);
}

// Reading locks on all logs of a search, and what is asked of each.
struct StoreIndex::Opened {
    std::vector<KeptPtr> logs = {};
    std::vector<std::shared_lock<std::shared_mutex>> locks = {};
    std::vector<RankScope> scopes = {};
    RowFilter filter = {};
};

bool StoreIndex::has_vectors(const Header& header, Kept& kept) const {
    const std::shared_lock lock(kept.mutex);
    return kept.vectors.is_current(header, *options_.embedder);
}

Result<bool> StoreIndex::embed_page_of(const Header& header, Kept& kept) {
    const std::lock_guard one_at_a_time(kept.embedding);
    {
        const std::unique_lock lock(kept.mutex);
        kept.vectors.start(store_, header, *options_.embedder);
    }
    if (has_vectors(header, kept)) return false;
    PAL_TRY(page, kept.vectors.read_page(store_, header));
    PAL_CHECK(embed_page(*options_.embedder, page));
    {
        const std::unique_lock lock(kept.mutex);
        PAL_CHECK(kept.vectors.add(page));
        PAL_CHECK(kept.vectors.save(store_, header, false));
    }
    const std::lock_guard lock(mutex_);
    embedded_ += page.seqs.size();
    return page.upto < header.end;
}

Result<void> StoreIndex::embed_new(const Header& header, const KeptPtr& kept,
                                   const Embedded& embedded) {
    for (bool more = !has_vectors(header, *kept); more;) {
        PAL_TRY(rest, embed_page_of(header, *kept));
        more = rest;
        if (embedded) embedded(facts_of(header, *kept).unembedded);
    }
    weigh(header.log, kept);
    return {};
}

bool StoreIndex::embed_more(const Header& header) {
    const KeptPtr log = kept(header.log);
    const auto more = embed_page_of(header, *log);
    if (more && *more) return true;
    weigh(header.log, log);
    const std::lock_guard lock(mutex_);
    embed_failures_ += !more.has_value();
    return false;
}

// What is new in a log is small as a rule, and then embedded at once.
Result<void> StoreIndex::embed_scopes(const IndexQuery& query, const std::vector<KeptPtr>& logs) {
    std::uint64_t room = embedded_at_once;
    for (std::size_t s = 0; s < logs.size(); ++s) {
        const Header& header = query.scopes[s].header;
        if (has_vectors(header, *logs[s])) continue;
        const std::uint64_t fresh = facts_of(header, *logs[s]).unembedded;
        if (options_.background && fresh > room) {
            queue_.add(header);
            continue;
        }
        room -= std::min(room, fresh);
        PAL_CHECK(embed_new(header, logs[s], {}));
    }
    return {};
}

Result<std::vector<IndexHit>> StoreIndex::search(const IndexQuery& query) {
    if (query.limit == 0 || query.text.empty()) return std::vector<IndexHit>();
    const bool by_vector = query.mode != SearchMode::lexical;
    if (by_vector && !options_.embedder)
        return fail(ErrorCode::unprocessable, "there is no embedder to search by vectors", "mode");
    Opened opened;
    for (const IndexScope& scope : query.scopes) {
        PAL_TRY(found, current(scope.header));
        opened.logs.push_back(std::move(found));
    }
    if (by_vector) PAL_CHECK(embed_scopes(query, opened.logs));
    for (std::size_t s = 0; s < opened.logs.size(); ++s) {
        opened.locks.emplace_back(opened.logs[s]->mutex);
        opened.scopes.push_back({&opened.logs[s]->words.words(), query.scopes[s].upto});
    }
    opened.filter = filter_of(query, opened.scopes);
    {
        const std::lock_guard lock(mutex_);
        ++searches_;
    }
    if (query.mode == SearchMode::lexical) return search_words(query, opened);
    PAL_TRY(asked, embed_query(query.text));
    if (query.mode == SearchMode::vector) return search_vectors(query, asked, opened);
    std::vector<std::vector<VectorRow>> rows;
    for (std::size_t s = 0; s < opened.logs.size(); ++s) {
        RankScope& scope = opened.scopes[s];
        rows.push_back(vector_rows(*scope.words, opened.logs[s]->vectors.scan(asked, scope.upto)));
        scope.vectors = rows.back();
    }
    return search_words(query, opened);
}

Result<std::vector<float>> StoreIndex::embed_query(const std::string& query) {
    const std::string text = query.substr(0, query_bytes_max);
    PAL_TRY(made, options_.embedder->embed_queries({&text, 1}));
    if (made.size() != 1)
        return fail(ErrorCode::upstream_failed, "the embedder gave no vector for the query");
    normalize(made.front());
    return std::move(made.front());
}

std::vector<IndexHit> StoreIndex::search_words(const IndexQuery& query,
                                               const Opened& opened) const {
    Languages languages = 0;
    for (const RankScope& scope : opened.scopes) languages |= scope.words->languages();
    Stemmer stemmer;
    const SearchQuery asked = read_query(query.text, languages, stemmer);
    std::vector<IndexHit> hits;
    for (const Ranked& one : rank(opened.scopes, asked, opened.filter, query.limit))
        hits.push_back({one.scope,
                        one.seq,
                        one.passage,
                        one.score,
                        {{"own", one.parts.own},
                         {"vector", one.parts.vector},
                         {"near", one.parts.near},
                         {"stretch", one.parts.stretch},
                         {"prior", one.parts.prior}}});
    return hits;
}

std::vector<IndexHit> StoreIndex::search_vectors(const IndexQuery& query,
                                                 std::span<const float> asked,
                                                 const Opened& opened) const {
    std::vector<IndexHit> hits;
    for (std::size_t s = 0; s < opened.logs.size(); ++s) {
        const auto& messages = opened.scopes[s].words->messages();
        for (const LogVectors::Found& one :
             opened.logs[s]->vectors.scan(asked, opened.scopes[s].upto)) {
            const auto row =
                std::ranges::lower_bound(messages, one.seq.value, {}, &MessageRow::seq);
            if (row == messages.end() || row->seq != one.seq.value) continue;
            if (opened.filter && !opened.filter(s, *row)) continue;
            hits.push_back({s, one.seq, one.passage, one.cosine, {{"vector", one.cosine}}});
        }
    }
    const std::size_t limit = std::min(query.limit, hits.size());
    std::ranges::partial_sort(hits, hits.begin() + static_cast<std::ptrdiff_t>(limit),
                              [](const IndexHit& a, const IndexHit& b) {
                                  return std::tuple(-a.score, a.scope, b.seq) <
                                         std::tuple(-b.score, b.scope, a.seq);
                              });
    hits.resize(limit);
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
    if (!options_.keep) return {};
    PAL_CHECK(remove_parts(store_, words_space, tenant, log));
    return remove_parts(store_, vectors_space, tenant, log);
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
    row("memory_search_embedded_total", "counter", embedded_);
    row("memory_search_embed_failures_total", "counter", embed_failures_);
    row("memory_search_logs_to_embed", "gauge", queue_.waiting());
    row("memory_search_logs", "gauge", order_.size());
    row("memory_search_bytes", "gauge", bytes_);
    row("memory_search_dropped_total", "counter", dropped_);
    return out;
}

}  // namespace palimpsest
