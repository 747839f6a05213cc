// Appending: atomic, ordered, refused when what was expected is not so.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

// One entry of every kind, with every field that a store has to keep.
std::vector<Body> one_of_each() {
    const Basis basis{.upto = Seq{2},
                      .scheme = 3,
                      .items = {{{Seq{1}, Seq{1}}, Treatment::folded, Seq{2}, 0, 1, 9}},
                      .applied = {Seq{2}},
                      .pinned = {Seq{1}}};
    const Message call{.format = FormatId::anthropic,
                       .shape = {Role::assistant, {"c1", "c2"}, {"c0"}, true, true, 2},
                       .raw = make_bytes("{\"a\":\"\xc3\xa9\"}"),
                       .fingerprint = {1, UINT64_MAX},
                       .count = {7, 4'000'000'000U}};
    const Edit edit{.treatment = Treatment::folded,
                    .range = {Seq{1}, Seq{1}},
                    .result = make_bytes("in short"),
                    .reason = "old",
                    .pass = "summarize",
                    .before = {1, 2},
                    .after = {3, 4}};
    return {MessageEntry{.message = call, .interrupted = true, .scrubbed = true, .answers = Seq{9}},
            CompactionEntry{Cause::overflow, "tokens", "{}", 5, 6, {edit}, basis},
            PinEntry{.targets = {Seq{1}, Seq{4}}, .on = false, .basis = basis},
            RetractEntry{.range = {Seq{1}, Seq{2}}, .reason = "by hand", .basis = basis},
            RewindEntry{.to = Seq{1}, .upto = Seq{2}, .reason = "edited", .basis = basis},
            UndoEntry{.target = Seq{3}, .root = Seq{2}, .basis = basis},
            CheckpointEntry{.name = "here", .metadata = "{\"k\":1}"},
            NoteEntry{.kind = "call", .body = make_bytes("{}")}};
}

constexpr ConformanceCheck checks[] = {
    {"append_creates_an_absent_conversation",
     [](Probe& store) {
         const Appended done = must(store->append(named("a"), says({"hello"})));
         check(done.created && !done.again, "created");
         equal(done.first, Seq{1});
         equal(done.last, Seq{1});
         equal(texts(store, "a"), Texts{"hello"});
         check(!must(store->append(named("a"), says({"again"}))).created, "created once");
     }},
    {"append_can_be_told_not_to_create",
     [](Probe& store) {
         Batch batch = says({"hello"});
         batch.if_absent = IfAbsent::fail;
         refused(store->append(named("a"), batch), ErrorCode::not_found);
         refused(store->head(named("a")), ErrorCode::not_found);
         written(store, "a", {"1"});
         equal(must(store->append(named("a"), batch)).last, Seq{2});
     }},
    {"an_empty_batch_creates_an_empty_conversation",
     [](Probe& store) {
         const Appended done = must(store->append(named("a"), Batch{}));
         check(done.created, "created");
         equal(done.first, Seq{1});
         equal(done.last, Seq{0});
         equal(must(store->head(named("a"))).messages, 0U);
         equal(texts(store, "a"), Texts{});
     }},
    {"seqs_go_on_without_a_gap",
     [](Probe& store) {
         for (std::uint64_t i = 0; i < 20; ++i) {
             const Appended done = must(store->append(named("a"), says({"x", "y", "z"})));
             equal(done.first, Seq{3 * i + 1});
             equal(done.last, Seq{3 * i + 3});
             equal(done.header.end, done.last);
         }
         const LogId log = must(store->head(named("a"))).log;
         Seq next{1};
         for (const Entry& entry : must(store->read(log, {}))) {
             equal(entry.seq, next);
             next = next + 1;
         }
         equal(next, Seq{61});
     }},
    {"a_batch_is_kept_in_its_order",
     [](Probe& store) {
         must(store->append(named("a"), says({"c", "a", "b"})));
         must(store->append(named("a"), says({"a", "c"})));
         equal(texts(store, "a"), Texts{"c", "a", "b", "a", "c"});
     }},
    {"what_was_said_comes_back_byte_for_byte",
     [](Probe& store) {
         const std::string odd("\0\xff\r\n{\"a\":  1.0}\xf0\x9f\x98\x80", 20);
         const std::string long_text(1 << 20, '\'');
         must(store->append(named("a"), says({"", odd, long_text})));
         equal(texts(store, "a"), Texts{"", odd, long_text});
     }},
    {"every_kind_of_entry_comes_back_as_it_was",
     [](Probe& store) {
         const std::vector<Body> bodies = one_of_each();
         const Header header = must(store->append(named("a"), writes(bodies))).header;
         const std::vector<Entry> entries = must(store->read(header.log, {}));
         equal(entries.size(), entry_kind_count);
         for (std::size_t i = 0; i < entries.size(); ++i) equal(entries[i].body, bodies[i]);
     }},
    {"a_message_of_forty_thousand_bytes_is_not_lost_among_a_hundred_short_ones",
     [](Probe& store) {
         const std::string large(40'000, 'w');
         for (int i = 0; i < 100; ++i) must(store->append(named("a"), says({"short"})));
         must(store->append(named("a"), says({large})));
         for (int i = 0; i < 100; ++i) must(store->append(named("a"), says({"short"})));
         equal(must(store->head(named("a"))).messages, 201U);
         equal(texts(store, "a").at(100), large);
     }},
    {"a_batch_of_a_thousand_entries_is_one_write",
     [](Probe& store) {
         Batch batch;
         for (int i = 0; i < 1000; ++i) batch.entries.push_back({said(std::to_string(i))});
         equal(must(store->append(named("a"), batch)).last, Seq{1000});
         equal(texts(store, "a").at(999), "999");
     }},
    {"what_the_caller_does_with_its_batch_afterwards_changes_nothing",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.patch.metadata_merge = "{\"a\":{\"b\":1}}";
         must(store->append(named("a"), batch));
         batch.entries.front().body = said("changed");
         *batch.patch.metadata_merge = "{}";
         Header header = must(store->head(named("a")));
         equal(header.metadata, "{\"a\":{\"b\":1}}");
         header.metadata = "changed";
         equal(must(store->head(named("a"))).metadata, "{\"a\":{\"b\":1}}");
         equal(texts(store, "a"), Texts{"1"});
     }},
    {"an_entry_may_bring_its_own_time",
     [](Probe& store) {
         const Time then{std::chrono::milliseconds(1'000'000'000'123)};
         Batch batch = says({"imported", "now"});
         batch.entries.front().at = then;
         const Header header = must(store->append(named("a"), batch)).header;
         const std::vector<Entry> entries = must(store->read(header.log, {}));
         equal(entries.at(0).at, then);
         equal(entries.at(1).at, header.updated);
     }},
    {"messages_are_counted_and_other_entries_are_not",
     [](Probe& store) {
         must(store->append(named("a"),
                            writes({said("1"), marked("m"), said("2"), pinned(Seq{1})})));
         const Header header = must(store->append(named("a"), says({"3"}))).header;
         equal(header.messages, 3U);
         std::vector<std::uint64_t> ordinals;
         for (const Entry& entry : must(store->read(header.log, {})))
             ordinals.push_back(entry.ordinal);
         equal(ordinals, std::vector<std::uint64_t>{1, 1, 2, 2, 3});
     }},
    {"the_basis_is_the_newest_entry_that_changes_the_view",
     [](Probe& store) {
         equal(written(store, "a", {"1", "2"}).basis, Seq{0});
         equal(must(store->append(named("a"), writes({pinned(Seq{1}), said("4")}))).header.basis,
               Seq{3});
         equal(must(store->append(named("a"), writes({marked("m"), said("6")}))).header.basis,
               Seq{3});
         Batch all = writes(one_of_each());
         equal(must(store->append(named("a"), all)).header.basis, Seq{12});
     }},
    {"append_refuses_a_stale_writer",
     [](Probe& store) {
         written(store, "race", {"first"});
         Batch late = says({"second"});
         late.expected_end = Seq{0};
         refused(store->append(named("race"), late), ErrorCode::conflict);
         late.expected_end = Seq{2};
         refused(store->append(named("race"), late), ErrorCode::conflict);
         late.expected_end = Seq{1};
         equal(must(store->append(named("race"), late)).last, Seq{2});
     }},
    {"an_absent_conversation_ends_at_zero",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.expected_end = Seq{1};
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         refused(store->head(named("a")), ErrorCode::not_found);
         batch.expected_end = batch.expected_basis = Seq{0};
         batch.expected_epoch = batch.expected_revision = 0;
         equal(must(store->append(named("a"), batch)).last, Seq{1});
     }},
    {"a_refused_batch_writes_nothing",
     [](Probe& store) {
         const Header before = written(store, "a", {"1"});
         Batch batch = says({"2", "3"});
         batch.patch = {.owner = "me", .metadata_merge = "{\"k\":1}"};
         batch.expected_end = Seq{7};
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         batch.expected_end.reset();
         batch.patch.metadata_merge = "not JSON";
         refused(store->append(named("a"), batch), ErrorCode::invalid_request);
         equal(must(store->head(named("a"))), before);
         equal(texts(store, "a"), Texts{"1"});
     }},
    {"a_summary_is_spliced_by_its_basis_while_turns_go_on",
     [](Probe& store) {
         const Header before = written(store, "a", {"1", "2"});
         must(store->append(named("a"), says({"3"})));
         Batch splice = writes({pinned(Seq{1})});
         splice.expected_log = before.log;
         splice.expected_basis = before.basis;
         equal(must(store->append(named("a"), splice)).last, Seq{4});
         refused(store->append(named("a"), splice), ErrorCode::conflict);
     }},
    {"append_ahead_does_what_append_does_and_tells_nobody_of_what_it_refuses",
     [](Probe& store) {
         int told = 0;
         const auto tell = [&](const Appended&) { ++told; };
         equal(must(store->append_ahead(named("a"), says({"1", "2"}), tell)).last, Seq{2});
         check(told <= 1, "told at most once");
         told = 0;
         Batch late = says({"late"});
         late.expected_end = Seq{1};
         refused(store->append_ahead(named("a"), late, tell), ErrorCode::conflict);
         equal(told, 0);
         equal(must(store->append_ahead(named("a"), says({"3"}), {})).last, Seq{3});
         equal(texts(store, "a"), Texts{"1", "2", "3"});
     }},
    {"append_refuses_a_stale_epoch",
     [](Probe& store) {
         const Header before = written(store, "a", {"1"});
         const Replacement gone[] = {{before.log, Seq{1}, said("")}};
         must(store->scrub(gone));
         Batch batch = says({"2"});
         batch.expected_epoch = before.epoch;
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         batch.expected_epoch = must(store->head(named("a"))).epoch;
         must(store->append(named("a"), batch));
     }},
    {"append_refuses_a_stale_revision",
     [](Probe& store) {
         const Header before = written(store, "a", {"1"});
         const Header after = must(store->append(named("a"), patches({.title = "x"}))).header;
         Batch batch = patches({.title = "y"});
         batch.expected_revision = before.revision;
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         batch.expected_revision = after.revision;
         equal(must(store->append(named("a"), batch)).header.title, "y");
     }},
    {"append_refuses_another_incarnation",
     [](Probe& store) {
         Batch batch = says({"for the old one"});
         batch.expected_log = written(store, "a", {"1"}).log;
         must(store->append(named("a"), batch));
         must(store->erase(named("a")));
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         refused(store->head(named("a")), ErrorCode::not_found);
         written(store, "a", {"anew"});
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         equal(texts(store, "a"), Texts{"anew"});
     }},
    {"a_log_takes_the_uid_that_it_is_given_and_else_draws_its_own",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.new_log.bytes.fill(7);
         equal(must(store->append(named("a"), batch)).header.log, batch.new_log);
         const LogId b = written(store, "b", {"1"}).log, c = written(store, "c", {"1"}).log;
         check(!b.empty() && !c.empty() && b != c, "two drawn uids differ");
     }},
};

}  // namespace

std::span<const ConformanceCheck> append_checks() {
    return checks;
}

}  // namespace palimpsest
