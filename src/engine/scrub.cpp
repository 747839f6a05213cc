// Scrub: content gone for good, position kept.
//
// The message stays where it is with its role and call ids and nothing else. So do messages that
// quote it (quoting.h), however many steps away. Every edit whose result may hold their words (a
// rewritten copy, a summary that covers one) loses that result. All of this in the log that owns
// the message and in all forks that share it, as one atomic step of the store.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/ids.h"
#include "core/recollect.h"
#include "engine/count.h"
#include "engine/quoting.h"
#include "engine/state.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "search/store_index.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

Result<Body> scrubbed_body(const Tokenizer& tokenizer, const Entry& entry) {
    const auto* said = std::get_if<MessageEntry>(&entry.body);
    if (!said)
        return fail(ErrorCode::invalid_request,
                    "seq " + std::to_string(entry.seq.value) + " is a " +
                        std::string(entry_kind_name(kind_of(entry.body))) +
                        ", only messages can be scrubbed",
                    "seq");
    MessageEntry scrubbed = *said;
    PAL_TRY(raw, scrubbed_message(said->message));
    scrubbed.message.raw = raw;
    // A quotation stays known as one: its fingerprint tells nothing of its text.
    if (!is_recalled(said->message)) scrubbed.message.fingerprint = {};
    scrubbed.scrubbed = true;
    PAL_TRY(count, count_message(tokenizer, scrubbed.message));
    scrubbed.message.count = count;
    return scrubbed;
}

// Whether an edit of the entry held words of that message; its result is then gone.
bool scrub_edits(CompactionEntry& entry, Seq seq, const MessageEntry& left) {
    bool changed = false;
    for (Edit& edit : entry.edits) {
        if (!edit.range.contains(seq) || !edit.result || edit.scrubbed) continue;
        const bool folded = edit.treatment == Treatment::folded;
        edit.result = folded ? make_bytes("") : left.message.raw;
        edit.after = {left.message.count.scheme, folded ? 0 : left.message.count.tokens};
        edit.reason = "scrubbed";
        edit.scrubbed = true;
        changed = true;
    }
    return changed;
}

// The log and every log forked from it that shares the message, however deep. A fork that branched
// off before the message never saw it, nor did what was forked from that one.
Result<std::vector<Header>> sharers_of(Store& store, const Header& owner, Seq seq) {
    std::vector<Header> all;
    std::deque<Header> open{owner};
    for (; !open.empty(); open.pop_front()) {
        ListQuery query;
        query.tenant = owner.name.tenant;
        query.children_of = open.front().log;
        query.limit = 1000;
        do {
            PAL_TRY(page, store.list(query));
            for (Header& child : page.headers)
                if (child.base >= seq) open.push_back(std::move(child));
            query.after = page.next;
        } while (!query.after.empty());
        all.push_back(open.front());
    }
    return all;
}

// Finds what must be replaced now.
class ScrubSearch {
public:
    explicit ScrubSearch(Memory::State& state) : state_(state), store_(*state.store) {}

    // The messages themselves only if `with_messages`; what quotes them in any case.
    Result<std::vector<Replacement>> find(const Header& header, const std::vector<Seq>& messages,
                                          bool with_messages) {
        for (const Seq seq : messages) {
            PAL_TRY(owner, owner_of(store_, header, seq));
            add({owner, seq, with_messages});
        }
        for (; !open_.empty(); open_.pop_front()) PAL_CHECK(look_at(open_.front()));
        return std::move(out_);
    }
    // All whose views may show words of what was found.
    const std::set<ConversationId>& sharers() const { return sharers_; }

private:
    struct Place {
        Header owner = {};
        Seq seq = {};
        bool replaced = true;
    };
    void add(Place place) {
        if (seen_.emplace(place.owner.log, place.seq).second) open_.push_back(std::move(place));
    }

    Result<void> look_at(const Place& place) {
        PAL_TRY(entry, read_entry(store_, place.owner, place.seq));
        PAL_TRY(body, scrubbed_body(*state_.tokenizer, entry));
        PAL_TRY(sharers, sharers_of(store_, place.owner, place.seq));
        for (const Header& log : sharers) {
            sharers_.insert(log.name);
            PAL_CHECK(add_edits(log, place.seq, std::get<MessageEntry>(body)));
            PAL_CHECK(add_quoting(log, place.seq));
        }
        if (place.replaced) out_.push_back({place.owner.log, place.seq, std::move(body)});
        return {};
    }

    Result<void> add_edits(const Header& log, Seq seq, const MessageEntry& left) {
        ReadQuery query{.ranges = {{seq + 1, seq_max}}, .kinds = only(EntryKind::compaction)};
        PAL_TRY(entries, store_.read(log.log, query));
        for (Entry& entry : entries) {
            const auto same = std::find_if(out_.begin(), out_.end(), [&](const Replacement& r) {
                return r.log == log.log && r.seq == entry.seq;
            });
            Body& body = same != out_.end() ? same->body : entry.body;
            if (scrub_edits(std::get<CompactionEntry>(body), seq, left) && same == out_.end())
                out_.push_back({log.log, entry.seq, std::move(body)});
        }
        return {};
    }

    Result<void> add_quoting(const Header& log, Seq seq) {
        auto known = quoting_.find(log.log);
        if (known == quoting_.end()) {
            PAL_TRY(read, read_quoting([&](const ReadQuery& q) { return store_.read(log.log, q); },
                                       log.base, log.end));
            known = quoting_.emplace(log.log, std::move(read)).first;
        }
        for (const Quoting& one : known->second)
            if (quotes_any(one, [&](Seq origin) { return origin == seq; }))
                add({log, one.seq, true});
        return {};
    }

    Memory::State& state_;
    Store& store_;
    std::deque<Place> open_;
    std::set<std::pair<LogId, Seq>> seen_;
    std::map<LogId, std::vector<Quoting>> quoting_;
    std::set<ConversationId> sharers_;
    std::vector<Replacement> out_;
};

}  // namespace

Result<void> Memory::scrub(const ConversationId& name, const std::vector<Seq>& messages) {
    PAL_TRY(header, head(name));
    if (messages.empty())
        return fail(ErrorCode::invalid_request, "no message was named to scrub", "seq");
    // The first step moves the epoch, so no edit or quotation that was planned before it can be
    // written after it; what slipped in between is found by looking again.
    for (bool first = true;; first = false) {
        ScrubSearch search(*state_);
        PAL_TRY(replacements, search.find(header, messages, first));
        if (replacements.empty()) return {};
        PAL_CHECK(state_->store->scrub(replacements));
        for (const ConversationId& sharer : search.sharers()) {
            state_->hot->drop(sharer);
            state_->measures->drop(sharer);
        }
        // The messages lie in one log of the lineage each; their words go with them.
        for (const Replacement& replacement : replacements)
            PAL_CHECK(state_->index->remove(name.tenant, replacement.log));
    }
}

}  // namespace palimpsest
