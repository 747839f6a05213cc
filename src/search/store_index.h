// The index of every store: the words of each log (log_words.h), ranked by the one scorer
// (core/rank.h). So all stores rank alike.
//
// At most so many logs are in memory, the ones that were not searched for longest go first. A log
// has a lock of its own: updates of it exclude each other and searches of it, nothing else. While
// texts are turned into vectors only other threads that would do the same wait. No thread waits for
// one lock while it holds another, but searches, which only read, and embedders of a log, who take
// its lock for a moment.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "search/embed_queue.h"
#include "search/log_vectors.h"
#include "search/log_words.h"

namespace palimpsest {

struct IndexOptions {
    std::size_t logs_max = 1000;
    std::size_t bytes_max = 512u << 20;
    bool keep = true;                         // also as records of the store
    std::shared_ptr<Embedder> embedder = {};  // null: words only
    // Much that is not embedded yet is left to a thread, and searches go on with what is there.
    // False: a search embeds all that it needs.
    bool background = false;
};

class StoreIndex final : public MessageIndex {
public:
    StoreIndex(Store& store, IndexOptions options)
        : store_(store),
          options_(std::move(options)),
          queue_([this](const Header& header) { return embed_more(header); }) {}

    Result<IndexedLog> update(const Header& header) override;
    Result<std::vector<IndexHit>> search(const IndexQuery& query) override;
    Result<void> remove(const std::string& tenant, const LogId& log) override;
    std::string metrics() const override;
    // Also writes what is kept of it. `embedded` is told how many messages of the log are done.
    using Embedded = std::function<void(std::uint64_t messages)>;
    Result<IndexedLog> rebuild(const Header& header, bool from_scratch, const Embedded& embedded);

private:
    struct Kept {
        explicit Kept(bool keep) : words(keep), vectors(keep) {}
        std::mutex embedding;     // Held while texts become vectors, and taken before `mutex`.
        std::shared_mutex mutex;  // Guards both below.
        LogWords words;
        LogVectors vectors;
        std::size_t bytes = 0;
    };
    using KeptPtr = std::shared_ptr<Kept>;
    struct Row {
        LogId log = {};
        KeptPtr kept = {};
    };
    struct Hash {
        std::size_t operator()(const LogId& log) const;
    };
    KeptPtr kept(const LogId& log);
    Result<KeptPtr> current(const Header& header);
    // One page of what is new in a log. True: there is more.
    Result<bool> embed_page_of(const Header& header, Kept& kept);
    Result<void> embed_new(const Header& header, const KeptPtr& kept, const Embedded& embedded);
    Result<void> embed_scopes(const IndexQuery& query, const std::vector<KeptPtr>& logs);
    bool embed_more(const Header& header);
    bool has_vectors(const Header& header, Kept& kept) const;
    IndexedLog facts_of(const Header& header, Kept& kept) const;
    struct Opened;  // the logs of one search
    std::vector<IndexHit> search_words(const IndexQuery& query, const Opened& opened) const;
    std::vector<IndexHit> search_vectors(const IndexQuery& query, std::span<const float> asked,
                                         const Opened& opened) const;
    Result<std::vector<float>> embed_query(const std::string& query);
    void weigh(const LogId& log, const KeptPtr& kept);

    Store& store_;
    IndexOptions options_;
    mutable std::mutex mutex_;  // Guards all below.
    std::list<Row> order_;      // the one that was used last comes first
    std::unordered_map<LogId, std::list<Row>::iterator, Hash> by_log_;
    std::size_t bytes_ = 0;
    std::uint64_t embedded_ = 0, embed_failures_ = 0;
    std::uint64_t searches_ = 0, updates_ = 0, dropped_ = 0, messages_ = 0;
    EmbedQueue queue_;  // The last: it ends first.
};

}  // namespace palimpsest
