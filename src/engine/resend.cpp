// The log as a client of some format would have it, and what it lacks.
//
// Messages that are stored in another format than the client's are compared as the client was told
// them: converted, items of one answer joined. Messages that a rewind took away are not compared at
// all: the client does not have them any more.
#include "engine/resend.h"

#include <algorithm>
#include <set>

#include "core/fold.h"
#include "core/recollect.h"
#include "core/resend.h"
#include "format/request.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

// A message of the log and what is known of it beside.
struct Stored {
    Message message = {};
    Seq seq = {};
    bool hidden = false, interrupted = false, left_out = false;
};

std::vector<Stored> from_view(const HotView& view) {
    std::vector<Stored> all;
    all.reserve(view.items.size());
    for (const Item& item : view.items)
        if (!is_recalled(item.message))
            all.push_back({item.message, item.range.from, false, item.interrupted});
    std::ranges::sort(all, {}, &Stored::seq);
    return all;
}

bool covers(const std::vector<Range>& ranges, Seq seq) {
    return std::ranges::any_of(ranges, [&](const Range& range) { return range.contains(seq); });
}

void mark_left_out(std::vector<Stored>& all, const HotView& view) {
    std::set<Seq> shown;
    std::vector<Range> told;  // by summaries
    for (const Item& item : view.items)
        if (item.kind == ItemKind::summary)
            told.push_back(item.range);
        else
            shown.insert(item.range.from);
    for (Stored& one : all) one.left_out = !shown.contains(one.seq) && !covers(told, one.seq);
}

// In the order in which they are sent: a result that came late stands with its call.
std::vector<Stored> as_sent(const std::vector<Stored>& all) {
    std::vector<Item> items(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        items[i].range = {all[i].seq, all[i].seq};
        items[i].message = all[i].message;
    }
    std::vector<Stored> out;
    for (const Item& item : arrange(std::move(items)))
        out.push_back(*std::ranges::lower_bound(all, item.range.from, {}, &Stored::seq));
    return out;
}

// What the rewinds and the retracts in force took away.
struct Gone {
    std::vector<Range> rewound = {}, retracted = {};
};

Result<Gone> read_gone(Store& store, const Header& header) {
    Gone gone;
    PAL_TRY(basis, load_basis(store, header, header.end));
    if (!basis || basis->applied.empty()) return gone;
    ReadQuery query{.kinds = basis_kinds};
    query.content = false;
    for (const Seq seq : basis->applied) query.ranges.push_back({seq, seq});
    PAL_TRY(entries, read_lineage(store, header, query));
    for (const Entry& entry : entries) {
        if (const auto* rewind = std::get_if<RewindEntry>(&entry.body))
            gone.rewound.push_back({rewind->to + 1, rewind->upto});
        if (const auto* retract = std::get_if<RetractEntry>(&entry.body)) {
            gone.retracted.push_back(retract->range);
            for (const Seq seq : retract->also) gone.retracted.push_back({seq, seq});
        }
    }
    return gone;
}

Result<std::vector<Entry>> read_messages_of(Store& store, const Header& header, FormatId format) {
    ReadQuery query{.kinds = only(EntryKind::message)};
    query.content = false;
    PAL_TRY(entries, read_lineage(store, header, query));
    const bool foreign = std::ranges::any_of(entries, [&](const Entry& entry) {
        return std::get<MessageEntry>(entry.body).message.format != format;
    });
    if (!foreign) return entries;
    query.content = true;  // Only their bytes tell what they are in the other format.
    return read_lineage(store, header, query);
}

Result<std::vector<Stored>> from_log(Store& store, const Header& header, FormatId format) {
    PAL_TRY(gone, read_gone(store, header));
    PAL_TRY(entries, read_messages_of(store, header, format));
    std::vector<Stored> all;
    for (Entry& entry : entries) {
        auto& said = std::get<MessageEntry>(entry.body);
        // What the engine quoted no client has.
        if (covers(gone.rewound, entry.seq) || is_recalled(said.message)) continue;
        all.push_back({std::move(said.message), entry.seq, covers(gone.retracted, entry.seq),
                       said.interrupted});
    }
    return all;
}

KnownMessage known_of(const Stored& stored) {
    return {.fingerprint = stored.message.fingerprint,
            .role = stored.message.shape.role,
            .range = {stored.seq, stored.seq},
            .hidden = stored.hidden,
            .left_out = stored.left_out,
            .interrupted = stored.interrupted};
}

// A run of messages of one role in another format, as the client was told it.
void add_converted(std::span<const Stored> run, FormatId format, std::vector<KnownMessage>& known) {
    std::vector<Message> messages;
    for (const Stored& one : run) messages.push_back(one.message);
    const Result<Rendered> told = convert_messages(format, messages);
    if (!told) {
        for (const Stored& one : run) known.push_back(known_of(one));
        return;
    }
    const bool one_to_one = told->messages.size() == run.size();
    for (std::size_t i = 0; i < told->messages.size(); ++i) {
        KnownMessage one = known_of(one_to_one ? run[i] : run.back());
        one.fingerprint = told->messages[i].fingerprint;
        one.role = told->messages[i].shape.role;
        if (!one_to_one) one.range = {run.front().seq, run.back().seq};
        known.push_back(one);
    }
}

std::vector<KnownMessage> known_to(FormatId format, std::span<const Stored> all) {
    std::vector<KnownMessage> known;
    known.reserve(all.size());
    for (std::size_t i = 0; i < all.size();) {
        if (all[i].message.format == format || !all[i].message.raw) {
            known.push_back(known_of(all[i++]));
            continue;
        }
        std::size_t end = i + 1;
        while (end < all.size() && all[end].message.format == all[i].message.format &&
               all[end].message.shape.role == all[i].message.shape.role && all[end].message.raw)
            ++end;
        add_converted(all.subspan(i, end - i), format, known);
        i = end;
    }
    return known;
}

// Where the words begin that the answer is for: behind the newest answer before the anchor.
Seq turn_of(std::span<const KnownMessage> known, std::size_t anchor) {
    std::size_t first = anchor;
    while (first > 0 && known[first].role != Role::assistant &&
           known[first - 1].role != Role::assistant)
        --first;
    return known[first].range.from;
}

struct Matched {
    std::vector<KnownMessage> known = {};
    Resend resend = {};
};

Matched match(FormatId format, std::span<const Stored> all,
              std::span<const ResentMessage> incoming) {
    Matched out{.known = known_to(format, all)};
    out.resend = find_resend(out.known, incoming);
    return out;
}

// A client may have a late result where it came or with its call, and went back only if it did so
// in either order.
Matched match_either(FormatId format, const std::vector<Stored>& all,
                     std::span<const ResentMessage> incoming) {
    Matched told = match(format, all, incoming);
    if (!told.resend.rewind_to) return told;
    Matched sent = match(format, as_sent(all), incoming);
    return sent.resend.rewind_to ? told : sent;
}

}  // namespace

Result<Heard> hear(Memory::State& state, const HotView& view, FormatId format,
                   const std::vector<Said>& said) {
    std::vector<Stored> all;
    if (view.header.basis == Seq{}) {
        all = from_view(view);
    } else {
        PAL_TRY(read, from_log(*state.store, view.header, format));
        all = std::move(read);
        mark_left_out(all, view);
    }
    std::vector<ResentMessage> incoming;
    for (const Said& one : said)
        incoming.push_back({one.message.fingerprint, one.message.shape.role});
    const auto [known, resend] = match_either(format, all, incoming);
    Heard heard{.said = {said.begin() + static_cast<std::ptrdiff_t>(resend.first_new), said.end()},
                .rewind_to = resend.rewind_to};
    if (heard.said.empty() && resend.anchor) heard.turn = turn_of(known, *resend.anchor);
    if (resend.ignored > 0)
        heard.warnings.push_back(std::to_string(resend.ignored) +
                                 " messages that this conversation does not have stand before ones "
                                 "that it has: they were left out");
    if (heard.rewind_to)
        heard.warnings.push_back("the conversation went back to seq " +
                                 std::to_string(heard.rewind_to->value) +
                                 ": the client has nothing of what came behind it; undo brings it "
                                 "back");
    return heard;
}

}  // namespace palimpsest
