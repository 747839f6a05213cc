// Two walks over the postings. The first counts: how many passages and stretches have a word is
// known only when all logs of the scope were seen. The second scores each log for itself.
#include "core/rank.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/quotes.h"

namespace palimpsest {
namespace {

struct Totals {
    double passages = 0, stretches = 0, words = 0;
    std::vector<double> in_passages = {}, in_stretches = {};  // by asked word
};

double rarity(double all, double having) {
    return std::log(1 + (all - having + 0.5) / (having + 0.5));
}
double saturated(double count, double k1, double norm) {
    return count * (k1 + 1) / (count + k1 * norm);
}

// The passages that have any of the terms, ascending. One word may be there by two of its terms.
std::vector<Hit> hits_of(const WordIndex& index, const AskedWord& word) {
    std::vector<PostingList> lists;
    for (const std::string& term : word.terms) index.find(term, lists);
    std::vector<Hit> hits;
    std::size_t all = 0;
    for (const PostingList& list : lists) all += list.passages;
    hits.reserve(all);
    const std::size_t passages = index.passages().size();
    bool sorted = true;
    for (const PostingList& list : lists)
        scan_postings(list.bytes, [&](const Posting& posting) {
            if (posting.passage >= passages) return;
            sorted = sorted && (hits.empty() || hits.back().passage < posting.passage);
            hits.push_back({posting.passage, posting.count});
        });
    if (sorted) return hits;
    std::ranges::sort(hits, {}, &Hit::passage);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < hits.size(); ++i)
        if (hits[i].passage == hits[kept].passage)
            hits[kept].count = std::max(hits[kept].count, hits[i].count);
        else
            hits[++kept] = hits[i];
    hits.resize(kept + 1);
    return hits;
}

bool is_description(const SearchQuery& query, std::ptrdiff_t words) {
    return query.quotes.empty() &&
           std::ranges::count(query.words, false, &AskedWord::common) >= words;
}

// Best first; of equals the newer.
bool is_better(const Ranked& a, const Ranked& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::tuple(a.scope, b.seq) < std::tuple(b.scope, a.seq);
}

// The best so many of all that are offered.
class BestOnes {
public:
    explicit BestOnes(std::size_t limit) : limit_(limit) {}
    bool has_room_for(const Ranked& one) const {
        return heap_.size() < limit_ || is_better(one, heap_.front());
    }
    void add(const Ranked& one) {
        if (heap_.size() == limit_) {
            std::ranges::pop_heap(heap_, is_better);
            heap_.pop_back();
        }
        heap_.push_back(one);
        std::ranges::push_heap(heap_, is_better);
    }
    std::vector<Ranked> take() {
        std::ranges::sort_heap(heap_, is_better);
        return std::move(heap_);
    }

private:
    std::size_t limit_;
    std::vector<Ranked> heap_;  // the worst of them in front
};

// How near all messages of the scope are, so that one can be told to be nearer than they.
class Closeness {
public:
    explicit Closeness(std::span<const RankScope> scopes) {
        VectorSpread all;
        for (const RankScope& scope : scopes) {
            all.count += scope.spread.count;
            all.sum += scope.spread.sum;
            all.squares += scope.spread.squares;
        }
        for (const RankScope& scope : all.count > 0 ? scopes.first(0) : scopes)
            for (const VectorRow& row : scope.vectors)
                if (row.cosine >= -1) all.add(row.cosine);
        count_ = all.count;
        if (count_ == 0) return;
        mean_ = all.sum / count_;
        deviation_ = std::sqrt(std::max(all.squares / count_ - mean_ * mean_, 0.0));
    }
    bool known() const { return count_ > 0; }
    // In deviations above the mean; of messages that are all alike each is as near as one can be.
    double above(float cosine) const {
        if (cosine < -1) return 0;
        return deviation_ < 1e-6 ? 1 : std::max((cosine - mean_) / deviation_, 0.0);
    }

private:
    double count_ = 0, mean_ = 0, deviation_ = 0;
};

// Room for the scores of one log, used for one after the other: what was touched is made 0 again,
// so that a log costs what was found in it and not its length.
struct Workspace {
    std::vector<double> own = {};                             // by passage
    std::vector<std::pair<double, std::uint32_t>> best = {};  // by message: score and passage
    std::vector<double> vector = {};                          // by message: its part of the score
    std::vector<double> stretch = {};
    std::vector<std::uint32_t> passages = {}, messages = {};  // that were touched
};

// One log's scores.
class LogScores {
public:
    LogScores(const WordIndex& index, const SearchQuery& query, const RankWeights& weights)
        : index_(&index), query_(&query), weights_(&weights) {
        for (const AskedWord& word : query.words) hits_.push_back(hits_of(index, word));
    }

    bool empty() const {
        return std::ranges::all_of(hits_, [](const auto& hits) { return hits.empty(); });
    }

    void count(Totals& totals) const {
        for (std::size_t w = 0; w < hits_.size(); ++w) {
            totals.in_passages[w] += static_cast<double>(hits_[w].size());
            std::uint32_t last = UINT32_MAX;
            for (const Hit& hit : hits_[w])
                if (const std::uint32_t now = stretch_of(hit.passage); now != last) {
                    totals.in_stretches[w] += 1;
                    last = now;
                }
        }
    }

    void score(const Totals& totals, Workspace& room) const {
        room.own.resize(std::max(room.own.size(), index_->passages().size()));
        room.best.resize(std::max(room.best.size(), index_->messages().size()));
        room.vector.resize(room.best.size());
        room.stretch.assign(index_->stretches().size(), 0);
        const double mean = std::max(totals.words / std::max(totals.passages, 1.0), 1.0);
        const double mean_stretch = std::max(totals.words / std::max(totals.stretches, 1.0), 1.0);
        for (std::size_t w = 0; w < hits_.size(); ++w) {
            const AskedWord& word = query_->words[w];
            const double weight = word.weight * (word.common ? weights_->common : 1);
            if (weight == 0) continue;
            score_passages(hits_[w], weight * rarity(totals.passages, totals.in_passages[w]), mean,
                           room);
            score_stretches(hits_[w], weight * rarity(totals.stretches, totals.in_stretches[w]),
                            mean_stretch, room);
        }
        std::ranges::sort(room.passages);
        if (!query_->quotes.empty()) keep_quotes(room);
        best_passages(room);
    }

    void weigh_stretches(Workspace& room) const {
        for (double& stretch : room.stretch) stretch *= weights_->stretch;
    }

    // Adds what each message gains by its vector, and what its stretch has of the best of them.
    void add_vectors(std::span<const VectorRow> rows, const Closeness& all, double scale,
                     Workspace& room) const {
        const std::size_t before = room.messages.size();
        for (std::uint32_t m = 0; m < rows.size(); ++m) {
            const double gain = scale * all.above(rows[m].cosine);
            if (gain <= 0) continue;
            if (room.best[m].first == 0) {
                room.best[m].second = rows[m].passage;
                room.messages.push_back(m);
            }
            room.best[m].first += gain;
            room.vector[m] = gain;
        }
        std::inplace_merge(room.messages.begin(),
                           room.messages.begin() + static_cast<std::ptrdiff_t>(before),
                           room.messages.end());
        std::vector<double> best(room.stretch.size());
        for (const std::uint32_t m : room.messages) {
            double& most = best[index_->messages()[m].stretch];
            most = std::max(most, room.best[m].first);
        }
        for (std::size_t s = 0; s < best.size(); ++s)
            room.stretch[s] =
                weights_->vector_stretch * room.stretch[s] + weights_->vector_best * best[s];
    }

    static double best_of(const Workspace& room) {
        double best = 0;
        for (const std::uint32_t m : room.messages) best = std::max(best, room.best[m].first);
        return best;
    }

    void collect(std::uint32_t scope, Seq upto, bool neighbours, const RowFilter& filter,
                 const Workspace& room, BestOnes& out) const {
        const double prior = weights_->prior * std::clamp((index_->verbosity() - 1) / 4, 0.0, 1.0);
        const auto& messages = index_->messages();
        std::size_t next = 0;  // Every message once, in order.
        for (const std::uint32_t touched : room.messages) {
            const std::size_t reach = neighbours ? 2 : 0;
            const std::size_t from = std::max(next, touched < reach ? 0 : touched - reach);
            const std::size_t to = std::min(touched + reach + 1, messages.size());
            for (std::size_t m = from; m < to && messages[m].seq <= upto.value; ++m) {
                const Ranked ranked = ranked_message(scope, m, prior, room);
                if (ranked.score <= 0 || !out.has_room_for(ranked)) continue;
                if (!filter || filter(scope, messages[m])) out.add(ranked);
            }
            next = std::max(next, to);
        }
    }

    static void clear(Workspace& room) {
        for (const std::uint32_t passage : room.passages) room.own[passage] = 0;
        for (const std::uint32_t message : room.messages) {
            room.best[message] = {0, 0};
            room.vector[message] = 0;
        }
        room.passages.clear();
        room.messages.clear();
    }

private:
    std::uint32_t stretch_of(std::uint32_t passage) const {
        return index_->messages()[index_->passages()[passage].message].stretch;
    }

    void score_passages(const std::vector<Hit>& hits, double rare, double mean,
                        Workspace& room) const {
        const double k1 = weights_->k1, b = weights_->b;
        for (const Hit& hit : hits) {
            double& own = room.own[hit.passage];
            if (own == 0) room.passages.push_back(hit.passage);
            own += rare * saturated(hit.count, k1,
                                    1 - b + b * index_->passages()[hit.passage].words / mean);
        }
    }

    void score_stretches(const std::vector<Hit>& hits, double rare, double mean,
                         Workspace& room) const {
        const double b = weights_->stretch_b;
        for (std::size_t i = 0; i < hits.size();) {
            const std::uint32_t stretch = stretch_of(hits[i].passage);
            double count = 0;
            for (; i < hits.size() && stretch_of(hits[i].passage) == stretch; ++i)
                count += hits[i].count;
            room.stretch[stretch] +=
                rare *
                saturated(count, weights_->k1, 1 - b + b * index_->stretches()[stretch] / mean);
        }
    }

    void keep_quotes(Workspace& room) const {
        const std::vector<std::uint32_t> having = messages_with(*index_, query_->quotes);
        for (const std::uint32_t passage : room.passages)
            if (!std::ranges::binary_search(having, index_->passages()[passage].message))
                room.own[passage] = 0;
    }

    void best_passages(Workspace& room) const {
        for (const std::uint32_t p : room.passages) {
            if (room.own[p] <= 0) continue;
            const std::uint32_t m = index_->passages()[p].message;
            if (room.messages.empty() || room.messages.back() != m) room.messages.push_back(m);
            if (room.own[p] > room.best[m].first)
                room.best[m] = {room.own[p], p - index_->messages()[m].first_passage};
        }
    }

    // What a neighbour has to lend.
    double best_at(std::size_t m, std::ptrdiff_t away, const Workspace& room) const {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(m) + away;
        if (at < 0 || at >= static_cast<std::ptrdiff_t>(index_->messages().size())) return 0;
        const auto place = static_cast<std::size_t>(at);
        return room.best[place].first - (1 - weights_->vector_near) * room.vector[place];
    }

    Ranked ranked_message(std::uint32_t scope, std::size_t m, double prior,
                          const Workspace& room) const {
        const MessageRow& row = index_->messages()[m];
        Ranked ranked{scope, static_cast<std::uint32_t>(m), room.best[m].second, {row.seq}, {}, 0};
        ranked.parts.vector = room.vector[m];
        ranked.parts.own = room.best[m].first - room.vector[m];
        ranked.parts.near = weights_->near * std::max(best_at(m, -1, room), best_at(m, 1, room)) +
                            weights_->far * std::max(best_at(m, -2, room), best_at(m, 2, room));
        ranked.parts.stretch = room.stretch[row.stretch];
        if (static_cast<Role>(row.role) == Role::user)
            ranked.parts.prior =
                prior / (1 + row.words / weights_->prior_words) * ranked.parts.sum();
        ranked.score = ranked.parts.sum();
        return ranked;
    }

    const WordIndex* index_;
    const SearchQuery* query_;
    const RankWeights* weights_;
    std::vector<std::vector<Hit>> hits_;  // by asked word
};

// What the best message of all has by its words.
double best_by_words(const std::vector<std::pair<std::uint32_t, LogScores>>& logs,
                     const Totals& totals, Workspace& room) {
    double best = 0;
    for (const auto& [scope, scores] : logs) {
        scores.score(totals, room);
        best = std::max(best, LogScores::best_of(room));
        LogScores::clear(room);
    }
    return best;
}

}  // namespace

std::vector<Ranked> rank(std::span<const RankScope> scopes, const SearchQuery& query,
                         const RowFilter& filter, std::size_t limit, const RankWeights& weights) {
    const Closeness closeness(scopes);
    if ((query.empty() && !closeness.known()) || limit == 0) return {};
    BestOnes found(limit);
    Totals totals;
    totals.in_passages.resize(query.words.size());
    totals.in_stretches.resize(query.words.size());
    std::vector<std::pair<std::uint32_t, LogScores>> logs;
    for (std::uint32_t s = 0; s < scopes.size(); ++s) {
        const WordIndex& index = *scopes[s].words;
        totals.passages += static_cast<double>(index.passages().size());
        totals.stretches += static_cast<double>(index.stretches().size());
        totals.words += static_cast<double>(index.words());
        LogScores scores(index, query, weights);
        if (scores.empty() && scopes[s].vectors.empty()) continue;
        scores.count(totals);
        logs.emplace_back(s, std::move(scores));
    }
    Workspace room;
    const double best = closeness.known() ? best_by_words(logs, totals, room) : 0;
    const bool described = is_description(query, weights.description_words) || closeness.known();
    for (const auto& [scope, scores] : logs) {
        scores.score(totals, room);
        if (closeness.known())
            scores.add_vectors(scopes[scope].vectors, closeness,
                               weights.vector * (best > 0 ? best : 1), room);
        else
            scores.weigh_stretches(room);
        scores.collect(scope, scopes[scope].upto, described, filter, room, found);
        LogScores::clear(room);
    }
    return found.take();
}

}  // namespace palimpsest
