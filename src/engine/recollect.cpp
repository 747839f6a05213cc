#include "engine/recollect.h"

#include <algorithm>
#include <map>

#include "core/query.h"
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

// Nothing is out of the view: the rule in most conversations, and found without reading.
bool shows_all(const HotView& view) {
    return view.totals.messages == view.header.messages &&
           std::ranges::all_of(view.items, [](const Item& item) {
               return item.kind == ItemKind::verbatim || item.kind == ItemKind::recalled;
           });
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
        past.candidates.push_back({hit.seq, hit.passage, hit.score});
        past.owners[hit.seq] = places[hit.scope].scope.header.log;
    }
    return past;
}

std::optional<Quotable> read_quotable(Store& store, const Past& past, Seq seq) {
    const auto entries = store.read(past.owners.at(seq), {.ranges = {{seq, seq}}});
    if (!entries || entries->empty()) return std::nullopt;
    const auto* said = std::get_if<MessageEntry>(&entries->front().body);
    if (!said || said->scrubbed) return std::nullopt;
    return Quotable{seq, said->message.shape.role, search_text(said->message).text};
}

}  // namespace

Result<Recollected> recollect(Memory::State& state, const HotView& view,
                              const std::vector<Said>& said, const RecallBudget& budget) {
    const Said* question = question_of(said);
    if (!question || view.header.log.empty() || shows_all(view)) return Recollected();
    RecallInput input;
    input.shown =
        shown_seqs(view.items, [](const Message& message) { return search_text(message).text; });
    PAL_TRY(past, search_past(state, view.header, search_text(question->message).text,
                              recall_candidates + input.shown.size()));
    // The newest have no vectors yet, which the view shows as a rule.
    if (past.unembedded > view.items.size())
        past.warning = std::to_string(past.unembedded) +
                       " messages were looked at for recall by their words only: their vectors "
                       "are being made";
    PAL_TRY(hidden, hidden_by_hand(*state.store, view.header));
    input.candidates = past.candidates;
    input.read = [&](Seq seq) -> std::optional<Quotable> {
        const bool away =
            std::ranges::any_of(hidden, [&](const Range& range) { return range.contains(seq); });
        return away ? std::nullopt : read_quotable(*state.store, past, seq);
    };
    input.count = [&](std::string_view words) {
        return static_cast<std::uint32_t>(state.tokenizer->count(words));
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
