#include "engine/recollect.h"

#include <algorithm>
#include <map>

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
};

Result<Past> search_past(Memory::State& state, const Header& header, std::string text) {
    SearchRequest where;
    where.tenant = header.name.tenant;
    where.conversation_id = header.name.id;
    PAL_TRY(places, search_places(*state.store, where));
    IndexQuery query;
    query.text = std::move(text);
    query.limit = recall_candidates;
    for (const SearchPlace& place : places) query.scopes.push_back(place.scope);
    PAL_TRY(hits, state.index->search(query));
    Past past;
    for (const IndexHit& hit : hits) {
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

Result<std::optional<Said>> recollect(Memory::State& state, const HotView& view,
                                      const std::vector<Said>& said, const RecallBudget& budget) {
    const Said* question = question_of(said);
    if (!question || view.header.log.empty() || shows_all(view)) return std::nullopt;
    const std::string text = telling_words(search_text(question->message).text);
    PAL_TRY(past, search_past(state, view.header, text));
    PAL_TRY(hidden, hidden_by_hand(*state.store, view.header));
    RecallInput input;
    input.candidates = past.candidates;
    input.shown =
        shown_seqs(view.items, [](const Message& message) { return search_text(message).text; });
    input.read = [&](Seq seq) -> std::optional<Quotable> {
        const bool away =
            std::ranges::any_of(hidden, [&](const Range& range) { return range.contains(seq); });
        return away ? std::nullopt : read_quotable(*state.store, past, seq);
    };
    input.count = [&](std::string_view words) {
        return static_cast<std::uint32_t>(state.tokenizer->count(words));
    };
    const std::string quotation = quote_recalled(input, budget);
    if (quotation.empty()) return std::nullopt;
    PAL_TRY(message, make_message(question->message.format, Role::user, quotation));
    PAL_TRY(count, count_message(*state.tokenizer, message));
    message.count = count;
    mark_recalled(message);
    return std::optional<Said>(Said{std::move(message), question->at});
}

}  // namespace palimpsest
