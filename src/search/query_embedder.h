// Turns what is searched for into a vector, for those who cannot wait as well.
//
// An embedder that takes longer than it may is not waited for: it ends on a thread of its own,
// which the end of this object waits for. At most so many are out at a time.
#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/search.h"

namespace palimpsest {

// So long a turn waits for the vector of its question; then words alone must do.
constexpr std::chrono::milliseconds turn_patience{1000};

class QueryEmbedder {
public:
    using Patience = std::optional<std::chrono::milliseconds>;  // none: as long as it takes
    using Vector = std::vector<float>;

    explicit QueryEmbedder(std::shared_ptr<Embedder> embedder) : embedder_(std::move(embedder)) {}
    QueryEmbedder(const QueryEmbedder&) = delete;
    QueryEmbedder& operator=(const QueryEmbedder&) = delete;
    ~QueryEmbedder();

    // A vector of unit length. `unavailable` when it was not there in time.
    Result<Vector> embed(const std::string& text, Patience patience);

private:
    struct Asked {
        std::string text = {};
        std::optional<Result<Vector>> made = {};
    };
    Result<Vector> embed_now(const std::string& text) const;
    bool start(const std::shared_ptr<Asked>& asked);  // Under the lock.

    std::shared_ptr<Embedder> embedder_;
    std::mutex mutex_;  // Guards all below, and what is asked.
    std::condition_variable changed_;
    std::size_t out_ = 0;
};

}  // namespace palimpsest
