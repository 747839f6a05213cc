// Scrub: content gone for good, position kept.
//
// The message stays where it is with its role and call ids and nothing else. Every edit whose
// result may hold its words (a rewritten copy, a summary that covers it) loses that result, in the
// log that owns the message and in all forks below it. All of it is one atomic step of the store.
#include <algorithm>
#include <deque>

#include "base/ids.h"
#include "engine/count.h"
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
    scrubbed.message.fingerprint = {};
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

// The log and every log forked from it, however deep.
Result<std::vector<Header>> family_of(Store& store, const Header& root) {
    std::vector<Header> all;
    std::deque<Header> open{root};
    for (; !open.empty(); open.pop_front()) {
        ListQuery query;
        query.tenant = root.name.tenant;
        query.children_of = open.front().log;
        query.limit = 1000;
        do {
            PAL_TRY(page, store.list(query));
            for (Header& child : page.headers) open.push_back(std::move(child));
            query.after = page.next;
        } while (!query.after.empty());
        all.push_back(open.front());
    }
    return all;
}

Result<void> add_edit_replacements(Store& store, const std::vector<Header>& family, Seq seq,
                                   const MessageEntry& left, std::vector<Replacement>& out) {
    for (const Header& log : family) {
        // A fork that branched off before the message never saw it.
        if (log.base < seq && log.log != family.front().log) continue;
        ReadQuery query{.ranges = {{seq + 1, seq_max}}, .kinds = only(EntryKind::compaction)};
        PAL_TRY(entries, store.read(log.log, query));
        for (Entry& entry : entries) {
            const auto same = std::find_if(out.begin(), out.end(), [&](const Replacement& r) {
                return r.log == log.log && r.seq == entry.seq;
            });
            Body& body = same != out.end() ? same->body : entry.body;
            if (scrub_edits(std::get<CompactionEntry>(body), seq, left) && same == out.end())
                out.push_back({log.log, entry.seq, std::move(body)});
        }
    }
    return {};
}

// What must be replaced now; the messages themselves only if `with_messages`.
Result<std::vector<Replacement>> find_replacements(Memory::State& state, const Header& header,
                                                   const std::vector<Seq>& messages,
                                                   bool with_messages) {
    std::vector<Replacement> out;
    for (const Seq seq : messages) {
        PAL_TRY(entry, read_entry(*state.store, header, seq));
        PAL_TRY(owner, owner_of(*state.store, header, seq));
        PAL_TRY(body, scrubbed_body(*state.tokenizer, entry));
        PAL_TRY(family, family_of(*state.store, owner));
        PAL_CHECK(
            add_edit_replacements(*state.store, family, seq, std::get<MessageEntry>(body), out));
        if (with_messages) out.push_back({owner.log, seq, std::move(body)});
    }
    return out;
}

}  // namespace

Result<void> Memory::scrub(const ConversationId& name, const std::vector<Seq>& messages) {
    PAL_TRY(header, head(name));
    if (messages.empty())
        return fail(ErrorCode::invalid_request, "no message was named to scrub", "seq");
    // The first step moves the epoch, so no edit that was planned before it can be written after
    // it; what slipped in between is found by looking again.
    for (bool first = true;; first = false) {
        PAL_TRY(replacements, find_replacements(*state_, header, messages, first));
        if (replacements.empty()) return {};
        PAL_CHECK(state_->store->scrub(replacements));
        // The messages lie in one log of the lineage each; their words go with them.
        for (const Replacement& replacement : replacements)
            PAL_CHECK(state_->index->remove(name.tenant, replacement.log));
    }
}

}  // namespace palimpsest
