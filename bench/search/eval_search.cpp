// Search held against the data in PAL_DATA: recall and evidence coverage, as its README scores
// them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "cached_vectors.h"
#include "cases.h"
#include "core/rank.h"

using namespace palimpsest;

namespace {

struct Sum {
    double share = 0, count = 0;
    void add(double value) { share += value, count += 1; }
    double percent() const { return count == 0 ? 0 : 100 * share / count; }
};
// By name of the figure, by kind of question ("" is all of them).
using Figures = std::map<std::string, std::map<std::string, Sum>>;

double found_share(const Question& question, const std::set<std::string>& chosen) {
    double found = 0;
    for (const std::string& id : question.evidence) found += chosen.contains(id);
    return found / static_cast<double>(question.evidence.size());
}

void score_top(const Case& one, const Question& question, const std::vector<Ranked>& ranked,
               std::size_t k, const char* name, Figures& figures) {
    std::set<std::string> chosen;
    for (const Ranked& r : ranked) {
        if (chosen.size() >= k) break;
        chosen.insert(one.units[r.message].id);
    }
    const double share = found_share(question, chosen);
    figures[name + std::to_string(k)][question.kind].add(share);
    figures[name + std::to_string(k)][""].add(share);
    double any = 0;
    for (const std::string& id : question.evidence)
        any = std::max(any, double(chosen.contains(id)));
    figures["hit@" + std::to_string(k)][""].add(any);
}

void score_budget(const Case& one, const Question& question, const std::vector<Ranked>& ranked,
                  double budget, Figures& figures) {
    std::set<std::string> chosen, sessions;
    double used = 0;
    for (const Ranked& r : ranked) {
        const Unit& unit = one.units[r.message];
        const double cost = unit.tokens + (sessions.contains(unit.session) ? 0 : unit.header);
        if (used + cost > budget) continue;
        used += cost;
        chosen.insert(unit.id);
        sessions.insert(unit.session);
    }
    const double share = found_share(question, chosen);
    const std::string name = "coverage " + std::to_string(static_cast<int>(budget));
    figures[name][question.kind].add(share);
    figures[name][""].add(share);
}

// Null: by words alone.
Figures evaluate(const std::vector<Case>& cases, const std::vector<double>& budgets,
                 const RankWeights& weights, CachedVectors* vectors) {
    Figures figures;
    Stemmer stemmer;
    for (const Case& one : cases) {
        WordIndex index;
        PassageVectors passages;
        for (std::size_t u = 0; u < one.units.size(); ++u) {
            index.add({Seq{u + 1}, one.units[u].at, one.units[u].role, one.units[u].text, {}},
                      stemmer);
            passages.add(u, one.units[u].text);
        }
        index.freeze();
        std::vector<std::string> asked;
        for (const Question& question : one.questions) asked.push_back(question.text);
        std::vector<float> questions;
        if (vectors) questions = vectors->of(asked, true);
        if (vectors) passages.rows = vectors->of(passages.texts, false);
        for (std::size_t q = 0; q < one.questions.size(); ++q) {
            const Question& question = one.questions[q];
            RankScope scope{&index, seq_max};
            std::vector<VectorRow> near;
            if (vectors)
                near = passages.near(
                    std::span(questions).subspan(q * vectors->dimension(), vectors->dimension()),
                    one.units.size());
            scope.vectors = near;
            const SearchQuery query = read_query(question.text, index.languages(), stemmer);
            const auto ranked = rank({&scope, 1}, query, {}, one.units.size(), weights);
            for (const std::size_t k : {5, 10, 20, 50})
                score_top(one, question, ranked, k, "R@", figures);
            for (const double budget : budgets)
                score_budget(one, question, ranked, budget, figures);
        }
    }
    return figures;
}

void print(const char* title, const Figures& figures, bool kinds) {
    std::printf("%s\n", title);
    for (const auto& [name, rows] : figures) {
        std::printf("  %-14s", name.c_str());
        for (const auto& [kind, sum] : rows)
            if (kinds || kind.empty())
                std::printf(" %s%s%.1f", kind.c_str(), kind.empty() ? "" : "=", sum.percent());
        std::printf("\n");
    }
}

double* weight_named(RankWeights& w, std::string_view name) {
    const std::map<std::string_view, double*> rows = {{"k1", &w.k1},
                                                      {"b", &w.b},
                                                      {"near", &w.near},
                                                      {"far", &w.far},
                                                      {"stretch", &w.stretch},
                                                      {"stretch_b", &w.stretch_b},
                                                      {"common", &w.common},
                                                      {"prior", &w.prior},
                                                      {"prior_words", &w.prior_words},
                                                      {"vector", &w.vector},
                                                      {"vector_near", &w.vector_near},
                                                      {"vector_stretch", &w.vector_stretch},
                                                      {"vector_best", &w.vector_best}};
    const auto at = rows.find(name);
    return at == rows.end() ? nullptr : at->second;
}

double at(const Figures& f, const char* name) {
    const auto found = f.find(name);
    return found == f.end() ? 0 : found->second.at("").percent();
}

struct Sets {
    std::vector<Case> locomo = {}, beam = {}, large = {}, bfcl = {}, longmem = {};
};

void run(const Sets& sets, const RankWeights& weights, CachedVectors* vectors, bool brief) {
    const auto held = [&](const std::vector<Case>& cases, const std::vector<double>& budgets) {
        return evaluate(cases, budgets, weights, vectors);
    };
    const Figures locomo = held(sets.locomo, {512, 1024, 2048, 4096});
    const Figures beam = held(sets.beam, {8192}), large = held(sets.large, {8192});
    const Figures bfcl = held(sets.bfcl, {}), longmem = held(sets.longmem, {});
    std::printf("%s\n", vectors ? "== hybrid" : "== lexical");
    std::printf(
        "R@5 %.1f R@10 %.1f R@50 %.1f | 1k %.1f 2k %.1f 4k %.1f | beam %.1f %.1f | bfcl %.1f "
        "| lme R@5 %.1f\n",
        at(locomo, "R@5"), at(locomo, "R@10"), at(locomo, "R@50"), at(locomo, "coverage 1024"),
        at(locomo, "coverage 2048"), at(locomo, "coverage 4096"), at(beam, "coverage 8192"),
        at(large, "coverage 8192"), at(bfcl, "hit@5"), at(longmem, "R@5"));
    if (brief) return;
    print("LoCoMo (1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial)", locomo,
          true);
    print("BEAM 100k", beam, true);
    print("BEAM 500k", large, true);
    print("BFCL memory", bfcl, false);
    print("LongMemEval excerpt (sessions)", longmem, false);
}

}  // namespace

// eval_search [--short] [--locomo] [NAME=VALUE...]: less to print, less to read, weights other than
// the built-in ones.
int main(int argc, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) return std::puts("skipped: PAL_DATA names no folder"), 0;
    RankWeights weights;
    bool brief = false, locomo_alone = false;
    for (int i = 1; i < argc; ++i) {
        brief |= !std::strcmp(argv[i], "--short");
        locomo_alone |= !std::strcmp(argv[i], "--locomo");
        if (!std::strncmp(argv[i], "--", 2)) continue;
        const char* equals = std::strchr(argv[i], '=');
        double* weight =
            equals ? weight_named(weights, {argv[i], std::size_t(equals - argv[i])}) : nullptr;
        if (!weight) return std::printf("unknown weight: %s\n", argv[i]), 2;
        *weight = std::atof(equals + 1);
    }
    const std::string folder = data;
    Sets sets{.locomo = read_locomo(folder)};
    if (!locomo_alone) {
        sets.beam = read_messages_file(folder + "/beam_dev.jsonl.gz");
        std::erase_if(sets.beam, [&](Case& one) {
            return one.units.size() > 600 && (sets.large.push_back(one), true);
        });
        sets.bfcl = read_messages_file(folder + "/bfcl_memory_dev.jsonl.gz");
        sets.longmem = read_longmemeval(folder);
    }
    run(sets, weights, nullptr, brief);
    if (const auto vectors = open_cached_vectors(argv[0])) run(sets, weights, vectors.get(), brief);
    return 0;
}
