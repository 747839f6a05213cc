// The newest basis plus the tail must show what folding from scratch shows, now and at any past
// seq. The judge here is naive on purpose: it asks every edit in force about every message.
#include "core/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "core/codec.h"
#include "support/fold_judge.h"

using namespace palimpsest;
using namespace palimpsest::judge;

namespace {

std::uint32_t tokens_of_message(Seq seq) {
    return static_cast<std::uint32_t>(seq.value % 7 + 1);
}

Picture judged(const Log& log, Seq at) {
    return picture_of(log, at, [](const Entry& entry) { return tokens_of_message(entry.seq); });
}

// ---- the short way -----------------------------------------------------------------------------

Picture from_basis(const Log& log, Seq at) {
    Basis basis;
    for (const Entry& entry : log)
        if (entry.seq <= at && basis_of(entry.body)) basis = resolve_basis(entry);
    Picture picture;
    picture.tokens = tokens_of(basis);
    std::set<std::pair<Seq, std::uint32_t>> summaries;
    const auto show_messages = [&](Range range, const BasisItem& item) {
        for (const Entry& entry : log) {
            if (!range.contains(entry.seq) || kind_of(entry.body) != EntryKind::message) continue;
            if (item.treatment == Treatment::folded &&
                !summaries.insert({item.by, item.edit}).second)
                continue;
            picture.shown.push_back({entry.seq, item.treatment, item.by, item.edit});
        }
    };
    for (const BasisItem& item : basis.items) show_messages(item.range, item);
    for (const Entry& entry : log)
        if (entry.seq > basis.upto && entry.seq <= at &&
            kind_of(entry.body) == EntryKind::message) {
            picture.shown.push_back({entry.seq, Treatment::verbatim, Seq{}, 0});
            picture.tokens += tokens_of_message(entry.seq);
        }
    return picture;
}

// ---- a writer that keeps bases, as the engine does
// ------------------------------------------------

class Writer {
public:
    explicit Writer(unsigned seed) : random_(seed) {}

    void step() {
        switch (pick(12)) {
            case 0:
                compact(end());
                break;
            case 1:
                pin();
                break;
            case 2:
                edit(RetractEntry{random_range(end()), {Seq{pick(end().value) + 1}}, "", {}},
                     end());
                break;
            case 3:
                if (pick(3) == 0)
                    edit(RewindEntry{Seq{pick(end().value + 1)}, end(), "", {}}, end());
                break;
            case 4:
            case 5:
                undo();
                break;
            case 6:
                late_splice();
                break;
            case 7:
                add(NoteEntry{"call", nullptr});
                break;
            case 8:
                if (pick(4) == 0) fork();
                break;
            default:
                add(MessageEntry{});
                break;
        }
    }
    const Log& log() const { return log_; }
    Seq end() const { return Seq{log_.size()}; }
    std::uint64_t pick(std::uint64_t below) { return below == 0 ? 0 : random_() % below; }

private:
    void add(Body body) { log_.push_back({end() + 1, Time{}, 0, std::move(body)}); }

    std::optional<Basis> newest_basis() const {
        for (auto entry = log_.rbegin(); entry != log_.rend(); ++entry)
            if (basis_of(entry->body)) return resolve_basis(*entry);
        return std::nullopt;
    }

    Range random_range(Seq upto) {
        const Seq from{pick(upto.value) + 1};
        return {from, Seq{std::min(upto.value, from.value + pick(6))}};
    }

    std::vector<MessageFact> facts(const std::vector<Range>& ranges) const {
        std::vector<MessageFact> out;
        for (const Entry& entry : log_)
            if (kind_of(entry.body) == EntryKind::message &&
                std::any_of(ranges.begin(), ranges.end(),
                            [&](Range r) { return r.contains(entry.seq); }))
                out.push_back({entry.seq, tokens_of_message(entry.seq)});
        return out;
    }

    // Appends an edit entry whose basis reaches to `upto`; the tail after it stays verbatim.
    void edit(Body body, Seq upto) {
        if (upto.value == 0) return;
        const std::optional<Basis> newest = newest_basis();
        const Basis* old = newest ? &*newest : nullptr;
        const Change change = change_of(seq_of_new, body);
        Fold fold = old ? resume_fold(*old, upto) : empty_fold(upto);
        if (std::holds_alternative<UndoEntry>(body) || needs_refold(fold, change)) {
            Log with = log_;
            with.push_back({seq_of_new, Time{}, 0, body});
            fold = refold(changes_in_force(with, seq_of_new), upto);
        } else {
            apply_change(fold, change);
        }
        *basis_of(body) = store_basis(seal_basis(fold, old, facts(facts_needed(fold, old)), 1));
        add(std::move(body));
    }

    void compact(Seq upto) {
        if (upto.value == 0) return;
        CompactionEntry entry;
        for (std::uint64_t n = pick(3) + 1; n > 0; --n) {
            Edit one;
            one.treatment = static_cast<Treatment>(pick(4) + 1);
            one.range = random_range(upto);
            if (one.treatment < Treatment::folded) one.range.to = one.range.from;
            one.after = {1, static_cast<std::uint32_t>(pick(5))};
            entry.edits.push_back(one);
        }
        edit(entry, upto);
    }

    void pin() {
        if (end().value == 0) return;
        const Range range = random_range(end());
        std::vector<Seq> targets;
        for (Seq seq = range.from; seq <= range.to; seq = seq + 1)
            if (kind_of(log_[seq.value - 1].body) == EntryKind::message) targets.push_back(seq);
        if (!targets.empty()) edit(PinEntry{targets, pick(3) != 0, {}}, end());
    }

    void undo() {
        std::vector<const Entry*> edits;
        for (const Entry& entry : log_)
            if (basis_kinds.has(kind_of(entry.body))) edits.push_back(&entry);
        if (edits.empty()) return;
        const Entry& target = *edits[pick(edits.size())];
        edit(UndoEntry{target.seq, *undo_root(target.seq, target.body), {}}, end());
    }

    // A summary computed now, spliced in after more was said: the compare-and-set on the basis
    // holds because nothing but messages and notes comes between.
    void late_splice() {
        const Seq upto = end();
        if (upto.value == 0) return;
        for (std::uint64_t n = pick(4); n > 0; --n) add(MessageEntry{});
        compact(upto);
    }

    // A fork shares the log up to a seq and goes on by itself.
    void fork() { log_.resize(pick(log_.size() + 1)); }

    std::mt19937_64 random_;
    Log log_;
};

}  // namespace

TEST(fold, the_newest_basis_and_the_tail_show_what_folding_from_scratch_shows) {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        Writer writer(seed);
        for (int step = 0; step < 60; ++step) {
            writer.step();
            const Seq now = writer.end();
            ASSERT_EQ(from_basis(writer.log(), now), judged(writer.log(), now))
                << "seed " << seed << " step " << step;
            const Seq past{writer.pick(now.value + 1)};
            ASSERT_EQ(from_basis(writer.log(), past), judged(writer.log(), past))
                << "seed " << seed << " at " << past.value;
        }
    }
}

TEST(fold, refolding_all_that_is_in_force_gives_the_same_runs) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
        Writer writer(seed);
        for (int step = 0; step < 60; ++step) writer.step();
        const Seq now = writer.end();
        const std::vector<Change> changes = changes_in_force(writer.log(), now);
        std::vector<Seq> seqs;
        for (const Change& change : changes) seqs.push_back(change.seq);
        EXPECT_EQ(in_force(edits_upto(writer.log(), now)), seqs) << "seed " << seed;
        EXPECT_EQ(refold(changes, now).applied, seqs);
    }
}

TEST(fold, bases_come_back_from_their_bytes) {
    Writer writer(7);
    for (int step = 0; step < 200; ++step) writer.step();
    for (const Entry& entry : writer.log()) {
        const EncodedBody encoded = encode_body(entry.body);
        const auto body = decode_body(kind_of(entry.body), encoded.meta, encoded.payload);
        ASSERT_TRUE(body);
        const Basis* basis = basis_of(entry.body);
        EXPECT_TRUE(!basis || *basis_of(*body) == *basis);
    }
}

TEST(fold, a_fold_of_almost_everything_needs_facts_of_the_rest_only) {
    Fold fold = empty_fold(Seq{100'000});
    apply_change(fold, {.seq = Seq{100'001},
                        .statements = {{Treatment::folded, {Seq{1}, Seq{99'900}}, 50}}});
    std::vector<MessageFact> all;
    for (std::uint64_t i = 1; i <= 100'000; ++i) all.push_back({Seq{i}, 1});
    const Basis first = seal_basis(fold, nullptr, all, 1);
    ASSERT_EQ(first.items.size(), 2u);
    EXPECT_EQ(first.items[0].messages, 99'900u);
    EXPECT_EQ(tokens_of(first), 150u);
    // Another edit in the tail asks about the tail, not about the history.
    Fold next = resume_fold(first, Seq{100'010});
    apply_change(next, {.seq = Seq{100'011},
                        .statements = {{Treatment::dropped, {Seq{99'950}, Seq{99'960}}, 0}}});
    for (const Range& range : facts_needed(next, &first)) EXPECT_GT(range.from, Seq{99'900});
}

TEST(fold, a_summary_whose_last_message_is_pinned_vanishes_and_comes_back) {
    const std::vector<MessageFact> facts = {{Seq{1}, 5}, {Seq{2}, 5}};
    const Change summary{.seq = Seq{3}, .statements = {{Treatment::folded, {Seq{1}, Seq{1}}, 2}}};
    const Change pin{.seq = Seq{4}, .pin_targets = {Seq{1}}};
    const Basis pinned = seal_basis(refold(std::vector{summary, pin}, Seq{4}), nullptr, facts, 1);
    EXPECT_EQ(tokens_of(pinned), 10u);
    const Basis unpinned = seal_basis(refold(std::vector{summary}, Seq{4}), nullptr, facts, 1);
    EXPECT_EQ(tokens_of(unpinned), 7u);
}
