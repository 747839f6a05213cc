// Erasing: the name goes at once, and every entry that no fork needs.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

constexpr ConformanceCheck checks[] = {
    {"erasing_what_is_absent_is_not_found",
     [](Probe& store) {
         refused(store->erase(named("a")), ErrorCode::not_found);
         written(store, "a", {"1"});
         must(store->erase(named("a")));
         refused(store->erase(named("a")), ErrorCode::not_found);
     }},
    {"an_erased_conversation_is_gone_by_name_and_by_log",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         must(store->erase(named("a")));
         refused(store->head(named("a")), ErrorCode::not_found);
         refused(store->head(a), ErrorCode::not_found);
         refused(store->read(a, {}), ErrorCode::not_found);
     }},
    {"a_receipt_says_what_went",
     [](Probe& store) {
         must(store->append(named("a"), writes({said("1"), marked("m"), said("3")})));
         const Receipt receipt = must(store->erase(named("a")));
         equal(receipt.entries, 3U);
         equal(receipt.logs, 1U);
         equal(receipt.kept_for, Texts{});
     }},
    {"an_erased_name_starts_anew",
     [](Probe& store) {
         Batch batch = says({"1", "2"});
         batch.patch = {.owner = "ann", .title = "old", .metadata_merge = "{\"k\":1}"};
         const Header old = must(store->append(named("a"), batch)).header;
         must(store->erase(named("a")));
         const Appended anew = must(store->append(named("a"), says({"first"})));
         check(anew.created && anew.header.log != old.log, "another log");
         equal(anew.first, Seq{1});
         equal(Texts{anew.header.owner, anew.header.title, anew.header.metadata},
               Texts{"", "", "{}"});
         equal(texts(store, "a"), Texts{"first"});
     }},
    {"erasing_one_conversation_leaves_the_others",
     [](Probe& store) {
         written(store, "a", {"1"});
         const Header b = written(store, "b", {"2"});
         must(store->erase(named("a")));
         equal(must(store->head(named("b"))), b);
         equal(texts(store, "b"), Texts{"2"});
     }},
    {"forks_keep_what_they_share_with_an_erased_parent",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2", "3", "4"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"b"})));
         must(fork(store, "a", Seq{2}, "c", says({"c"})));
         const Receipt receipt = must(store->erase(named("a")));
         equal(receipt.entries, 2U);
         equal(receipt.logs, 0U);
         equal(receipt.kept_for, Texts{"b", "c"});
         equal(texts(store, "b"), Texts{"1", "b"});
         equal(texts(store, "c"), Texts{"1", "2", "c"});
         equal(own_texts(store, a), Texts{"1", "2"});
     }},
    {"an_erased_parent_has_no_name_and_ends_at_its_largest_fork_point",
     [](Probe& store) {
         must(store->append(named("a"), writes({said("1"), pinned(Seq{1}), said("3"),
                                                pinned(Seq{3}), said("5")})));
         const LogId a = must(store->head(named("a"))).log;
         must(fork(store, "a", Seq{3}, "b"));
         must(store->erase(named("a")));
         refused(store->head(named("a")), ErrorCode::not_found);
         const Header left = must(store->head(a));
         equal(left.name.id, "");
         equal(left.name.tenant, "t");
         equal(left.end, Seq{3});
         equal(left.basis, Seq{2});
         equal(left.messages, 2U);
     }},
    {"an_erased_fork_falls_back_to_the_basis_of_its_parent",
     [](Probe& store) {
         must(store->append(named("a"), writes({said("1"), pinned(Seq{1})})));
         const Batch more = writes({said("3"), pinned(Seq{3})});
         const LogId b = must(fork(store, "a", Seq{2}, "b", more)).header.log;
         must(fork(store, "b", Seq{3}, "c"));
         must(store->erase(named("b")));
         equal(must(store->head(b)).basis, Seq{2});
         equal(must(store->head(b)).messages, 2U);
     }},
    {"nothing_that_people_wrote_stays_in_the_header_of_an_erased_parent",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.patch = {.owner = "ann",
                        .title = "T",
                        .system_prompt = "P",
                        .policy = "{}",
                        .metadata_merge = "{\"k\":1}"};
         const LogId a = must(store->append(named("a"), batch)).header.log;
         must(fork(store, "a", Seq{1}, "b"));
         must(store->erase(named("a")));
         const Header left = must(store->head(a));
         equal(Texts{left.owner, left.title, left.system_prompt, left.policy, left.metadata},
               Texts{"", "", "", "", "{}"});
     }},
    {"an_erased_parent_goes_with_its_last_fork",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"b"})));
         must(fork(store, "a", Seq{1}, "c"));
         must(store->erase(named("a")));
         equal(must(store->erase(named("b"))).logs, 1U);
         equal(must(store->head(a)).end, Seq{1});
         const Receipt last = must(store->erase(named("c")));
         equal(last.logs, 2U);
         equal(last.entries, 1U);
         refused(store->head(a), ErrorCode::not_found);
         refused(store->read(a, {}), ErrorCode::not_found);
     }},
    {"a_chain_of_erased_parents_goes_with_its_last_fork",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         const LogId b = must(fork(store, "a", Seq{1}, "b", says({"2"}))).header.log;
         const LogId c = must(fork(store, "b", Seq{2}, "c", says({"3"}))).header.log;
         must(fork(store, "c", Seq{3}, "d"));
         for (const std::string id : {"b", "a", "c"}) must(store->erase(named(id)));
         equal(texts(store, "d"), Texts{"1", "2", "3"});
         const Receipt receipt = must(store->erase(named("d")));
         equal(receipt.logs, 4U);
         equal(receipt.entries, 3U);
         for (const LogId& log : {a, b, c}) refused(store->head(log), ErrorCode::not_found);
     }},
    {"an_erased_parent_shrinks_when_its_largest_fork_goes",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2", "3", "4"}).log;
         must(fork(store, "a", Seq{1}, "b"));
         must(fork(store, "a", Seq{3}, "c"));
         must(store->erase(named("a")));
         equal(must(store->erase(named("c"))).entries, 2U);
         equal(must(store->head(a)).end, Seq{1});
         equal(own_texts(store, a), Texts{"1"});
         equal(texts(store, "b"), Texts{"1"});
     }},
    {"a_fork_in_the_middle_of_a_chain_can_be_erased",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{2}, "b", says({"3", "4"})));
         must(fork(store, "b", Seq{3}, "c", says({"5"})));
         const Receipt receipt = must(store->erase(named("b")));
         equal(receipt.entries, 1U);
         equal(receipt.kept_for, Texts{"c"});
         equal(texts(store, "c"), Texts{"1", "2", "3", "5"});
         equal(texts(store, "a"), Texts{"1", "2"});
     }},
    {"erasing_a_fork_leaves_its_parent_whole",
     [](Probe& store) {
         const Header a = written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{1}, "b", says({"3"})));
         equal(must(store->erase(named("b"))).entries, 1U);
         equal(must(store->head(named("a"))), a);
         equal(texts(store, "a"), Texts{"1", "2"});
     }},
    {"the_name_of_an_erased_parent_is_free_while_its_forks_live",
     [](Probe& store) {
         const LogId old = written(store, "a", {"old"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"2"})));
         must(store->erase(named("a")));
         check(written(store, "a", {"new"}).log != old, "another log");
         equal(texts(store, "a"), Texts{"new"});
         equal(texts(store, "b"), Texts{"old", "2"});
     }},
    {"forks_of_an_erased_parent_are_named_through_nameless_ones",
     [](Probe& store) {
         written(store, "a", {"1"});
         must(fork(store, "a", Seq{1}, "b", says({"2"})));
         must(fork(store, "b", Seq{2}, "c"));
         must(store->erase(named("b")));
         equal(must(store->erase(named("a"))).kept_for, Texts{"c"});
     }},
    {"what_is_left_of_an_erased_parent_can_be_forked_through_its_forks",
     [](Probe& store) {
         written(store, "a", {"1", "2", "3"});
         must(fork(store, "a", Seq{2}, "b", says({"b"})));
         must(store->erase(named("a")));
         must(fork(store, "b", Seq{1}, "c", says({"c"})));
         equal(texts(store, "c"), Texts{"1", "c"});
         must(store->erase(named("b")));
         equal(texts(store, "c"), Texts{"1", "c"});
     }},
    {"erasing_conversations_leaves_records_alone",
     [](Probe& store) {
         must(store->put_record({.key = {"t", "s", "a"}, .value = "v"}));
         written(store, "a", {"1"});
         must(store->erase(named("a")));
         equal(must(store->get_record({"t", "s", "a"})).value, "v");
     }},
};

}  // namespace

std::span<const ConformanceCheck> erase_checks() {
    return checks;
}

}  // namespace palimpsest
