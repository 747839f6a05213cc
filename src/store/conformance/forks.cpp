// Forks: a new name for a past position, without a copy.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

constexpr ConformanceCheck checks[] = {
    {"a_fork_shares_what_was_said_before",
     [](Probe& store) {
         const Header a = written(store, "a", {"1", "2", "3"});
         const Appended done = must(fork(store, "a", Seq{2}, "b", says({"4"})));
         check(done.created, "created");
         equal(done.first, Seq{3});
         equal(done.header.parent, std::optional(a.log));
         equal(done.header.base, Seq{2});
         equal(texts(store, "b"), Texts{"1", "2", "4"});
     }},
    {"a_fork_owns_only_what_came_after",
     [](Probe& store) {
         written(store, "a", {"1", "2", "3"});
         const LogId b = must(fork(store, "a", Seq{2}, "b", says({"4"}))).header.log;
         equal(own_texts(store, b), Texts{"4"});
         equal(own_texts(store, b, {.ranges = {{Seq{1}, Seq{2}}}}), Texts{});
     }},
    {"parent_and_fork_go_their_own_ways",
     [](Probe& store) {
         written(store, "a", {"1"});
         must(fork(store, "a", Seq{1}, "b", says({"b2"})));
         must(store->append(named("a"), says({"a2", "a3"})));
         must(store->append(named("b"), says({"b3"})));
         equal(texts(store, "a"), Texts{"1", "a2", "a3"});
         equal(texts(store, "b"), Texts{"1", "b2", "b3"});
     }},
    {"forking_leaves_the_parent_as_it_was",
     [](Probe& store) {
         const Header before = written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{2}, "b", says({"3"})));
         equal(must(store->head(named("a"))), before);
     }},
    {"an_empty_fork_ends_at_its_base",
     [](Probe& store) {
         written(store, "a", {"1", "2", "3"});
         const Appended done = must(fork(store, "a", Seq{2}, "b"));
         equal(done.header.end, Seq{2});
         equal(done.last, Seq{2});
         Batch batch = says({"4"});
         batch.expected_end = Seq{3};
         refused(store->append(named("b"), batch), ErrorCode::conflict);
         batch.expected_end = Seq{2};
         equal(must(store->append(named("b"), batch)).last, Seq{3});
     }},
    {"a_fork_needs_a_new_name",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Header taken = written(store, "b", {"mine"});
         refused(fork(store, "a", Seq{1}, "b", says({"2"})), ErrorCode::conflict);
         refused(fork(store, "a", Seq{1}, "a"), ErrorCode::conflict);
         equal(must(store->head(named("b"))), taken);
         equal(texts(store, "b"), Texts{"mine"});
     }},
    {"a_fork_of_an_absent_log_is_not_found",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.fork.emplace().parent.bytes.fill(9);
         refused(store->append(named("b"), batch), ErrorCode::not_found);
         batch.fork->parent = written(store, "a", {"1"}).log;
         must(store->erase(named("a")));
         refused(store->append(named("b"), batch), ErrorCode::not_found);
         refused(store->head(named("b")), ErrorCode::not_found);
     }},
    {"a_fork_beyond_the_end_is_refused",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         Batch batch = says({"x"});
         batch.fork = {.parent = a, .at = Seq{2}};
         refused(store->append(named("b"), batch), ErrorCode::invalid_request);
         refused(store->head(named("b")), ErrorCode::not_found);
     }},
    {"a_fork_cannot_reach_into_another_tenant",
     [](Probe& store) {
         const LogId a = written(store, "a", {"secret"}).log;
         Batch batch;
         batch.fork = {.parent = a, .at = Seq{1}, .messages = 1};
         refused(store->append({"other", "b"}, batch), ErrorCode::not_found);
         equal(listed(store, {.tenant = "other"}), Texts{});
     }},
    {"a_fork_of_a_fork_reads_the_whole_chain",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{2}, "b", says({"3", "4"})));
         must(fork(store, "b", Seq{3}, "c", says({"5"})));
         must(fork(store, "c", Seq{4}, "d", says({"6"})));
         equal(texts(store, "d"), Texts{"1", "2", "3", "5", "6"});
         equal(must(store->head(named("d"))).messages, 5U);
     }},
    {"a_fork_below_its_parents_base_starts_from_the_log_that_owns_the_seq",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2", "3"}).log;
         const LogId b = must(fork(store, "a", Seq{2}, "b", says({"4"}))).header.log;
         equal(must(fork(store, "b", Seq{1}, "c", says({"5"}))).header.parent, std::optional(a));
         equal(must(fork(store, "b", Seq{2}, "d")).header.parent, std::optional(a));
         equal(must(fork(store, "b", Seq{3}, "e")).header.parent, std::optional(b));
         equal(texts(store, "c"), Texts{"1", "5"});
     }},
    {"a_fork_at_the_beginning_shares_nothing",
     [](Probe& store) {
         written(store, "a", {"1"});
         must(fork(store, "a", Seq{0}, "b", says({"2"})));
         equal(texts(store, "b"), Texts{"2"});
         equal(must(store->head(named("b"))).messages, 1U);
     }},
    {"a_fork_takes_over_basis_count_and_epoch",
     [](Probe& store) {
         must(store->append(named("a"),
                            writes({said("1"), pinned(Seq{1}), said("3"), pinned(Seq{3})})));
         const LogId a = must(store->head(named("a"))).log;
         const Replacement gone[] = {{a, Seq{1}, said("")}};
         must(store->scrub(gone));
         const Header b = must(fork(store, "a", Seq{3}, "b")).header;
         equal(b.basis, Seq{2});
         equal(b.messages, 2U);
         equal(b.epoch, must(store->head(a)).epoch);
         const Header c =
             must(fork(store, "b", Seq{3}, "c", writes({said("4"), pinned(Seq{4})}))).header;
         equal(c.basis, Seq{5});
         equal(c.messages, 3U);
         equal(must(read_entry(*store, c, Seq{4})).ordinal, 3U);
     }},
    {"a_fork_made_while_its_parent_is_scrubbed_has_the_newer_epoch",
     [](Probe& store) {
         const Header a = written(store, "a", {"secret"});
         Batch batch;
         batch.fork = must(fork_point(*store, a, Seq{1}));
         const Replacement gone[] = {{a.log, Seq{1}, said("")}};
         must(store->scrub(gone));
         equal(must(store->append(named("b"), batch)).header.epoch, 1U);
     }},
    {"edits_in_a_fork_stay_in_the_fork",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{2}, "b", writes({pinned(Seq{1})})));
         equal(must(store->head(named("a"))).basis, Seq{0});
         equal(must(store->head(named("b"))).basis, Seq{3});
     }},
    {"a_fork_has_the_header_that_its_batch_gives_it",
     [](Probe& store) {
         must(store->append(
             named("a"), patches({.owner = "ann", .title = "A", .metadata_merge = "{\"k\":1}"})));
         must(store->append(named("a"), says({"1"})));
         const Header b = must(fork(store, "a", Seq{1}, "b", patches({.title = "B"}))).header;
         equal(Texts{b.owner, b.title, b.metadata}, Texts{"", "B", "{}"});
         equal(listed(store, {.owner = "ann"}), Texts{"a"});
     }},
    {"a_fork_of_a_long_log_copies_nothing",
     [](Probe& store) {
         Batch batch;
         for (int i = 0; i < 5000; ++i) batch.entries.push_back({said("x")});
         must(store->append(named("a"), batch));
         const Header b = must(fork(store, "a", Seq{5000}, "b")).header;
         equal(must(store->read(b.log, {})).size(), 0U);
         equal(b.messages, 5000U);
         equal(must(store->erase(named("b"))).entries, 0U);
     }},
    {"many_forks_of_one_point_do_not_mix",
     [](Probe& store) {
         written(store, "a", {"1"});
         for (int i = 0; i < 50; ++i) {
             const std::string id = "f" + std::to_string(i);
             must(fork(store, "a", Seq{1}, id, says({id})));
         }
         for (int i = 0; i < 50; ++i) {
             const std::string id = "f" + std::to_string(i);
             equal(texts(store, id), Texts{"1", id});
         }
     }},
};

}  // namespace

std::span<const ConformanceCheck> fork_checks() {
    return checks;
}

}  // namespace palimpsest
