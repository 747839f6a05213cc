// Time to live: sliding, by the store's clock, invisible at that very millisecond.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

// `id` with one message and ten seconds to live.
Header brief(Probe& store, const std::string& id, std::string_view text = "1") {
    Batch batch = says({text});
    batch.patch.ttl = std::optional<Duration>(10s);
    return must(store->append(named(id), batch)).header;
}

Batch for_ever() {
    return patches({.ttl = std::optional<Duration>()});
}

constexpr ConformanceCheck checks[] = {
    {"a_time_to_live_is_longer_than_nothing",
     [](Probe& store) {
         for (const Duration bad : {0ms, -1ms})
             refused(store->append(named("a"), patches({.ttl = std::optional(bad)})),
                     ErrorCode::invalid_request);
         refused(store->head(named("a")), ErrorCode::not_found);
     }},
    {"a_conversation_expires_to_the_millisecond",
     [](Probe& store) {
         const Header header = brief(store, "a");
         equal(header.expires, std::optional(header.created + 10s));
         store.advance(9999ms);
         must(store->head(named("a")));
         store.advance(1ms);
         refused(store->head(named("a")), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"what_has_expired_is_invisible_to_every_call",
     [](Probe& store) {
         const LogId a = brief(store, "a").log;
         written(store, "b", {"1"});
         store.advance(10s);
         refused(store->head(a), ErrorCode::not_found);
         refused(store->read(a, {}), ErrorCode::not_found);
         refused(store->erase(named("a")), ErrorCode::not_found);
         equal(listed(store, {}), Texts{"b"});
         const Replacement one[] = {{a, Seq{1}, said("")}};
         refused(store->scrub(one), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"writing_puts_the_expiry_off",
     [](Probe& store) {
         brief(store, "a");
         for (int i = 0; i < 5; ++i) {
             store.advance(9s);
             must(store->append(named("a"), says({"more"})));
         }
         equal(texts(store, "a").size(), 6U);
     },
     CheckNeeds::clock},
    {"an_empty_batch_puts_the_expiry_off",
     [](Probe& store) {
         const Header first = brief(store, "a");
         store.advance(9s);
         const Header later = must(store->append(named("a"), Batch{})).header;
         equal(later.expires, std::optional(first.created + 19s));
         equal(later.updated, first.updated);
         store.advance(9s);
         must(store->head(named("a")));
     },
     CheckNeeds::clock},
    {"a_clock_that_is_behind_brings_no_expiry_forward",
     [](Probe& store) {
         const Header first = brief(store, "a");
         store.advance(-1h);
         const Batch same_ttl = patches({.ttl = std::optional<Duration>(10s)});
         for (const Batch& batch : {says({"2"}), Batch{}, same_ttl})
             equal(must(store->append(named("a"), batch)).header.expires, first.expires);
         store.advance(1h);
         equal(texts(store, "a"), Texts{"1", "2"});
         store.advance(10s);
         refused(store->head(named("a")), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"a_changed_time_to_live_counts_from_now",
     [](Probe& store) {
         const Header first = brief(store, "a");
         store.advance(1s);
         const Batch shorter = patches({.ttl = std::optional<Duration>(2s)});
         equal(must(store->append(named("a"), shorter)).header.expires,
               std::optional(first.created + 3s));
     },
     CheckNeeds::clock},
    {"looking_does_not_put_the_expiry_off",
     [](Probe& store) {
         const LogId a = brief(store, "a").log;
         store.advance(9s);
         must(store->head(named("a")));
         must(store->read(a, {}));
         must(store->list({.tenant = "t"}));
         store.advance(1s);
         refused(store->head(named("a")), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"a_time_to_live_can_be_changed_and_taken_away",
     [](Probe& store) {
         brief(store, "a");
         must(store->append(named("a"), patches({.ttl = std::optional<Duration>(60s)})));
         store.advance(59s);
         const Header kept = must(store->append(named("a"), for_ever())).header;
         check(!kept.ttl && !kept.expires, "for ever");
         store.advance(std::chrono::hours(24 * 365));
         equal(texts(store, "a"), Texts{"1"});
     },
     CheckNeeds::clock},
    {"a_time_to_live_below_a_second_is_exact",
     [](Probe& store) {
         must(store->append(named("a"), patches({.ttl = std::optional<Duration>(250ms)})));
         store.advance(249ms);
         must(store->head(named("a")));
         store.advance(1ms);
         refused(store->head(named("a")), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"appending_to_an_expired_conversation_starts_anew",
     [](Probe& store) {
         Batch batch = keyed("k", says({"old"}));
         batch.patch = {
             .owner = "ann", .metadata_merge = "{\"k\":1}", .ttl = std::optional<Duration>(10s)};
         const Header old = must(store->append(named("a"), batch)).header;
         store.advance(10s);
         const Appended anew = must(store->append(named("a"), keyed("k", says({"old"}))));
         check(anew.created && !anew.again && anew.header.log != old.log, "another incarnation");
         equal(anew.last, Seq{1});
         equal(Texts{anew.header.owner, anew.header.metadata}, Texts{"", "{}"});
     },
     CheckNeeds::clock},
    {"an_expired_conversation_is_absent_to_a_batch_that_must_not_create",
     [](Probe& store) {
         Batch batch = says({"2"});
         batch.expected_log = brief(store, "a").log;
         store.advance(10s);
         refused(store->append(named("a"), batch), ErrorCode::conflict);
         batch.if_absent = IfAbsent::fail;
         refused(store->append(named("a"), batch), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"an_expired_log_cannot_be_forked",
     [](Probe& store) {
         Batch batch;
         batch.fork = {.parent = brief(store, "a").log, .at = Seq{1}, .messages = 1};
         store.advance(10s);
         refused(store->append(named("b"), batch), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"forks_keep_what_they_share_with_an_expired_parent",
     [](Probe& store) {
         const LogId a = brief(store, "a", "shared").log;
         must(store->append(named("a"), says({"not shared"})));
         must(fork(store, "a", Seq{1}, "b", says({"b"})));
         store.advance(10s);
         refused(store->head(named("a")), ErrorCode::not_found);
         equal(texts(store, "b"), Texts{"shared", "b"});
         const Header left = must(store->head(a));
         equal(left.name.id, "");
         equal(left.end, Seq{1});
         equal(own_texts(store, a), Texts{"shared"});
     },
     CheckNeeds::clock},
    {"an_expired_parent_can_still_be_forked_through_its_forks",
     [](Probe& store) {
         brief(store, "a", "shared");
         must(fork(store, "a", Seq{1}, "b", says({"b"})));
         store.advance(10s);
         must(fork(store, "b", Seq{1}, "c", says({"c"})));
         equal(texts(store, "c"), Texts{"shared", "c"});
     },
     CheckNeeds::clock},
    {"an_expired_parent_goes_with_its_last_fork",
     [](Probe& store) {
         const LogId a = brief(store, "a").log;
         Batch batch = patches({.ttl = std::optional<Duration>(20s)});
         const LogId b = must(fork(store, "a", Seq{1}, "b", batch)).header.log;
         store.advance(10s);
         must(store->head(a));
         store.advance(10s);
         refused(store->head(a), ErrorCode::not_found);
         refused(store->head(b), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"the_name_of_an_expired_parent_is_free_while_its_forks_live",
     [](Probe& store) {
         brief(store, "a", "old");
         must(fork(store, "a", Seq{1}, "b"));
         store.advance(10s);
         written(store, "a", {"new"});
         equal(texts(store, "a"), Texts{"new"});
         equal(texts(store, "b"), Texts{"old"});
     },
     CheckNeeds::clock},
    {"an_erased_parent_goes_when_its_last_fork_expires",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         Batch batch = patches({.ttl = std::optional<Duration>(10s)});
         must(fork(store, "a", Seq{2}, "b", batch));
         must(fork(store, "a", Seq{1}, "c"));
         must(store->erase(named("a")));
         equal(must(store->head(a)).end, Seq{2});
         store.advance(10s);
         equal(must(store->head(a)).end, Seq{1});
         must(store->erase(named("c")));
         refused(store->head(a), ErrorCode::not_found);
     },
     CheckNeeds::clock},
    {"a_fork_that_has_expired_is_not_named_in_a_receipt",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         must(fork(store, "a", Seq{2}, "b", patches({.ttl = std::optional<Duration>(10s)})));
         must(fork(store, "a", Seq{1}, "c"));
         store.advance(10s);
         const Receipt receipt = must(store->erase(named("a")));
         equal(receipt.kept_for, Texts{"c"});
         equal(receipt.entries, 1U);
     },
     CheckNeeds::clock},
    {"what_an_expired_fork_kept_does_not_hold_back_the_next_erasure",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2", "3"}).log;
         must(fork(store, "a", Seq{1}, "b"));
         must(fork(store, "a", Seq{2}, "c"));
         must(fork(store, "a", Seq{3}, "d", patches({.ttl = std::optional<Duration>(10s)})));
         must(store->erase(named("a")));
         store.advance(10s);
         equal(must(store->erase(named("c"))).entries, 1U);
         equal(own_texts(store, a), Texts{"1"});
     },
     CheckNeeds::clock},
    {"a_fork_that_has_expired_is_listed_nameless_while_forks_of_its_own_live",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         Batch batch = says({"2"});
         batch.patch.ttl = std::optional<Duration>(10s);
         const LogId b = must(fork(store, "a", Seq{1}, "b", batch)).header.log;
         must(fork(store, "b", Seq{2}, "c"));
         store.advance(10s);
         equal(listed(store, {.children_of = a}), Texts{""});
         equal(listed(store, {.children_of = b}), Texts{"c"});
         must(store->erase(named("c")));
         equal(listed(store, {.children_of = a}), Texts{});
     },
     CheckNeeds::clock},
    {"sweeping_changes_nothing_that_can_be_seen",
     [](Probe& store) {
         brief(store, "a", "old");
         must(fork(store, "a", Seq{1}, "b", says({"b"})));
         const Header c = written(store, "c", {"1"});
         for (int i = 0; i < 5; ++i) brief(store, "x" + std::to_string(i));
         equal(must(store->sweep(100)), 0U);
         store.advance(10s);
         check(must(store->sweep(2)) <= 2, "no more than was asked for");
         check(must(store->sweep(100)) <= 6, "no more than has expired");
         equal(must(store->sweep(100)), 0U);
         equal(listed(store, {}).size(), 2U);
         equal(must(store->head(named("c"))), c);
         equal(texts(store, "b"), Texts{"old", "b"});
     },
     CheckNeeds::clock},
};

}  // namespace

std::span<const ConformanceCheck> expiry_checks() {
    return checks;
}

}  // namespace palimpsest
