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
        scan_postings(list.bytes, [&](const Posting& posting) {
            if (posting.passage < index.passages().size())
                places.insert(index.passages()[posting.passage].message);
        });
    return places;
}

// Some formats put the results of tools into what the user says.
bool has_role(const MessageRow& row, Role role) {
    return static_cast<Role>(row.role) == role || (role == Role::tool && row.results != 0);
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
            if (query.role && !has_role(row, *query.role)) return false;
            if ((query.after && at < *query.after) || (query.before && at >= *query.before))
                return false;
            if (by_tool.empty()) return true;
            const auto place = &row - scopes[scope].words->messages().data();
            return by_tool[scope].contains(static_cast<std::uint32_t>(place));
        };
}

}  // namespace

StoreIndex::KeptPtr StoreIndex::kept(const Header& header) {
    const std::lock_guard lock(mutex_);
    const auto known = by_log_.find(header.log);
    if (known != by_log_.end()) {
        order_.splice(order_.begin(), order_, known->second);
        return order_.front().kept;
    }
    order_.push_front({header.log, header.name.tenant, std::make_shared<Kept>(options_.keep)});
    by_log_[header.log] = order_.begin();
    return order_.front().kept;
}

StoreIndex::KeptPtr StoreIndex::known(const LogId& log) const {
    const std::lock_guard lock(mutex_);
    const auto known = by_log_.find(log);
    return known == by_log_.end() ? nullptr : known->second->kept;
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
    if (bytes_ + graph_bytes() > options_.bytes_max) graphs_.clear();
    while (order_.size() > 1 &&
           (order_.size() > options_.logs_max || bytes_ > options_.bytes_max)) {
        bytes_ -= order_.back().kept->bytes;
        graphs_.erase(order_.back().tenant);
        by_log_.erase(order_.back().log);
        order_.pop_back();
        ++dropped_;
    }
}

// A stemmer knows the words that it has met: the last one used is kept for the next update.
struct StoreIndex::StemmerLoan {
    explicit StemmerLoan(StoreIndex& from) : index(from) {
        const std::lock_guard lock(index.mutex_);
        stemmer = std::move(index.spare_stemmer_);
        if (!stemmer) stemmer = std::make_unique<Stemmer>();
    }
    ~StemmerLoan() {
        const std::lock_guard lock(index.mutex_);
        index.spare_stemmer_ = std::move(stemmer);
    }
    StemmerLoan(const StemmerLoan&) = delete;
    StemmerLoan& operator=(const StemmerLoan&) = delete;
    StoreIndex& index;
    std::unique_ptr<Stemmer> stemmer;
};

Result<StoreIndex::KeptPtr> StoreIndex::current(const Header& header) {
    KeptPtr found = kept(header);
    {
        const std::shared_lock lock(found->mutex);
        if (found->words.is_current(header)) return found;
    }
    std::uint64_t before = 0, after = 0;
    {
        const StemmerLoan loan(*this);  // Before the lock: mutex_ is never taken under it.
        const std::unique_lock lock(found->mutex);
        before = found->words.words().messages().size();
        PAL_CHECK(found->words.update(store_, header, *loan.stemmer));
        after = found->words.words().messages().size();
    }
    PAL_CHECK(forget_if_gone(header, found));
    weigh(header.log, found);
    const std::lock_guard lock(mutex_);
    ++updates_;
    messages_ += after - std::min(before, after);
    return found;
}

std::uint64_t StoreIndex::unembedded(const Header& header, const Kept& kept) const {
    if (!options_.embedder || kept.vectors.is_current(header, *options_.embedder)) return 0;
    const Seq upto = kept.vectors.is_of(*options_.embedder) ? kept.vectors.upto() : Seq{};
    const auto& rows = kept.words.words().messages();
    const auto from = std::ranges::upper_bound(rows, upto.value, {}, &MessageRow::seq);
    return static_cast<std::uint64_t>(rows.end() - from);
}

IndexedLog StoreIndex::facts_of(const Header& header, Kept& kept) const {
    const std::shared_lock lock(kept.mutex);
    IndexedLog facts = kept.words.facts();
    if (options_.embedder) facts.vectors = kept.vectors.rows();
    facts.unembedded = unembedded(header, kept);
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

bool StoreIndex::has_vectors(const Header& header, Kept& kept) const {
    const std::shared_lock lock(kept.mutex);
    return kept.vectors.is_current(header, *options_.embedder);
}

// What is stored of a log may be stored after remove() has been there: then it goes again.
Result<void> StoreIndex::forget_if_gone(const Header& header, const KeptPtr& kept) {
    if (!options_.keep || is_kept(header.log, kept)) return {};
    PAL_CHECK(remove_parts(store_, words_space, header.name.tenant, header.log));
    return remove_parts(store_, vectors_space, header.name.tenant, header.log);
}

Result<bool> StoreIndex::embed_page_of(const Header& header, const KeptPtr& kept) {
    const std::lock_guard one_at_a_time(kept->embedding);
    {
        const std::unique_lock lock(kept->mutex);
        const bool other_size = kept->vectors.is_sized_otherwise(*options_.embedder);
        kept->vectors.start(store_, header, *options_.embedder);
        // A second time before it is done: two models behind one name would never come to an end.
        if (other_size && std::exchange(kept->resized, !kept->resized))
            return fail(ErrorCode::upstream_failed, "the embedder " + options_.embedder->model() +
                                                        " gives vectors of different sizes");
    }
    if (has_vectors(header, *kept)) return false;
    PAL_TRY(page, kept->vectors.read_page(store_, header));
    PAL_CHECK(embed_page(*options_.embedder, page));
    {
        const std::unique_lock lock(kept->mutex);
        if (kept->vectors.is_sized_otherwise(*options_.embedder)) return true;  // Known only now.
        PAL_CHECK(kept->vectors.add(page));
        PAL_CHECK(kept->vectors.save(store_, header, false));
    }
    PAL_CHECK(forget_if_gone(header, kept));
    const std::lock_guard lock(mutex_);
    embedded_ += page.seqs.size();
    const bool more = page.upto < header.end;
    kept->resized = kept->resized && more;
    return more;
}

Result<void> StoreIndex::embed_new(const Header& header, const KeptPtr& kept,
                                   const Embedded& embedded) {
    for (bool more = !has_vectors(header, *kept); more;) {
        PAL_TRY(rest, embed_page_of(header, kept));
        more = rest;
        if (embedded) embedded(facts_of(header, *kept).unembedded);
    }
    weigh(header.log, kept);
    return {};
}

bool StoreIndex::embed_more(const Header& header) {
    const KeptPtr log = known(header.log);
    if (!log) return false;  // It made room, or is gone.
    const auto more = embed_page_of(header, log);
    if (more && *more) return true;
    weigh(header.log, log);
    const std::lock_guard lock(mutex_);
    embed_failures_ += !more.has_value();
    return false;
}

// What is stored is there without an embedder.
void StoreIndex::open_stored_vectors(const Header& header, Kept& kept) {
    const std::unique_lock one_at_a_time(kept.embedding, std::try_to_lock);
    if (!one_at_a_time) return;  // It is being done.
    const std::unique_lock lock(kept.mutex);
    kept.vectors.start(store_, header, *options_.embedder);
}

// What is new in a log is small as a rule, and then embedded at once, if that is waited for.
Result<void> StoreIndex::embed_scopes(const IndexQuery& query, const std::vector<KeptPtr>& logs,
                                      bool waits) {
    std::uint64_t room = embedded_at_once;
    for (std::size_t s = 0; s < logs.size(); ++s) {
        const Header& header = query.scopes[s].header;
        if (has_vectors(header, *logs[s])) continue;
        if (!waits) open_stored_vectors(header, *logs[s]);
        const std::uint64_t fresh = facts_of(header, *logs[s]).unembedded;
        if (fresh == 0 && !waits) continue;
        if (!waits || (options_.background && fresh > room)) {
            queue_.add({header});
            continue;
        }
        room -= std::min(room, fresh);
        const auto done = embed_new(header, logs[s], {});
        if (!done && done.error().code != ErrorCode::not_found)
            return std::unexpected(done.error());
    }
    return {};
}

// A log that is gone by now has no words.
Result<StoreIndex::KeptPtr> StoreIndex::current_or_empty(const Header& header) {
    auto found = current(header);
    if (found || found.error().code != ErrorCode::not_found) return found;
    return std::make_shared<Kept>(false);
}

Result<StoreIndex::Opened> StoreIndex::open(const IndexQuery& query, bool waits) {
    Opened opened;
    {
        const std::lock_guard lock(mutex_);
        opened.dropped_before = dropped_;
    }
    for (const IndexScope& scope : query.scopes) {
        PAL_TRY(found, current_or_empty(scope.header));
        opened.logs.push_back(std::move(found));
    }
    if (query.mode != SearchMode::lexical) PAL_CHECK(embed_scopes(query, opened.logs, waits));
    // In one order, whatever that of the scopes: two searches must not wait for each other.
    std::set<std::shared_mutex*> mutexes;
    for (const KeptPtr& log : opened.logs) mutexes.insert(&log->mutex);
    for (std::shared_mutex* const mutex : mutexes) opened.locks.emplace_back(*mutex);
    for (std::size_t s = 0; s < opened.logs.size(); ++s)
        opened.scopes.push_back({&opened.logs[s]->words.words(), query.scopes[s].upto, {}, {}});
    return opened;
}

Result<std::vector<IndexHit>> StoreIndex::search(const IndexQuery& query) {
    PAL_TRY(found, answer(query, {}));
    return std::move(found.hits);
}

Result<IndexAnswer> StoreIndex::answer(const IndexQuery& query, QueryEmbedder::Patience patience) {
    // What has no word asks for nothing, whatever an embedder makes of it.
    if (query.limit == 0 || split_words(query.text).empty()) return IndexAnswer();
    std::vector<float> asked;
    if (query.mode != SearchMode::lexical) {
        if (!options_.embedder)
            return fail(ErrorCode::unprocessable, "there is no embedder to search by vectors",
                        "mode");
        PAL_TRY(made, asker_.embed(query.text, patience));
        asked = std::move(made);
    }
    PAL_TRY(opened, open(query, !patience));
    opened.filter = filter_of(query, opened.scopes);
    {
        const std::lock_guard lock(mutex_);
        ++searches_;
    }
    if (query.mode == SearchMode::lexical) return IndexAnswer{search_words(query, opened), 0};
    IndexAnswer found;
    for (std::size_t s = 0; s < opened.logs.size(); ++s)
        found.unembedded += unembedded(query.scopes[s].header, *opened.logs[s]);
    const NearRows near = near_rows(query, asked, opened);
    for (std::size_t s = 0; s < opened.scopes.size(); ++s) {
        opened.scopes[s].vectors = near.rows[s];
        opened.scopes[s].spread = near.spreads[s];
    }
    found.hits = query.mode == SearchMode::vector ? search_vectors(query, near, opened)
                                                  : search_words(query, opened);
    return found;
}

SearchQuery StoreIndex::words_of(const IndexQuery& query, const Opened& opened) {
    Languages languages = 0;
    for (const RankScope& scope : opened.scopes) languages |= scope.words->languages();
    Stemmer stemmer;
    return read_query(query.text, languages, stemmer);
}

std::vector<IndexHit> StoreIndex::search_words(const IndexQuery& query,
                                               const Opened& opened) const {
    const SearchQuery asked = words_of(query, opened);
    // What says nothing that is searched is not shown for its neighbours either.
    const RowFilter filter = [&](std::size_t scope, const MessageRow& row) {
        return row.words > 0 && (!opened.filter || opened.filter(scope, row));
    };
    std::vector<IndexHit> hits;
    for (const Ranked& one : rank(opened.scopes, asked, filter, query.limit))
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

std::vector<IndexHit> StoreIndex::search_vectors(const IndexQuery& query, const NearRows& near,
                                                 const Opened& opened) const {
    std::vector<IndexHit> hits;
    for (std::size_t s = 0; s < opened.logs.size(); ++s) {
        const auto& messages = opened.scopes[s].words->messages();
        for (std::size_t m = 0; m < near.rows[s].size(); ++m) {
            const VectorRow& row = near.rows[s][m];
            if (row.cosine < -1 || messages[m].words == 0) continue;
            if (opened.filter && !opened.filter(s, messages[m])) continue;
            hits.push_back(
                {s, Seq{messages[m].seq}, row.passage, row.cosine, {{"vector", row.cosine}}});
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
    GraphPtr graph;
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = graphs_.find(tenant); known != graphs_.end()) graph = known->second;
        if (const auto known = by_log_.find(log); known != by_log_.end()) {
            bytes_ -= known->second->kept->bytes;
            order_.erase(known->second);
            by_log_.erase(known);
        }
    }
    if (graph) graph->remove(log);
    if (!options_.keep) return {};
    PAL_CHECK(remove_parts(store_, words_space, tenant, log));
    return remove_parts(store_, vectors_space, tenant, log);
}

std::string StoreIndex::metrics() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    const auto row = [&](std::string_view name, std::string_view kind, std::string_view help,
                         std::uint64_t value) {
        const std::string own(name);
        out += "# HELP " + own + " " + std::string(help) + "\n# TYPE " + own + " " +
               std::string(kind) + "\n" + own + " " + std::to_string(value) + "\n";
    };
    row("memory_search_total", "counter", "Searches.", searches_);
    row("memory_search_indexed_messages_total", "counter", "Messages that were put into an index.",
        messages_);
    row("memory_search_updates_total", "counter", "Indexes of a log that were brought up to date.",
        updates_);
    row("memory_search_embedded_total", "counter", "Messages that were given vectors.", embedded_);
    row("memory_search_embed_failures_total", "counter", "Times that the embedder failed.",
        embed_failures_);
    row("memory_search_logs_to_embed", "gauge", "Logs that wait for their vectors.",
        queue_.waiting());
    row("memory_search_logs", "gauge", "Indexes of logs that are held in memory.", order_.size());
    row("memory_search_bytes", "gauge", "Memory that they take, with the graphs.",
        bytes_ + graph_bytes());
    row("memory_search_dropped_total", "counter", "Indexes that were dropped to make room.",
        dropped_);
    std::size_t graph_rows = 0;
    for (const auto& [tenant, graph] : graphs_) graph_rows += graph->rows();
    row("memory_search_graph_vectors", "gauge", "Vectors in the graphs of near neighbours.",
        graph_rows);
    row("memory_search_graph_searches_total", "counter", "Searches that went by a graph.",
        graph_searches_);
    return out;
}

}  // namespace palimpsest
