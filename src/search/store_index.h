// The index of every store: the words of each log (log_words.h), ranked by the one scorer
// (core/rank.h). So all stores rank alike.
//
// At most so many logs are in memory, the ones that were not searched for longest go first. A log
// has a lock of its own: updates of it exclude each other and searches of it, nothing else. While
// texts are turned into vectors only other threads that would do the same wait. No thread waits for
// one lock while it holds another, but searches, which only read, and embedders of a log, who take
// its lock for a moment.
//
// Scopes of many vectors are searched by a graph for each tenant (tenant_graph.h), which a thread
// makes of the logs in memory when such a scope is first searched, and keeps in step. Until it is
// there, and whenever it does not fit, every vector is looked at. It counts to what is in memory
// and is the first to go. Nothing of it is stored.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "search/log_vectors.h"
#include "search/log_words.h"
#include "search/near_rows.h"
#include "search/query_embedder.h"
#include "search/work_queue.h"

namespace palimpsest {

struct IndexOptions {
    std::size_t logs_max = 1000;
    std::size_t bytes_max = 512u << 20;
    bool keep = true;                         // also as records of the store
    std::shared_ptr<Embedder> embedder = {};  // null: words only
    // Much that is not embedded yet is left to a thread, and searches go on with what is there.
    // False: a search embeds all that it needs.
    bool background = false;
    // Scopes of so many vectors and more are searched by a graph, if there is a background.
    std::size_t graph_rows = graph_rows_min;
};

struct IndexAnswer {
    std::vector<IndexHit> hits = {};
    std::uint64_t unembedded = 0;  // messages that were compared by their words alone, about
};

class StoreIndex final : public MessageIndex {
public:
    StoreIndex(Store& store, IndexOptions options)
        : store_(store),
          options_(std::move(options)),
          asker_(options_.embedder),
          queue_([this](const LogToEmbed& job) { return embed_more(job.header); }),
          graph_queue_([this](const GraphToGrow& job) { return grow_graph(job.tenant); }) {}

    Result<IndexedLog> update(const Header& header) override;
    Result<std::vector<IndexHit>> search(const IndexQuery& query) override;
    // With a patience, passages that have no vector yet are left to a thread and are found by their
    // words, and `unavailable` says that the query's vector was not there in time.
    Result<IndexAnswer> answer(const IndexQuery& query, QueryEmbedder::Patience patience);
    Result<void> remove(const std::string& tenant, const LogId& log) override;
    std::string metrics() const override;
    // Also writes what is kept of it. `embedded` is told how many messages of the log are done.
    using Embedded = std::function<void(std::uint64_t messages)>;
    Result<IndexedLog> rebuild(const Header& header, bool from_scratch, const Embedded& embedded);

private:
    struct Kept {
        explicit Kept(bool keep) : words(keep), vectors(keep) {}
        std::mutex embedding;     // Held while texts become vectors, and taken before `mutex`.
        bool resized = false;     // Under it: vectors were begun anew in another size.
        std::shared_mutex mutex;  // Guards both below.
        LogWords words;
        LogVectors vectors;
        std::size_t bytes = 0;
    };
    using KeptPtr = std::shared_ptr<Kept>;
    struct Row {
        LogId log = {};
        std::string tenant = {};
        KeptPtr kept = {};
    };
    struct LogToEmbed {
        Header header = {};
        bool is_same(const LogToEmbed& other) const { return header.log == other.header.log; }
        bool covers(const LogToEmbed& other) const { return header.end >= other.header.end; }
    };
    struct GraphToGrow {
        std::string tenant = {};
        bool is_same(const GraphToGrow& other) const { return tenant == other.tenant; }
        bool covers(const GraphToGrow&) const { return false; }
    };
    using GraphPtr = std::shared_ptr<TenantGraph>;
    struct StemmerLoan;
    KeptPtr kept(const Header& header);
    KeptPtr known(const LogId& log) const;  // none when it is not in memory
    Result<KeptPtr> current(const Header& header);
    Result<KeptPtr> current_or_empty(const Header& header);
    // One page of what is new in a log. True: there is more.
    Result<bool> embed_page_of(const Header& header, const KeptPtr& kept);
    Result<void> forget_if_gone(const Header& header, const KeptPtr& kept);
    Result<void> embed_new(const Header& header, const KeptPtr& kept, const Embedded& embedded);
    Result<void> embed_scopes(const IndexQuery& query, const std::vector<KeptPtr>& logs,
                              bool waits);
    bool embed_more(const Header& header);
    void open_stored_vectors(const Header& header, Kept& kept);
    bool has_vectors(const Header& header, Kept& kept) const;
    IndexedLog facts_of(const Header& header, Kept& kept) const;
    std::uint64_t unembedded(const Header& header, const Kept& kept) const;  // Under its lock.
    // Reading locks on all logs of a search, and what is asked of each.
    struct Opened {
        std::uint64_t dropped_before = 0;
        std::vector<KeptPtr> logs = {};
        std::vector<std::shared_lock<std::shared_mutex>> locks = {};
        std::vector<RankScope> scopes = {};
        RowFilter filter = {};  // refers to the scopes
    };
    static SearchQuery words_of(const IndexQuery& query, const Opened& opened);
    Result<Opened> open(const IndexQuery& query, bool waits);
    std::vector<IndexHit> search_words(const IndexQuery& query, const Opened& opened) const;
    std::vector<IndexHit> search_vectors(const IndexQuery& query, const NearRows& near,
                                         const Opened& opened) const;
    NearRows near_rows(const IndexQuery& query, std::span<const float> asked, const Opened& opened);
    bool ask_graph(const IndexQuery& query, const Opened& opened, GraphSearch& search);
    bool grow_graph(const std::string& tenant);
    // With room for so many rows more, or none.
    GraphPtr graph_to_grow(const std::string& tenant, std::size_t dimension, std::size_t rows);
    static std::vector<float> rows_to_add(const TenantGraph& graph, Kept& kept,
                                          GraphSource& source);
    bool is_kept(const LogId& log, const KeptPtr& kept) const { return known(log) == kept; }
    std::size_t graph_bytes() const;  // Under mutex_.
    void weigh(const LogId& log, const KeptPtr& kept);

    Store& store_;
    IndexOptions options_;
    mutable std::mutex mutex_;  // Guards all below.
    std::unique_ptr<Stemmer> spare_stemmer_;
    std::list<Row> order_;  // the one that was used last comes first
    std::unordered_map<LogId, std::list<Row>::iterator, LogHash> by_log_;
    std::map<std::string, GraphPtr> graphs_;  // by tenant
    std::size_t bytes_ = 0;
    std::uint64_t embedded_ = 0, embed_failures_ = 0;
    std::uint64_t searches_ = 0, updates_ = 0, dropped_ = 0, messages_ = 0;
    std::uint64_t graph_searches_ = 0;
    QueryEmbedder asker_;
    WorkQueue<LogToEmbed> queue_;  // The last, with the next: they end first.
    WorkQueue<GraphToGrow> graph_queue_;
};

}  // namespace palimpsest
