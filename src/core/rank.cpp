// Two walks over the postings. The first counts: how many passages and stretches have a word is
// known only when all logs of the scope were seen. The second scores each log for itself.
#include "core/rank.h"

#include <algorithm>
#include <cmath>
#include <tuple>

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

// The passages that have any of the terms, ascending.
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
        scan_postings(list.bytes, [&](std::uint32_t passage, std::size_t, std::uint32_t count) {
            if (passage >= passages) return;
            sorted = sorted && (hits.empty() || hits.back().passage < passage);
            hits.push_back({passage, count});
        });
    if (sorted) return hits;
    std::ranges::sort(hits, {}, &Hit::passage);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < hits.size(); ++i)
        if (hits[i].passage == hits[kept].passage)
            hits[kept].count += hits[i].count;
        else
            hits[++kept] = hits[i];
    hits.resize(kept + 1);
    return hits;
}

// The places of one passage's words, ascending.
std::vector<std::uint32_t> places_in(const WordIndex& index, const AskedWord& word,
                                     std::uint32_t wanted) {
    std::vector<std::uint32_t> places;
    std::vector<PostingList> lists;
    for (const std::string& term : word.terms) index.find(term, lists);
    for (const PostingList& list : lists)
        scan_postings(list.bytes, [&](std::uint32_t passage, std::size_t at, std::uint32_t count) {
            if (passage != wanted) return;
            std::uint32_t place = 0;
            for (std::uint32_t i = 0; i < count && at < list.bytes.size(); ++i)
                places.push_back(place += read_number(list.bytes, at));
        });
    std::ranges::sort(places);
    return places;
}

bool has_quote(const WordIndex& index, const std::vector<AskedWord>& quote, std::uint32_t passage) {
    std::vector<std::uint32_t> ends = places_in(index, quote.front(), passage);
    for (std::size_t w = 1; w < quote.size() && !ends.empty(); ++w) {
        const std::vector<std::uint32_t> places = places_in(index, quote[w], passage);
        std::vector<std::uint32_t> next;
        for (const std::uint32_t end : ends)
            if (std::ranges::binary_search(places, end + 1)) next.push_back(end + 1);
        ends = std::move(next);
    }
    return !ends.empty();
}

bool is_description(const SearchQuery& query, std::ptrdiff_t words) {
    return query.quotes.empty() &&
           std::ranges::count(query.words, false, &AskedWord::common) >= words;
}

// One log's scores.
class LogScores {
public:
    LogScores(const WordIndex& index, const SearchQuery& query, const RankWeights& weights)
        : index_(index), query_(query), weights_(weights) {
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

    void score(const Totals& totals) {
        own_.assign(index_.passages().size(), 0);
        stretch_.assign(index_.stretches().size(), 0);
        const double mean = std::max(totals.words / std::max(totals.passages, 1.0), 1.0);
        const double mean_stretch = std::max(totals.words / std::max(totals.stretches, 1.0), 1.0);
        for (std::size_t w = 0; w < hits_.size(); ++w) {
            const AskedWord& word = query_.words[w];
            const double weight = word.weight * (word.common ? weights_.common : 1);
            if (weight == 0) continue;
            const double rare = weight * rarity(totals.passages, totals.in_passages[w]);
            for (const Hit& hit : hits_[w])
                own_[hit.passage] +=
                    rare * saturated(hit.count, weights_.k1,
                                     1 - weights_.b +
                                         weights_.b * index_.passages()[hit.passage].words / mean);
            score_stretches(hits_[w], weight * rarity(totals.stretches, totals.in_stretches[w]),
                            mean_stretch);
        }
        prior_ = weights_.prior * std::clamp((index_.verbosity() - 1) / 4, 0.0, 1.0);
        if (!query_.quotes.empty()) keep_quotes();
        best_passages();
    }

    void collect(std::uint32_t scope, Seq upto, bool neighbours, const RowFilter& filter,
                 std::vector<Ranked>& out) const {
        const auto& messages = index_.messages();
        for (std::size_t m = 0; m < messages.size() && messages[m].seq <= upto.value; ++m) {
            if (best_[m].first <= 0 && (!neighbours || !stands_near(m))) continue;
            const Ranked ranked = ranked_message(scope, m);
            if (ranked.score <= 0) continue;
            if (filter && !filter(scope, messages[m])) continue;
            out.push_back(ranked);
        }
    }

private:
    std::uint32_t stretch_of(std::uint32_t passage) const {
        return index_.messages()[index_.passages()[passage].message].stretch;
    }

    void score_stretches(const std::vector<Hit>& hits, double rare, double mean) {
        for (std::size_t i = 0; i < hits.size();) {
            const std::uint32_t stretch = stretch_of(hits[i].passage);
            double count = 0;
            for (; i < hits.size() && stretch_of(hits[i].passage) == stretch; ++i)
                count += hits[i].count;
            stretch_[stretch] +=
                rare * saturated(count, weights_.k1,
                                 1 - weights_.stretch_b +
                                     weights_.stretch_b * index_.stretches()[stretch] / mean);
        }
    }

    void keep_quotes() {
        for (std::uint32_t p = 0; p < own_.size(); ++p) {
            if (own_[p] <= 0) continue;
            for (const auto& quote : query_.quotes)
                if (!has_quote(index_, quote, p)) own_[p] = 0;
        }
    }

    void best_passages() {
        best_.assign(index_.messages().size(), {0, 0});
        for (std::uint32_t p = 0; p < own_.size(); ++p) {
            if (own_[p] <= 0) continue;
            const std::uint32_t m = index_.passages()[p].message;
            if (own_[p] > best_[m].first)
                best_[m] = {own_[p], p - index_.messages()[m].first_passage};
        }
    }

    double best_at(std::size_t m, std::ptrdiff_t away) const {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(m) + away;
        if (at < 0 || at >= static_cast<std::ptrdiff_t>(best_.size())) return 0;
        return best_[static_cast<std::size_t>(at)].first;
    }

    bool stands_near(std::size_t m) const {
        for (const std::ptrdiff_t away : {-2, -1, 1, 2})
            if (best_at(m, away) > 0) return true;
        return false;
    }

    Ranked ranked_message(std::uint32_t scope, std::size_t m) const {
        const MessageRow& row = index_.messages()[m];
        Ranked ranked{scope, static_cast<std::uint32_t>(m), best_[m].second, {row.seq}, {}, 0};
        ranked.parts.own = best_[m].first;
        ranked.parts.near = weights_.near * std::max(best_at(m, -1), best_at(m, 1)) +
                            weights_.far * std::max(best_at(m, -2), best_at(m, 2));
        ranked.parts.stretch = weights_.stretch * stretch_[row.stretch];
        if (static_cast<Role>(row.role) == Role::user)
            ranked.parts.prior =
                prior_ / (1 + row.words / weights_.prior_words) * ranked.parts.sum();
        ranked.score = ranked.parts.sum();
        return ranked;
    }

    const WordIndex& index_;
    const SearchQuery& query_;
    const RankWeights& weights_;
    std::vector<std::vector<Hit>> hits_;  // by asked word
    std::vector<double> own_;             // by passage
    std::vector<double> stretch_;
    double prior_ = 0;
    std::vector<std::pair<double, std::uint32_t>> best_;  // by message: score and passage
};

}  // namespace

std::vector<Ranked> rank(std::span<const RankScope> scopes, const SearchQuery& query,
                         const RowFilter& filter, std::size_t limit, const RankWeights& weights) {
    std::vector<Ranked> found;
    if (query.empty() || limit == 0) return found;
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
        if (scores.empty()) continue;
        scores.count(totals);
        logs.emplace_back(s, std::move(scores));
    }
    const bool described = is_description(query, weights.description_words);
    for (auto& [scope, scores] : logs) {
        scores.score(totals);
        scores.collect(scope, scopes[scope].upto, described, filter, found);
    }
    const auto better = [](const Ranked& a, const Ranked& b) {
        return std::tuple(-a.score, a.scope, b.seq) < std::tuple(-b.score, b.scope, a.seq);
    };
    limit = std::min(limit, found.size());
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(limit), better);
    found.resize(limit);
    return found;
}

}  // namespace palimpsest
