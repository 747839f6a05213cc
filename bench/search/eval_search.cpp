// Search held against the data in PAL_DATA: recall and evidence coverage, as its README scores
// them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

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

Figures evaluate(const std::vector<Case>& cases, const std::vector<double>& budgets,
                 const RankWeights& weights) {
    Figures figures;
    Stemmer stemmer;
    for (const Case& one : cases) {
        WordIndex index;
        for (std::size_t u = 0; u < one.units.size(); ++u)
            index.add({Seq{u + 1}, one.units[u].at, one.units[u].role, one.units[u].text, {}},
                      stemmer);
        index.freeze();
        for (const Question& question : one.questions) {
            const RankScope scope{&index, seq_max};
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
                                                      {"prior_words", &w.prior_words}};
    const auto at = rows.find(name);
    return at == rows.end() ? nullptr : at->second;
}

double at(const Figures& f, const char* name) {
    const auto found = f.find(name);
    return found == f.end() ? 0 : found->second.at("").percent();
}

}  // namespace

// eval_search [--short] [NAME=VALUE...]: weights other than the built-in ones.
int main(int argc, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) return std::puts("skipped: PAL_DATA names no folder"), 0;
    RankWeights weights;
    bool brief = false;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--short")) {
            brief = true;
            continue;
        }
        const char* equals = std::strchr(argv[i], '=');
        double* weight =
            equals ? weight_named(weights, {argv[i], std::size_t(equals - argv[i])}) : nullptr;
        if (!weight) return std::printf("unknown weight: %s\n", argv[i]), 2;
        *weight = std::atof(equals + 1);
    }
    const std::string folder = data;
    const Figures locomo = evaluate(read_locomo(folder), {512, 1024, 2048, 4096}, weights);
    std::vector<Case> beam = read_messages_file(folder + "/beam_dev.jsonl.gz"), large;
    std::erase_if(
        beam, [&](Case& one) { return one.units.size() > 600 && (large.push_back(one), true); });
    const Figures beam_small = evaluate(beam, {8192}, weights);
    const Figures beam_large = evaluate(large, {8192}, weights);
    const Figures bfcl =
        evaluate(read_messages_file(folder + "/bfcl_memory_dev.jsonl.gz"), {}, weights);
    const Figures longmem = evaluate(read_longmemeval(folder), {}, weights);
    if (brief) {
        std::printf(
            "R@5 %.1f R@10 %.1f R@50 %.1f | 1k %.1f 2k %.1f 4k %.1f | beam %.1f %.1f | bfcl %.1f "
            "| lme R@5 %.1f\n",
            at(locomo, "R@5"), at(locomo, "R@10"), at(locomo, "R@50"), at(locomo, "coverage 1024"),
            at(locomo, "coverage 2048"), at(locomo, "coverage 4096"),
            at(beam_small, "coverage 8192"), at(beam_large, "coverage 8192"), at(bfcl, "hit@5"),
            at(longmem, "R@5"));
        return 0;
    }
    print("LoCoMo (1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial)", locomo,
          true);
    print("BEAM 100k", beam_small, true);
    print("BEAM 500k", beam_large, true);
    print("BFCL memory", bfcl, false);
    print("LongMemEval excerpt (sessions)", longmem, false);
    return 0;
}
