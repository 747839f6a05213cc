// What a persistent store remembers when it is closed and opened again.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

constexpr ConformanceCheck checks[] = {
    {"headers_and_entries_survive_reopening",
     [](Probe& store) {
         Batch batch = writes({said("1"), marked("m", "{\"k\":1}"), pinned(Seq{1}), said("2")});
         batch.patch = {.owner = "ann",
                        .title = "T",
                        .system_prompt = "P",
                        .policy = "{}",
                        .metadata_merge = "{\"k\":[1]}"};
         const Header before = must(store->append(named("a"), batch)).header;
         const std::vector<Entry> entries = must(store->read(before.log, {}));
         store.reopen();
         equal(must(store->head(named("a"))), before);
         equal(must(store->read(before.log, {})), entries);
     },
     CheckNeeds::reopening},
    {"a_conversation_broken_off_after_fifty_messages_goes_on_where_it_was",
     [](Probe& store) {
         for (int i = 1; i <= 50; ++i) must(store->append(named("a"), says({std::to_string(i)})));
         store.reopen();
         equal(must(store->append(named("a"), says({"51"}))).first, Seq{51});
         const Texts all = texts(store, "a");
         for (int i = 1; i <= 51; ++i)
             equal(all.at(static_cast<std::size_t>(i - 1)), std::to_string(i));
     },
     CheckNeeds::reopening},
    {"keys_survive_reopening",
     [](Probe& store) {
         const Batch batch = keyed("k", says({"1"}));
         must(store->append(named("a"), batch));
         store.reopen();
         check(must(store->append(named("a"), batch)).again, "still known");
         refused(store->append(named("a"), keyed("k", says({"2"}))), ErrorCode::unprocessable);
     },
     CheckNeeds::reopening},
    {"forks_survive_reopening",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"3"})));
         must(fork(store, "b", Seq{2}, "c", says({"4"})));
         must(store->erase(named("a")));
         store.reopen();
         equal(texts(store, "c"), Texts{"1", "3", "4"});
         equal(must(store->head(a)).end, Seq{1});
         must(store->erase(named("b")));
         equal(must(store->erase(named("c"))).logs, 3U);
     },
     CheckNeeds::reopening},
    {"what_was_scrubbed_or_erased_stays_so_after_reopening",
     [](Probe& store) {
         const LogId a = written(store, "a", {"secret"}).log;
         written(store, "b", {"secret"});
         const Replacement gone[] = {{a, Seq{1}, said("")}};
         must(store->scrub(gone));
         must(store->erase(named("b")));
         store.reopen();
         equal(texts(store, "a"), Texts{""});
         equal(must(store->head(named("a"))).epoch, 1U);
         refused(store->head(named("b")), ErrorCode::not_found);
     },
     CheckNeeds::reopening},
    {"records_survive_reopening_and_versions_go_on_growing",
     [](Probe& store) {
         const RecordKey key{"t", "s", "k"};
         const std::uint64_t kept = must(store->put_record({.key = key, .value = "v"}));
         const std::uint64_t last =
             must(store->put_record({.key = {"t", "s", "gone"}, .value = "v"}));
         must(store->put_record({.key = {"t", "s", "gone"}}));
         store.reopen();
         equal(must(store->get_record(key)).value, "v");
         equal(must(store->get_record(key)).version, kept);
         check(must(store->put_record({.key = key, .value = "w", .expected = kept})) > last,
               "greater than every version before");
     },
     CheckNeeds::reopening},
    {"listings_survive_reopening",
     [](Probe& store) {
         must(store->append(named("a"), patches({.owner = "ann", .metadata_merge = "{\"k\":1}"})));
         for (int i = 0; i < 5; ++i) must(store->append(named(std::to_string(i)), Batch{}));
         ListQuery query{.tenant = "t", .sort = SortBy::created, .limit = 3};
         const Page first = must(store->list(query));
         store.reopen();
         query.after = first.next;
         equal(ids(first).size() + listed(store, query).size(), 6U);
         equal(listed(store, {.owner = "ann", .metadata = {{"k", "1"}}}), Texts{"a"});
     },
     CheckNeeds::reopening},
    {"expiry_goes_on_while_the_store_is_closed",
     [](Probe& store) {
         must(store->append(named("a"), patches({.ttl = std::optional<Duration>(10s)})));
         must(store->put_record({.key = {"t", "s", "k"}, .value = "v", .ttl = 10s}));
         store.advance(9s);
         store.reopen();
         must(store->head(named("a")));
         store.advance(1s);
         refused(store->head(named("a")), ErrorCode::not_found);
         refused(store->get_record({"t", "s", "k"}), ErrorCode::not_found);
     },
     CheckNeeds::clock_and_reopening},
    {"a_store_that_was_reopened_is_sound",
     [](Probe& store) {
         written(store, "a", {"1", "2", "3"});
         must(fork(store, "a", Seq{2}, "b", says({"4"})));
         store.reopen();
         const std::string tenants[] = {"t"};
         for (const Finding& finding : must(store->check(tenants)).findings)
             equal(finding.message, "no finding");
     },
     CheckNeeds::reopening},
};

}  // namespace

std::span<const ConformanceCheck> reopen_checks() {
    return checks;
}

}  // namespace palimpsest
