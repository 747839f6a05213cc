// Many threads at once: no gap, no duplicate, one winner, whole batches.
#include <algorithm>
#include <atomic>
#include <map>

#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

constexpr std::size_t threads = 8;

constexpr ConformanceCheck checks[] = {
    {"threads_appending_to_one_conversation_leave_no_gap_and_no_duplicate",
     [](Probe& store) {
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 25; ++i) {
                 const std::string text = std::to_string(me) + ":" + std::to_string(i);
                 const Appended done = must(store->append(named("a"), says({text, text + "b"})));
                 equal(done.last, done.first + 1);
             }
         });
         const Header header = must(store->head(named("a")));
         equal(header.end, Seq{threads * 50});
         equal(header.messages, threads * 50);
         Seq next{1};
         for (const Entry& entry : must(store->read(header.log, {}))) {
             equal(entry.seq, next);
             equal(entry.ordinal, next.value);
             next = next + 1;
         }
         equal(next, header.end + 1);
     }},
    {"each_thread_finds_its_entries_where_it_was_told_and_in_its_order",
     [](Probe& store) {
         std::vector<std::map<Seq, std::string>> told(threads);
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 25; ++i) {
                 const std::string text = std::to_string(me) + ":" + std::to_string(i);
                 told[me][must(store->append(named("a"), says({text}))).first] = text;
             }
         });
         const Texts all = texts(store, "a");
         for (std::size_t me = 0; me < threads; ++me) {
             int i = 0;
             for (const auto& [seq, text] : told[me]) {
                 equal(text, std::to_string(me) + ":" + std::to_string(i++));
                 equal(all.at(seq.value - 1), text);
             }
         }
     }},
    {"each_thread_is_told_ahead_of_its_own_batch_or_of_none",
     [](Probe& store) {
         std::atomic<int> of_refused = 0;
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 25; ++i) {
                 Batch late = says({"late"});
                 late.expected_end = Seq{threads * 25 + 1};
                 refused(
                     store->append_ahead(named("a"), late, [&](const Appended&) { ++of_refused; }),
                     ErrorCode::conflict);
                 std::vector<Appended> told;
                 const Appended done = must(
                     store->append_ahead(named("a"), says({std::to_string(me)}),
                                         [&](const Appended& ahead) { told.push_back(ahead); }));
                 check(told.size() <= 1, "told at most once");
                 if (told.empty()) continue;
                 equal(told[0].first, done.first);
                 equal(told[0].last, done.last);
                 equal(show(told[0].header), show(done.header));
             }
         });
         equal(of_refused.load(), 0);
         equal(must(store->head(named("a"))).end, Seq{threads * 25});
     }},
    {"of_all_who_expect_the_same_end_one_wins",
     [](Probe& store) {
         written(store, "a", {"0"});
         for (std::uint64_t round = 1; round <= 10; ++round) {
             std::atomic<int> won = 0;
             together(threads, [&](std::size_t me) {
                 Batch batch = says({std::to_string(me)});
                 batch.expected_end = Seq{round};
                 const Result<Appended> done = store->append(named("a"), batch);
                 if (done) ++won;
                 if (!done) refused(done, ErrorCode::conflict);
             });
             equal(static_cast<unsigned>(won), 1U);
         }
         equal(must(store->head(named("a"))).end, Seq{11});
     }},
    {"of_all_who_expect_the_same_basis_one_wins",
     [](Probe& store) {
         written(store, "a", {"0"});
         std::atomic<unsigned> won = 0;
         together(threads, [&](std::size_t) {
             Batch batch = writes({pinned(Seq{1})});
             batch.expected_basis = Seq{0};
             if (store->append(named("a"), batch)) ++won;
         });
         equal(won.load(), 1U);
     }},
    {"the_same_key_from_many_threads_leaves_one_copy",
     [](Probe& store) {
         std::atomic<unsigned> first = 0;
         together(threads, [&](std::size_t) {
             for (int i = 0; i < 10; ++i) {
                 const std::string key = "k" + std::to_string(i);
                 if (!must(store->append(named("a"), keyed(key, says({key})))).again) ++first;
             }
         });
         equal(first.load(), 10U);
         equal(must(store->head(named("a"))).end, Seq{10});
     }},
    {"a_name_is_created_once",
     [](Probe& store) {
         std::atomic<unsigned> created = 0;
         together(threads, [&](std::size_t) {
             for (int i = 0; i < 10; ++i)
                 if (must(store->append(named("n" + std::to_string(i)), says({"x"}))).created)
                     ++created;
         });
         equal(created.load(), 10U);
         for (int i = 0; i < 10; ++i)
             equal(must(store->head(named("n" + std::to_string(i)))).end, Seq{threads});
     }},
    {"of_all_who_fork_to_one_name_one_wins",
     [](Probe& store) {
         written(store, "a", {"1", "2"});
         std::atomic<unsigned> won = 0;
         together(threads, [&](std::size_t) {
             const Result<Appended> done = fork(store, "a", Seq{1}, "b", says({"3"}));
             if (done) ++won;
             if (!done) refused(done, ErrorCode::conflict);
         });
         equal(won.load(), 1U);
         equal(texts(store, "b"), Texts{"1", "3"});
     }},
    {"metadata_merged_by_many_threads_keeps_every_field",
     [](Probe& store) {
         written(store, "a", {"1"});
         const std::uint64_t revision = must(store->head(named("a"))).revision;
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 10; ++i)
                 must(store->append(named("a"),
                                    patches({.metadata_merge = "{\"f" + std::to_string(me) + "_" +
                                                               std::to_string(i) + "\":1}"})));
         });
         const Header header = must(store->head(named("a")));
         equal(header.revision, revision + threads * 10);
         for (std::size_t me = 0; me < threads; ++me)
             for (int i = 0; i < 10; ++i)
                 equal(
                     listed(
                         store,
                         {.metadata = {{"f" + std::to_string(me) + "_" + std::to_string(i), "1"}}}),
                     Texts{"a"});
     }},
    {"readers_see_whole_batches",
     [](Probe& store) {
         const LogId log = written(store, "a", {"1", "2", "3"}).log;
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 20; ++i) {
                 if (me < 2) {
                     must(store->append(named("a"), says({"x", "y", "z"})));
                     continue;
                 }
                 equal(must(store->read(log, {})).size() % 3, 0U);
                 const Header header = must(store->head(named("a")));
                 equal(header.end.value % 3, 0U);
                 equal(must(read_lineage(*store, header, {})).size(), header.end.value);
             }
         });
         equal(must(store->head(named("a"))).end, Seq{123});
     }},
    {"conversations_side_by_side_do_not_disturb_each_other",
     [](Probe& store) {
         together(threads, [&](std::size_t me) {
             const std::string id = "c" + std::to_string(me);
             for (int i = 0; i < 20; ++i) {
                 must(store->append(named(id), says({id})));
                 equal(texts(store, id).size(), static_cast<std::size_t>(i + 1));
             }
         });
         for (std::size_t me = 0; me < threads; ++me) {
             const std::string id = "c" + std::to_string(me);
             equal(texts(store, id), Texts(20, id));
         }
     }},
    {"erasing_forking_and_appending_at_once_leave_whole_conversations",
     [](Probe& store) {
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 15; ++i) {
                 const std::string child = "f" + std::to_string(me);
                 if (me % 3 == 0) (void)store->erase(named("a"));
                 if (me % 3 == 1) must(store->append(named("a"), says({"1", "2"})));
                 if (me % 3 == 2) {
                     (void)fork(store, "a", Seq{2}, child, says({"3"}));
                     (void)store->erase(named(child));
                 }
             }
         });
         const std::string tenants[] = {"t"};
         // A listing that is written after its log may name one that is gone since; nothing else.
         for (const Finding& finding : must(store->check(tenants)).findings)
             equal(finding.what, "listing");
         must(store->repair(tenants));
         for (const Finding& finding : must(store->check(tenants)).findings)
             equal(finding.message, "no finding");
         for (const std::string& id : listed(store, {}))
             check(texts(store, id).size() >= 2, "whole");
     }},
    {"scrubbing_while_others_append_loses_nothing",
     [](Probe& store) {
         const LogId log = written(store, "a", {"secret"}).log;
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 10; ++i) {
                 const Replacement gone[] = {{log, Seq{1}, said("")}};
                 if (me == 0) must(store->scrub(gone));
                 if (me != 0) must(store->append(named("a"), says({"x"})));
             }
         });
         const Header header = must(store->head(named("a")));
         equal(header.epoch, 10U);
         equal(header.end, Seq{1 + 10 * (threads - 1)});
     }},
    {"a_counter_in_a_record_loses_no_step",
     [](Probe& store) {
         const RecordKey key{"t", "s", "counter"};
         must(store->put_record({.key = key, .value = "0"}));
         together(threads, [&](std::size_t) {
             for (int done = 0; done < 10;) {
                 const Record now = must(store->get_record(key));
                 const std::string next = std::to_string(std::stoi(now.value) + 1);
                 const auto put =
                     store->put_record({.key = key, .value = next, .expected = now.version});
                 if (put) ++done;
                 if (!put) refused(put, ErrorCode::conflict);
             }
         });
         equal(must(store->get_record(key)).value, std::to_string(threads * 10));
     }},
    {"versions_drawn_by_many_threads_are_all_different",
     [](Probe& store) {
         std::vector<std::vector<std::uint64_t>> drawn(threads);
         together(threads, [&](std::size_t me) {
             for (int i = 0; i < 20; ++i)
                 drawn[me].push_back(must(store->put_record(
                     {.key = {"t", "s" + std::to_string(me), "k"}, .value = "v"})));
         });
         std::vector<std::uint64_t> all;
         for (const auto& part : drawn) all.insert(all.end(), part.begin(), part.end());
         std::ranges::sort(all);
         check(std::ranges::adjacent_find(all) == all.end(), "no version twice");
     }},
};

}  // namespace

std::span<const ConformanceCheck> thread_checks() {
    return checks;
}

}  // namespace palimpsest
