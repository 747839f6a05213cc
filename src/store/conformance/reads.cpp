// Reading one log: ranges, kinds, the last n, without content.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

// 1 2 3 are messages, 4 a checkpoint, 5 a pin, 6 7 messages.
LogId seven(Probe& store) {
    return must(store->append(named("a"), writes({said("1"), said("2"), said("3"), marked("m"),
                                                  pinned(Seq{1}), said("6"), said("7")})))
        .header.log;
}

std::vector<Seq> seqs(Probe& store, const LogId& log, const ReadQuery& query) {
    std::vector<Seq> found;
    for (const Entry& entry : must(store->read(log, query))) found.push_back(entry.seq);
    return found;
}
using Seqs = std::vector<Seq>;

constexpr ConformanceCheck checks[] = {
    {"reading_an_absent_log_is_not_found",
     [](Probe& store) {
         LogId nobody;
         nobody.bytes.fill(9);
         refused(store->read(nobody, {}), ErrorCode::not_found);
     }},
    {"reading_without_ranges_gives_everything",
     [](Probe& store) {
         equal(seqs(store, seven(store), {}), Seqs{{1}, {2}, {3}, {4}, {5}, {6}, {7}});
     }},
    {"ranges_are_inclusive_and_cut_at_the_ends",
     [](Probe& store) {
         const LogId log = seven(store);
         equal(seqs(store, log, {.ranges = {{Seq{2}, Seq{3}}}}), Seqs{{2}, {3}});
         equal(seqs(store, log, {.ranges = {{Seq{3}, Seq{3}}}}), Seqs{{3}});
         equal(seqs(store, log, {.ranges = {{Seq{6}, seq_max}}}), Seqs{{6}, {7}});
         equal(seqs(store, log, {.ranges = {{Seq{0}, Seq{1}}}}), Seqs{{1}});
         equal(seqs(store, log, {.ranges = {{Seq{8}, Seq{9}}}}), Seqs{});
         equal(seqs(store, log, {.ranges = {{Seq{5}, Seq{4}}}}), Seqs{});
     }},
    {"several_ranges_are_read_in_one_call",
     [](Probe& store) {
         const LogId log = seven(store);
         const std::vector<Range> ranges = {{Seq{1}, Seq{2}}, {Seq{4}, Seq{4}}, {Seq{6}, Seq{9}}};
         equal(seqs(store, log, {.ranges = ranges}), Seqs{{1}, {2}, {4}, {6}, {7}});
         equal(seqs(store, log, {.ranges = ranges, .newest_first = true}),
               Seqs{{7}, {6}, {4}, {2}, {1}});
         equal(seqs(store, log, {.ranges = ranges, .limit = 3}), Seqs{{1}, {2}, {4}});
     }},
    {"the_last_n_are_read_newest_first",
     [](Probe& store) {
         const LogId log = seven(store);
         equal(seqs(store, log, {.limit = 2, .newest_first = true}), Seqs{{7}, {6}});
         equal(seqs(store, log, {.limit = 99, .newest_first = true}).size(), 7U);
         equal(seqs(store, log, {.limit = 2}), Seqs{{1}, {2}});
     }},
    {"a_limit_of_zero_reads_nothing",
     [](Probe& store) {
         const LogId log = seven(store);
         equal(seqs(store, log, {.limit = 0}), Seqs{});
         equal(seqs(store, log, {.limit = 0, .newest_first = true}), Seqs{});
     }},
    {"kinds_are_read_alone",
     [](Probe& store) {
         const LogId log = seven(store);
         equal(seqs(store, log, {.kinds = only(EntryKind::message)}),
               Seqs{{1}, {2}, {3}, {6}, {7}});
         equal(seqs(store, log, {.kinds = only(EntryKind::checkpoint)}), Seqs{{4}});
         equal(seqs(store, log, {.kinds = basis_kinds}), Seqs{{5}});
         equal(seqs(store, log, {.kinds = only(EntryKind::undo)}), Seqs{});
     }},
    {"a_limit_counts_what_the_kinds_let_through",
     [](Probe& store) {
         const LogId log = seven(store);
         equal(seqs(store, log,
                    {.kinds = only(EntryKind::message), .limit = 3, .newest_first = true}),
               Seqs{{7}, {6}, {3}});
         equal(seqs(store, log, {.ranges = {{Seq{1}, Seq{6}}}, .kinds = basis_kinds, .limit = 1}),
               Seqs{{5}});
     }},
    {"overlapping_or_unordered_ranges_are_refused",
     [](Probe& store) {
         const LogId log = seven(store);
         refused(store->read(log, {.ranges = {{Seq{1}, Seq{3}}, {Seq{3}, Seq{4}}}}),
                 ErrorCode::invalid_request);
         refused(store->read(log, {.ranges = {{Seq{5}, Seq{6}}, {Seq{1}, Seq{2}}}}),
                 ErrorCode::invalid_request);
     }},
    {"without_content_the_shape_of_a_message_is_still_there",
     [](Probe& store) {
         const LogId log = must(store->append(named("a"), says({"secret"}))).header.log;
         const Entry entry = must(store->read(log, {.content = false})).at(0);
         const auto& message = std::get<MessageEntry>(entry.body).message;
         check(message.raw == nullptr, "no raw bytes");
         check(message.shape == Shape{.text = true}, "the shape");
         check(message.count == Count{1, 6}, "the count");
         check(message.fingerprint != Fingerprint{}, "the fingerprint");
     }},
    {"without_content_edits_and_notes_have_no_bytes",
     [](Probe& store) {
         const Edit edit{
             .range = {Seq{1}, Seq{1}}, .result = make_bytes("in short"), .reason = "r"};
         const CompactionEntry compaction{.edits = {edit}, .basis = {.upto = Seq{1}}};
         const NoteEntry note{.kind = "call", .body = make_bytes("{}")};
         const LogId log = must(store->append(named("a"), writes({compaction, note}))).header.log;
         const std::vector<Entry> entries = must(store->read(log, {.content = false}));
         const auto& bare = std::get<CompactionEntry>(entries.at(0).body);
         check(bare.edits.at(0).result == nullptr, "no result");
         equal(bare.edits.at(0).reason, "r");
         equal(bare.basis.upto, Seq{1});
         check(std::get<NoteEntry>(entries.at(1).body).body == nullptr, "no note");
         equal(std::get<NoteEntry>(entries.at(1).body).kind, "call");
     }},
    {"a_new_basis_is_found_behind_ten_thousand_messages",
     [](Probe& store) {
         Batch batch = writes({pinned(Seq{1})});
         for (int i = 0; i < 10'000; ++i) batch.entries.push_back({said("x")});
         const LogId log = must(store->append(named("a"), batch)).header.log;
         equal(seqs(store, log, {.kinds = basis_kinds, .limit = 1, .newest_first = true}),
               Seqs{{1}});
     }},
    {"what_was_read_stays_as_it_was_when_the_log_goes_on",
     [](Probe& store) {
         const Header header = written(store, "a", {"1"});
         const std::vector<Entry> before = must(store->read(header.log, {}));
         const Replacement gone[] = {{header.log, Seq{1}, said("gone")}};
         must(store->append(named("a"), says({"2"})));
         must(store->scrub(gone));
         must(store->erase(named("a")));
         equal(texts_of(before), Texts{"1"});
     }},
};

}  // namespace

std::span<const ConformanceCheck> read_checks() {
    return checks;
}

}  // namespace palimpsest
