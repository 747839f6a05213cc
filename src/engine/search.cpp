// Search over a Memory: which logs, what of the results may be shown, and what they look like.
#include "palimpsest/search.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/ids.h"
#include "core/quotes.h"
#include "core/recollect.h"
#include "core/snippet.h"
#include "engine/hidden.h"
#include "engine/load.h"
#include "engine/recall.h"
#include "engine/search_scope.h"
#include "engine/state.h"
#include "search/message_text.h"
#include "search/store_index.h"

namespace palimpsest {
namespace {

// Where results are looked at one by one: at first so many, then as many as there may be.
constexpr std::size_t ranked_first = 10'000, ranked_max = 100'000;

bool is_gone(const Error& error) {
    return error.code == ErrorCode::not_found;
}

std::string words_of_unread(const std::set<std::string>& ids) {
    constexpr std::size_t named_max = 5;
    std::string words = "left out, because they cannot be read (`pal doctor` says why): ";
    std::size_t named = 0;
    for (const std::string& id : ids) {
        if (named == named_max) break;
        words += (named++ == 0 ? "" : ", ") + id;
    }
    if (ids.size() > named) words += " and " + std::to_string(ids.size() - named) + " more";
    return words;
}

// The views of the conversations that results are in, and what people have hidden there.
class Shown {
public:
    // `unread`: told which conversations cannot be read; null: that is an error.
    Shown(Memory::State& state, std::set<std::string>* unread) : state_(state), unread_(unread) {}

    struct Row {
        std::set<Seq> verbatim = {};
        std::vector<Range> hidden = {};
        std::string quotations = {};  // that the view has
        bool shows(Seq seq) const { return verbatim.contains(seq); }
    };
    // Null when the conversation is gone by now, or never had a name.
    Result<const Row*> of(const Header& header) {
        if (header.name.id.empty()) return nullptr;
        auto known = rows_.find(header.name);
        if (known == rows_.end()) {
            auto row = read(header.name);
            const bool skips = !row && unread_ && is_fault_of_one(row.error());
            if (skips) unread_->insert(header.name.id);
            if (!row && !skips && !is_gone(row.error())) return std::unexpected(row.error());
            known = rows_.emplace(header.name, std::nullopt).first;
            if (row) known->second = *std::move(row);
        }
        return known->second ? &*known->second : nullptr;
    }

private:
    Result<Row> read(const ConversationId& name) {
        Row row;
        PAL_TRY(fresh, state_.store->head(name));
        PAL_TRY(hot, current_view(state_, fresh));
        PAL_TRY(hidden, hidden_by_hand(*state_.store, fresh));
        row.hidden = std::move(hidden);
        const View view = hot->view();
        for (const Item& item : view.items) {
            if (item.kind == ItemKind::verbatim) row.verbatim.insert(item.range.from);
            if (item.kind == ItemKind::recalled) row.quotations += search_text(item.message).text;
        }
        return row;
    }

    Memory::State& state_;
    std::set<std::string>* unread_;
    std::map<ConversationId, std::optional<Row>> rows_;
};

class SearchRun {
public:
    SearchRun(Memory::State& state, const SearchRequest& request, std::vector<Seq>* seen)
        : state_(state),
          request_(request),
          seen_(seen),
          shown_(state, request.conversation_id ? nullptr : &unread_) {}

    Result<SearchPage> run() {
        PAL_TRY(places, search_places(*state_.store, request_));
        places_ = std::move(places);
        asked_ = read_query(request_.query, ~Languages{0}, stemmer_);
        page_.conversations = conversations_of(places_);
        auto filled = fill_page();
        if (!filled && !request_.conversation_id && is_fault_of_one(filled.error())) {
            PAL_CHECK(leave_out_unread());
            filled = fill_page();
        }
        PAL_CHECK(filled);
        PAL_CHECK(warn());
        return std::move(page_);
    }

private:
    Result<void> fill_page() {
        IndexQuery query;
        query.text = request_.query;
        for (const SearchPlace& place : places_) query.scopes.push_back(place.scope);
        query.role = request_.role;
        query.after = request_.after;
        query.before = request_.before;
        query.tool = request_.tool;
        const bool hybrid = state_.embedder && asked_.quotes.empty();
        query.mode = request_.mode.value_or(hybrid ? SearchMode::hybrid : SearchMode::lexical);
        return fill(query);
    }

    // Something cannot be read: what of it that is, and the page is begun again without.
    Result<void> leave_out_unread() {
        std::vector<SearchPlace> readable;
        for (SearchPlace& place : places_) {
            const auto facts = state_.index->update(place.scope.header);
            const bool unread = !facts && is_fault_of_one(facts.error());
            if (unread) unread_.insert(place.shown.name.id);
            if (!facts && !unread && !is_gone(facts.error())) return std::unexpected(facts.error());
            if (!unread) readable.push_back(std::move(place));
        }
        places_ = std::move(readable);
        page_ = {};
        page_.conversations = conversations_of(places_);
        if (seen_) seen_->clear();
        return {};
    }

    // What is looked at one by one may be left out: then the page is filled from further behind.
    Result<void> fill(IndexQuery& query) {
        query.limit = looks_at_each() ? ranked_first : request_.offset + request_.limit + 1;
        while (true) {
            PAL_TRY(found, ask(query));
            PAL_CHECK(take(found));
            if (!looks_at_each() || page_.more || found.size() < query.limit) return {};
            if (query.limit == ranked_max) break;
            query.limit = ranked_max;
            page_.hits.clear();
            if (seen_) seen_->clear();
        }
        page_.warnings.push_back("only the best " + std::to_string(ranked_max) +
                                 " messages were looked at; narrow the search, to one "
                                 "conversation or a time");
        return {};
    }

    // Unless a mode was asked for, an embedder that fails is done without, and that is said.
    Result<std::vector<IndexHit>> ask(IndexQuery& query) {
        page_.mode = query.mode;
        // A model that asks in the middle of its turn is not kept waiting.
        const auto patience =
            request_.for_model ? QueryEmbedder::Patience(turn_patience) : std::nullopt;
        auto found = state_.index->answer(query, patience);
        if (found) {
            unembedded_ = found->unembedded;
            return std::move(found->hits);
        }
        if (request_.mode || query.mode == SearchMode::lexical)
            return std::unexpected(found.error());
        page_.warnings.push_back("words only, without vectors: " + found.error().message);
        page_.mode = query.mode = SearchMode::lexical;
        return state_.index->search(query);
    }

    // The index cannot tell all that is asked for.
    bool looks_at_each() const {
        return request_.in_view || request_.for_model || !asked_.quotes.empty();
    }

    Result<void> take(const std::vector<IndexHit>& found) {
        std::size_t passed = 0;
        for (const IndexHit& one : found) {
            if (!looks_at_each() && passed < request_.offset) {
                ++passed;
                continue;
            }
            if (page_.hits.size() == request_.limit && !looks_at_each()) {
                page_.more = true;
                break;
            }
            PAL_TRY(hit, read_hit(one));
            if (!hit) continue;
            if (passed++ < request_.offset) continue;
            if (page_.hits.size() == request_.limit) {
                page_.more = true;
                break;
            }
            page_.hits.push_back(*std::move(hit));
        }
        return {};
    }

    // Where it is shown as it was said; nowhere: as whose it is told all the same. None when all
    // that had it are gone by now.
    struct Showing {
        ConversationId name = {};
        bool in_view = false;
    };
    Result<std::optional<Showing>> showing_of(const SearchPlace& place, Seq seq) {
        std::optional<Showing> away;
        for (std::size_t i = 0; i <= place.sharers.size(); ++i) {
            const Header& header = i == 0 ? place.shown : place.sharers[i - 1].header;
            if (i > 0 && place.sharers[i - 1].upto < seq) continue;
            PAL_TRY(row, shown_.of(header));
            if (!row) continue;
            if (row->shows(seq)) return Showing{header.name, true};
            if (!away) away = Showing{header.name, false};
        }
        return away;
    }

    // A model is not told what a person hid, nor what it has before it.
    Result<bool> is_for_model(const SearchPlace& place, Seq seq, const Message& message,
                              std::string_view text) {
        PAL_TRY(row, shown_.of(place.shown));
        if (!row) return false;
        if (row->shows(seq) ||
            row->quotations.contains(quoted_piece(seq, message.shape.role, text))) {
            if (seen_) seen_->push_back(seq);
            return false;
        }
        return std::ranges::none_of(row->hidden,
                                    [&](const Range& range) { return range.contains(seq); });
    }

    // None when it may not be shown, or is gone by now.
    Result<std::optional<SearchHit>> read_hit(const IndexHit& one) {
        const SearchPlace& place = places_[one.scope];
        PAL_TRY(showing, showing_of(place, one.seq));
        if (!showing) return std::nullopt;
        if (request_.in_view && *request_.in_view != showing->in_view) return std::nullopt;
        const auto entries =
            state_.store->read(place.scope.header.log,
                               {.ranges = {{one.seq, one.seq}}, .kinds = only(EntryKind::message)});
        const bool skips =
            !entries && !request_.conversation_id && is_fault_of_one(entries.error());
        if (skips) unread_.insert(place.shown.name.id);
        if (!entries && !skips && !is_gone(entries.error()))
            return std::unexpected(entries.error());
        const auto* said = !entries || entries->empty()
                               ? nullptr
                               : std::get_if<MessageEntry>(&entries->front().body);
        if (!said || said->scrubbed) return std::nullopt;
        const std::string text = search_text(said->message).text;
        if (!has_quotes(text, asked_)) return std::nullopt;
        if (text.empty()) return std::nullopt;
        if (request_.for_model) {
            PAL_TRY(may_tell, is_for_model(place, one.seq, said->message, text));
            if (!may_tell) return std::nullopt;
        }
        Snippet snippet = make_snippet(text, asked_, one.passage, stemmer_);
        SearchHit hit;
        hit.name = showing->name;
        hit.seq = one.seq;
        hit.at = entries->front().at;
        hit.score = one.score;
        hit.snippet = std::move(snippet.text);
        hit.marks = std::move(snippet.marks);
        hit.message = said->message;
        hit.in_view = showing->in_view;
        hit.parts = one.parts;
        return hit;
    }

    // not_found only for the conversation that was asked for: others may go meanwhile.
    Result<std::uint64_t> count_sealed() {
        std::uint64_t sealed = 0;
        for (const SearchPlace& place : places_) {
            const auto facts = state_.index->update(place.scope.header);
            if (facts)
                sealed += facts->sealed;
            else if (request_.conversation_id || !is_gone(facts.error()))
                return std::unexpected(facts.error());
        }
        return sealed;
    }

    Result<void> warn() {
        PAL_TRY(sealed, count_sealed());
        if (!unread_.empty()) page_.warnings.push_back(words_of_unread(unread_));
        if (asked_.cut_bytes)
            page_.warnings.push_back("the query is too long: of more than " +
                                     std::to_string(query_bytes_max) +
                                     " bytes those in its middle are left out, and its quotes are "
                                     "words like others");
        if (asked_.cut_words)
            page_.warnings.push_back("the query is too long: of more than " +
                                     std::to_string(query_words_max) +
                                     " words those in its middle and the end of its quotes are "
                                     "left out");
        if (unembedded_ > 0)
            page_.warnings.push_back(std::to_string(unembedded_) +
                                     (page_.mode == SearchMode::vector
                                          ? " messages are not compared yet: their vectors are "
                                            "being made"
                                          : " messages are compared by their words only: their "
                                            "vectors are being made"));
        if (sealed > 0)
            page_.warnings.push_back(std::to_string(sealed) +
                                     " encrypted messages cannot be searched without the key of "
                                     "the store");
        return {};
    }

    Memory::State& state_;
    const SearchRequest& request_;
    std::vector<Seq>* seen_;
    Shown shown_;
    Stemmer stemmer_;
    SearchQuery asked_;
    std::vector<SearchPlace> places_;
    std::uint64_t unembedded_ = 0;
    std::set<std::string> unread_;
    SearchPage page_;
};

}  // namespace

std::string_view search_mode_name(SearchMode mode) {
    constexpr std::string_view names[] = {"lexical", "vector", "hybrid"};
    return names[static_cast<std::size_t>(mode)];
}

std::optional<SearchMode> parse_search_mode(std::string_view name) {
    for (const SearchMode mode : {SearchMode::lexical, SearchMode::vector, SearchMode::hybrid})
        if (search_mode_name(mode) == name) return mode;
    return std::nullopt;
}

std::string marked_snippet(const SearchHit& hit, std::string_view open, std::string_view close) {
    std::string out;
    std::size_t at = 0;
    for (const auto& [begin, end] : hit.marks) {
        out += hit.snippet.substr(at, begin - at);
        out += open;
        out += hit.snippet.substr(begin, end - begin);
        out += close;
        at = end;
    }
    return out + hit.snippet.substr(at);
}

Result<SearchPage> search_memory(Memory::State& state, const SearchRequest& request,
                                 std::vector<Seq>* seen) {
    PAL_CHECK(check_id(request.tenant, "tenant"));
    if (request.conversation_id) PAL_CHECK(check_id(*request.conversation_id, "conversation_id"));
    if (request.mode && *request.mode != SearchMode::lexical && !state.embedder)
        return fail(ErrorCode::unprocessable,
                    "mode '" + std::string(search_mode_name(*request.mode)) +
                        "' needs an embedder and there is none; search with mode lexical",
                    "mode");
    if (request.query.empty() || request.limit == 0) {
        if (request.conversation_id)
            PAL_CHECK(state.store->head({request.tenant, *request.conversation_id}));
        return SearchPage{};
    }
    return SearchRun(state, request, seen).run();
}

Result<SearchPage> Memory::search(const SearchRequest& request) {
    return search_memory(*state_, request, nullptr);
}

Result<Reindexed> Memory::reindex(const ReindexRequest& request) {
    PAL_CHECK(check_id(request.tenant, "tenant"));
    SearchRequest all;
    all.tenant = request.tenant;
    PAL_TRY(places, search_places(*state_->store, all));
    Reindexed done;
    done.conversations = conversations_of(places);
    std::uint64_t sealed = 0;
    std::set<std::string> unread;
    std::uint64_t all_messages = 0, before = 0;
    for (const SearchPlace& place : places) all_messages += place.scope.header.messages;
    const auto tell = [&](std::uint64_t messages) {
        if (request.progress) request.progress(std::min(messages, all_messages), all_messages);
    };
    for (const SearchPlace& place : places) {
        const std::uint64_t here = place.scope.header.messages;
        const auto facts = state_->index->rebuild(
            place.scope.header, request.from_scratch,
            [&](std::uint64_t rest) { tell(before + here - std::min(here, rest)); });
        if (!facts && is_fault_of_one(facts.error()))
            unread.insert(place.shown.name.id);
        else if (!facts && facts.error().code != ErrorCode::not_found)
            return std::unexpected(facts.error());
        if (facts) {
            done.messages += facts->messages;
            done.words += facts->words;
            done.bytes += facts->bytes;
            done.vectors += facts->vectors;
            sealed += facts->sealed;
        }
        tell(before += here);
    }
    if (!unread.empty()) done.warnings.push_back(words_of_unread(unread));
    if (sealed > 0)
        done.warnings.push_back(std::to_string(sealed) +
                                " encrypted messages cannot be indexed without the key of the "
                                "store");
    return done;
}

}  // namespace palimpsest
