// Idempotency keys: a write that is repeated is one write, so that an unknown outcome can be found
// out by asking again.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

constexpr ConformanceCheck checks[] = {
    {"a_repeated_key_writes_once",
     [](Probe& store) {
         const Batch batch = keyed("k", says({"once"}));
         check(!must(store->append(named("a"), batch)).again, "the first time is not again");
         check(must(store->append(named("a"), batch)).again, "the second time is");
         equal(texts(store, "a"), Texts{"once"});
     }},
    {"an_unknown_outcome_is_found_out_by_repeating_with_the_key",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Batch batch = keyed("k", says({"2", "3"}));
         (void)store->append(named("a"), batch);  // the answer is lost
         must(store->append(named("a"), says({"4"})));
         const Appended again = must(store->append(named("a"), batch));
         equal(again.first, Seq{2});
         equal(again.last, Seq{3});
         equal(again.header.end, Seq{4});
         equal(texts(store, "a"), Texts{"1", "2", "3", "4"});
     }},
    {"a_key_with_another_request_is_unprocessable",
     [](Probe& store) {
         must(store->append(named("a"), keyed("k", says({"one"}))));
         refused(store->append(named("a"), keyed("k", says({"two"}))), ErrorCode::unprocessable);
         equal(texts(store, "a"), Texts{"one"});
     }},
    {"a_key_is_looked_at_before_anything_else",
     [](Probe& store) {
         Batch batch = keyed("k", says({"1"}));
         batch.expected_end = Seq{0};
         batch.expected_revision = 0;
         must(store->append(named("a"), batch));
         must(store->append(named("a"), patches({.title = "moved"})));
         check(must(store->append(named("a"), batch)).again, "although end and revision moved");
         batch.expected_log.emplace().bytes.fill(1);
         check(must(store->append(named("a"), batch)).again, "although the incarnation is another");
     }},
    {"a_refused_batch_leaves_its_key_free",
     [](Probe& store) {
         written(store, "a", {"1"});
         Batch batch = keyed("k", says({"2"}));
         batch.expected_end = Seq{9};
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         batch.expected_end = Seq{1};
         check(!must(store->append(named("a"), batch)).again, "written now");
         equal(texts(store, "a"), Texts{"1", "2"});
     }},
    {"keys_belong_to_one_conversation",
     [](Probe& store) {
         const Batch batch = keyed("k", says({"x"}));
         must(store->append(named("a"), batch));
         check(!must(store->append(named("b"), batch)).again, "b is another conversation");
         check(!must(store->append({"u", "a"}, batch)).again, "and so is a of another tenant");
     }},
    {"keys_are_any_text",
     [](Probe& store) {
         const Texts keys = {"a b", "ä", "'\"%_", "K/in", "K/out", std::string(255, 'k')};
         for (const std::string& key : keys)
             must(store->append(named("a"), keyed(key, says({key}))));
         for (const std::string& key : keys)
             check(must(store->append(named("a"), keyed(key, says({key})))).again, key);
         equal(texts(store, "a"), keys);
     }},
    {"a_key_covers_the_creation",
     [](Probe& store) {
         Batch batch = keyed("k", Batch{});
         batch.patch.title = "t";
         const Appended first = must(store->append(named("a"), batch));
         const Appended again = must(store->append(named("a"), batch));
         check(first.created && again.again && !again.created, "created once");
         equal(again.header, first.header);
     }},
    {"a_key_covers_a_change_of_the_header",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Batch batch = keyed("k", patches({.title = "x"}));
         const std::uint64_t revision = must(store->append(named("a"), batch)).header.revision;
         equal(must(store->append(named("a"), batch)).header.revision, revision);
     }},
    {"a_key_covers_a_fork",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         const LogId child =
             must(fork(store, "a", Seq{1}, "b", keyed("k", says({"3"})))).header.log;
         const Appended again = must(fork(store, "a", Seq{1}, "b", keyed("k", says({"3"}))));
         check(again.again, "the name is taken by this very fork");
         equal(again.header.log, child);
         equal(texts(store, "b"), Texts{"1", "3"});
     }},
    {"forks_do_not_inherit_keys",
     [](Probe& store) {
         must(store->append(named("a"), keyed("k", says({"1"}))));
         must(fork(store, "a", Seq{1}, "b"));
         check(!must(store->append(named("b"), keyed("k", says({"1"})))).again,
               "b has its own keys");
         equal(texts(store, "b"), Texts{"1", "1"});
     }},
    {"a_new_incarnation_knows_no_old_keys",
     [](Probe& store) {
         must(store->append(named("a"), keyed("k", says({"1"}))));
         must(store->erase(named("a")));
         check(!must(store->append(named("a"), keyed("k", says({"1"})))).again, "written anew");
     }},
    {"a_repeat_changes_nothing",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Header before = must(store->append(named("a"), keyed("k", says({"2"})))).header;
         must(store->append(named("a"), keyed("k", says({"2"}))));
         equal(must(store->head(named("a"))), before);
     }},
    {"a_key_is_remembered_for_a_day",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Batch batch = keyed("k", says({"2"}));
         must(store->append(named("a"), batch));
         for (int i = 0; i < 23; ++i) {
             store.advance(std::chrono::hours(1));
             must(store->append(named("a"), keyed("k" + std::to_string(i), says({"more"}))));
         }
         store.advance(std::chrono::minutes(59));
         check(must(store->append(named("a"), batch)).again, "after 23 hours and 59 minutes");
     },
     CheckNeeds::clock},
};

}  // namespace

std::span<const ConformanceCheck> key_checks() {
    return checks;
}

}  // namespace palimpsest
