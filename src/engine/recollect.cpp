#include "engine/recollect.h"

#include <algorithm>
#include <map>

#include "core/query.h"
#include "core/snippet.h"
#include "engine/count.h"
#include "engine/hidden.h"
#include "engine/search_scope.h"
#include "palimpsest/format.h"
#include "search/message_text.h"
#include "search/store_index.h"

namespace palimpsest {
namespace {

const Said* question_of(const std::vector<Said>& said) {
    const auto last = std::find_if(said.rbegin(), said.rend(),
                                   [](const Said& one) { return one.message.shape.starts_turn(); });
    return last == said.rend() ? nullptr : &*last;
}

struct Past {
    std::vector<Candidate> candidates = {};
    std::map<Seq, LogId> owners = {};
    std::uint64_t unembedded = 0;
    std::string warning = {};
};

// The whole question has a meaning; by words alone only those that tell something count. Quotes in
// it ask for nothing: it is not a query.
Result<IndexAnswer> ask(Memory::State& state, IndexQuery& query, const std::string& question,
                        std::string& warning) {
    if (state.embedder) {
        query.text = without_quotes(question);
        query.mode = SearchMode::hybrid;
        auto found = state.index->answer(query, turn_patience);
        if (found) return found;
        warning = "recalled by words only, without vectors: " + found.error().message;
    }
    query.text = telling_words(question);
    query.mode = SearchMode::lexical;
    return state.index->answer(query, turn_patience);
}

// Its own words and its meaning have no part in its score.
bool is_lent(const IndexHit& hit) {
    return std::ranges::none_of(hit.parts, [](const ScorePart& part) {
        return (part.name == "own" || part.name == "vector") && part.value > 0;
    });
}

Result<Past> search_past(Memory::State& state, const Header& header, const std::string& question,
                         std::size_t limit) {
    SearchRequest where;
    where.tenant = header.name.tenant;
    where.conversation_id = header.name.id;
    PAL_TRY(places, search_places(*state.store, where));
    IndexQuery query;
    query.limit = limit;
    for (const SearchPlace& place : places) query.scopes.push_back(place.scope);
    Past past;
    PAL_TRY(found, ask(state, query, question, past.warning));
    past.unembedded = found.unembedded;
    for (const IndexHit& hit : found.hits) {
        past.candidates.push_back({hit.seq, hit.passage, hit.score, is_lent(hit)});
        past.owners[hit.seq] = places[hit.scope].scope.header.log;
    }
    return past;
}

std::optional<Quotable> read_quotable(Store& store, const Past& past, Seq seq) {
    const auto entries = store.read(past.owners.at(seq), {.ranges = {{seq, seq}}});
    if (!entries || entries->empty()) return std::nullopt;
    const auto* said = std::get_if<MessageEntry>(&entries->front().body);
    if (!said || said->scrubbed) return std::nullopt;
    return Quotable{seq, said->message.shape.role, search_text(said->message).text,
                    said->message.fingerprint};
}

// What is not to be told again: what the view shows and quotes, and what is said right now.
void add_shown(RecallInput& input, std::span<const Item> items, const std::vector<Said>& said) {
    const auto text_of = [](const Message& message) { return search_text(message).text; };
    input.shown = shown_seqs(items, text_of);
    for (const Item& item : items) {
        if (item.kind == ItemKind::recalled) input.quotations += text_of(item.message);
        if (item.kind == ItemKind::verbatim) input.shown_texts.insert(item.message.fingerprint);
    }
    for (const Said& one : said) input.shown_texts.insert(one.message.fingerprint);
}

// What of a passage is shown when there is no room for all of it.
class Excerpts {
public:
    explicit Excerpts(const std::string& question)
        : asked_(read_query(telling_words(question), ~Languages{0}, stemmer_)) {}
    std::string of(std::string_view text, std::uint32_t passage, std::size_t bytes) {
        Snippet snippet = make_snippet(text, asked_, passage, stemmer_, bytes);
        return snippet.marks.empty() ? std::string() : std::move(snippet.text);
    }

private:
    Stemmer stemmer_;
    SearchQuery asked_;
};

}  // namespace

bool shows_all(const HotView& view) {
    return view.totals.messages == view.header.messages &&
           std::ranges::all_of(view.items, [](const Item& item) {
               return item.kind == ItemKind::verbatim || item.kind == ItemKind::recalled;
           });
}

Result<Recollected> recollect(Memory::State& state, const Sight& sight,
                              const std::vector<Said>& said, const RecallBudget& budget) {
    const Said* question = question_of(said);
    if (!question || sight.header.log.empty() || sight.shows_all) return Recollected();
    RecallInput input;
    add_shown(input, sight.items, said);
    const std::string asked = search_text(question->message).text;
    PAL_TRY(past, search_past(state, sight.header, asked, recall_candidates + input.shown.size()));
    // The newest have no vectors yet, which the view shows as a rule.
    if (past.unembedded > sight.items.size())
        past.warning = std::to_string(past.unembedded) +
                       " messages were looked at for recall by their words only: their vectors "
                       "are being made";
    PAL_TRY(hidden, hidden_by_hand(*state.store, sight.header));
    input.candidates = past.candidates;
    input.read = [&](Seq seq) -> std::optional<Quotable> {
        const bool away =
            std::ranges::any_of(hidden, [&](const Range& range) { return range.contains(seq); });
        return away ? std::nullopt : read_quotable(*state.store, past, seq);
    };
    input.count = [&](std::string_view words) {
        return static_cast<std::uint32_t>(state.tokenizer->count(words));
    };
    Excerpts excerpts(asked);
    input.excerpt = [&](std::string_view text, std::uint32_t passage, std::size_t bytes) {
        return excerpts.of(text, passage, bytes);
    };
    const std::string quotation = quote_recalled(input, budget);
    if (quotation.empty()) return Recollected{{}, std::move(past.warning)};
    PAL_TRY(message, make_message(question->message.format, Role::user, quotation));
    PAL_TRY(count, count_message(*state.tokenizer, message));
    message.count = count;
    mark_recalled(message);
    return Recollected{Said{std::move(message), question->at}, std::move(past.warning)};
}

}  // namespace palimpsest
