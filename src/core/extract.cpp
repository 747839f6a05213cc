// The deterministic summary: what was said by salience, and the identifiers.
//
// Two thirds of the cap go to identifiers at most: they are what later calls need word for word and
// what no reader can guess. The rest goes to sentences of the user, the assistant and older
// summaries. The newest material counts most, so of a huge stretch only the end is read: the work
// is bounded whatever is folded.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/common_words.h"
#include "core/identifiers.h"
#include "core/pass_parameters.h"
#include "core/placeholder.h"
#include "core/shorten_text.h"
#include "core/summary.h"

namespace palimpsest {
namespace {

constexpr std::size_t bytes_max = 96 * 1024;
constexpr std::size_t later_bytes_max = 32 * 1024;
constexpr std::size_t identifiers_each_max = 200;  // of one message
constexpr std::size_t shared_max = 12;             // identifiers that the later messages use too
constexpr int telling_weight = 3;                  // Names and words recur without meaning it.
constexpr std::size_t sentence_bytes_max = 400;
constexpr std::string_view list_head = "identifiers: ";

struct Said {
    std::string speaker;
    std::string text;
    ContentKind kind;
};

std::string_view speaker_of(const Item& item) {
    if (item.kind == ItemKind::summary) return "summary";
    return item.message.shape.role == Role::user ? "user" : "assistant";
}

// The parts in order; of too much, the newest.
std::vector<Said> read_said(std::span<const Item* const> items, const MessageTools& tools,
                            std::size_t bytes_most = bytes_max) {
    std::vector<Said> out;
    std::size_t bytes = 0;
    for (std::size_t n = items.size(); n-- > 0 && bytes < bytes_most;) {
        const auto content = tools.read(items[n]->message);
        if (!content) continue;
        for (std::size_t p = content->parts.size(); p-- > 0;) {
            const ContentPart& part = content->parts[p];
            if (part.kind != ContentKind::text && part.kind != ContentKind::tool_call &&
                part.kind != ContentKind::tool_result)
                continue;
            if (part.text.starts_with(placeholder_mark)) continue;  // Our own words.
            const std::size_t most = bytes_most - std::min(bytes, bytes_most);
            out.push_back({std::string(speaker_of(*items[n])),
                           std::string(part.text.substr(0, most)), part.kind});
            bytes += part.text.size();
        }
    }
    std::reverse(out.begin(), out.end());
    return out;
}

// "Please" at the start of a sentence names nobody.
bool is_plain(std::string_view word) {
    return identifier_weight(word) == 1 && common_in(lower(word)) != Languages{};
}

std::string_view without_hash(std::string_view id) {
    if (id.starts_with('#')) id.remove_prefix(1);
    return id;
}

// What a list of identifiers may take of a summary.
std::size_t list_tokens(std::uint32_t max_tokens) {
    return max_tokens - max_tokens / 3;
}
constexpr std::size_t list_head_tokens = 4;

// Of those that both speak of, the ones used last, as many as a list has room for.
std::vector<std::string> shared_in(const std::vector<Said>& said,
                                   std::span<const Item* const> later, std::uint32_t max_tokens,
                                   const MessageTools& tools) {
    std::vector<std::string> out;
    if (later.empty() || said.empty()) return out;
    std::unordered_set<std::string_view> here, taken;
    for (const Said& one : said)
        for (const std::string_view id : find_identifiers(one.text, identifiers_each_max))
            if (identifier_weight(id) >= telling_weight) here.insert(without_hash(id));
    std::size_t tokens = list_head_tokens;
    const std::vector<Said> after = read_said(later, tools, later_bytes_max);
    for (std::size_t n = after.size(); n-- > 0;) {
        const auto ids = find_identifiers(after[n].text, identifiers_each_max);
        for (std::size_t i = ids.size(); i-- > 0 && out.size() < shared_max;) {
            const std::string_view id = without_hash(ids[i]);
            if (!here.contains(id) || !taken.insert(id).second) continue;
            const std::size_t more = tools.count_text(id) + 1;
            if (tokens + more > list_tokens(max_tokens)) continue;
            tokens += more;
            out.emplace_back(id);
        }
    }
    return out;
}

// Identifiers by how telling they are: used later on, said by someone rather than only returned by
// a tool, said again, said lately.
std::string list_identifiers(const std::vector<Said>& said, const ExtractOptions& options,
                             const MessageTools& tools) {
    constexpr double ahead = 100;  // more than any other score
    const std::vector<std::string> shared =
        shared_in(said, options.later, options.max_tokens, tools);
    struct Score {
        double value = 0;
        std::size_t last = 0;
    };
    std::unordered_map<std::string_view, Score> scores;
    for (std::size_t n = 0; n < said.size(); ++n) {
        const double weight = said[n].kind == ContentKind::tool_result ? 1.0 : 3.0;
        for (const std::string_view id : find_identifiers(said[n].text, identifiers_each_max)) {
            if (is_plain(id)) continue;
            Score& score = scores[without_hash(id)];
            score.value += weight;
            score.last = n;
        }
    }
    struct Ranked {
        std::string_view id;
        double score;
        std::size_t last;
    };
    std::vector<Ranked> ranked;
    for (const auto& [id, score] : scores) {
        const double lately =
            static_cast<double>(score.last + 1) / static_cast<double>(said.size());
        const double used = std::ranges::find(shared, id) == shared.end() ? 0 : ahead;
        const double value = used + std::min(score.value, 6.0) + 2 * lately + identifier_weight(id);
        ranked.push_back({id, value, score.last});
    }
    std::ranges::sort(ranked, [](const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    if (ranked.size() > options.identifiers) ranked.resize(options.identifiers);
    std::string list;
    const std::size_t most = list_tokens(options.max_tokens);
    std::size_t tokens = list_head_tokens;
    for (const Ranked& one : ranked) {
        tokens += tools.count_text(one.id) + 1;
        if (tokens > most) break;
        list += (list.empty() ? std::string(list_head) : ", ") + std::string(one.id);
    }
    return list;
}

struct Sentence {
    std::size_t said = 0;
    std::string_view text = {};
    double score = 0;
};

bool ends_sentence(std::string_view text, std::size_t at) {
    if (text[at] == '\n') return true;
    const bool mark = text[at] == '.' || text[at] == '?' || text[at] == '!';
    return mark && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n');
}

double words_score(std::string_view text) {
    constexpr std::string_view telling[] = {
        "decid", "agree", "confirm", "must",   "should",  "need",    "want",   "prefer",
        "will ", "error", "fail",    "cannot", "instead", "because", "result", "found",
        "fixed", "only",  "never",   "always", "don't",   "do not",  "please", "remember"};
    double score = 0;
    for (const std::string_view word : telling)
        if (text.find(word) != std::string_view::npos) score += 1;
    return std::min(score, 3.0);
}

double score_of(const Said& said, std::string_view text, bool first, double lately) {
    double score = words_score(text) + lately;
    if (said.speaker == "user") score += 1.5;
    if (said.speaker == "summary") score += 4;
    if (text.ends_with('?')) score += said.speaker == "user" ? 1.5 : 0.5;
    if (first) score += 1;
    score += std::min(1.5, 0.5 * static_cast<double>(find_identifiers(text, 3).size()));
    return score;
}

std::vector<Sentence> split_sentences(const std::vector<Said>& all) {
    std::vector<Sentence> out;
    for (std::size_t n = 0; n < all.size(); ++n) {
        if (all[n].kind != ContentKind::text) continue;
        const std::string_view text = all[n].text;
        const double lately = static_cast<double>(n + 1) / static_cast<double>(all.size());
        std::size_t from = 0;
        bool first = true;
        for (std::size_t at = 0; at <= text.size(); ++at) {
            if (at < text.size() && !ends_sentence(text, at)) continue;
            std::string_view one = text.substr(from, at == text.size() ? at - from : at + 1 - from);
            from = at + 1;
            while (!one.empty() && (one.front() == ' ' || one.front() == '\n'))
                one.remove_prefix(1);
            while (!one.empty() && (one.back() == ' ' || one.back() == '\n')) one.remove_suffix(1);
            if (one.size() < 8 || one.size() > sentence_bytes_max) continue;
            if (one.starts_with(list_head)) continue;
            out.push_back({n, one, score_of(all[n], one, std::exchange(first, false), lately)});
        }
    }
    return out;
}

std::string choose_sentences(const std::vector<Said>& said, std::size_t most,
                             const MessageTools& tools) {
    std::vector<Sentence> all = split_sentences(said);
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return all[a].score > all[b].score; });
    std::vector<bool> chosen(all.size());
    std::size_t tokens = 0;
    for (const std::size_t i : order) {
        const std::size_t more = tools.count_text(all[i].text) + 3;
        if (tokens + more > most) continue;
        if (most - tokens < 12) break;
        tokens += more;
        chosen[i] = true;
    }
    std::string out;
    std::size_t speaking = SIZE_MAX;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!chosen[i]) continue;
        if (std::exchange(speaking, all[i].said) != all[i].said) {
            if (!out.empty()) out += '\n';
            if (said[all[i].said].speaker != "summary") out += said[all[i].said].speaker + ":";
        }
        // An older summary has its own names of who spoke: each on a line of its own.
        const bool named =
            all[i].text.starts_with("user:") || all[i].text.starts_with("assistant:");
        if (!out.empty() && out.back() != '\n') out += named ? '\n' : ' ';
        out += all[i].text;
    }
    return out;
}

void add_about(std::vector<Said>& about, const Said& said, std::string_view word) {
    const std::vector<Said> alone{said};  // The sentences look into it.
    for (const Sentence& sentence : split_sentences(alone))
        if (sentence.text.find(word) != std::string_view::npos)
            about.push_back({said.speaker, std::string(sentence.text), said.kind});
}

// Sentences that name a concept, under its name.
std::string choose_facts(const std::vector<Said>& said, const ExtractOptions& options,
                         const MessageTools& tools) {
    std::string out;
    for (const std::string& concept_name : options.concepts) {
        std::vector<Said> about;
        for (const Said& one : said) add_about(about, one, concept_name);
        const std::size_t each = options.max_tokens / options.concepts.size();
        const std::string facts = choose_sentences(about, each > 4 ? each - 4 : 0, tools);
        if (!facts.empty()) out += (out.empty() ? "" : "\n") + concept_name + ":\n" + facts;
    }
    return out;
}

// No sentence has room: how it began and how it ended. Empty when not even that fits.
std::string cut_of(const std::vector<Said>& said, std::size_t most, const MessageTools& tools) {
    std::string all;
    for (const Said& one : said)
        if (!one.text.empty()) all += (all.empty() ? "" : "\n") + one.speaker + ": " + one.text;
    std::string text =
        shorten_text(all, most, [&](std::string_view part) { return tools.count_text(part); });
    return text.starts_with(left_out_mark) ? std::string() : text;
}

}  // namespace

std::vector<std::string> shared_identifiers(std::span<const Item* const> items,
                                            std::span<const Item* const> later,
                                            std::uint32_t max_tokens, const MessageTools& tools) {
    return shared_in(read_said(items, tools), later, max_tokens, tools);
}

std::string extract_summary(std::span<const Item* const> items, const ExtractOptions& options,
                            const MessageTools& tools) {
    const std::vector<Said> said = read_said(items, tools);
    const auto count = [&](std::string_view text) { return tools.count_text(text); };
    if (!options.concepts.empty()) {
        const std::string facts = choose_facts(said, options, tools);
        if (!facts.empty()) return shorten_text(facts, options.max_tokens, count);
    }
    const std::string list = list_identifiers(said, options, tools);
    const std::size_t spent = list.empty() ? 0 : tools.count_text(list) + 1;
    const std::size_t left = options.max_tokens > spent ? options.max_tokens - spent : 0;
    std::string text = choose_sentences(said, left, tools);
    if (!text.empty() && !list.empty()) text += '\n';
    text += list;
    if (text.empty()) return cut_of(said, options.max_tokens, tools);
    // Sums of counts are no counts of sums; a few tokens may be too many.
    return shorten_text(text, options.max_tokens, count);
}

}  // namespace palimpsest
