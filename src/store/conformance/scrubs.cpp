// Scrubbing: the content goes for good, the position stays, every fork learns of it.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

Body blank() {
    return MessageEntry{.message = {.raw = make_bytes("")}, .scrubbed = true};
}

Result<void> scrub(Probe& store, const LogId& log, Seq seq) {
    const Replacement one[] = {{log, seq, blank()}};
    return store->scrub(one);
}

constexpr ConformanceCheck checks[] = {
    {"scrubbing_takes_the_content_and_leaves_the_position",
     [](Probe& store) {
         const Header header = written(store, "a", {"1", "secret", "3"});
         const Entry before = must(store->read(header.log, {})).at(1);
         must(scrub(store, header.log, Seq{2}));
         const Entry after = must(store->read(header.log, {})).at(1);
         equal(after, Entry{before.seq, before.at, before.ordinal, blank()});
         equal(texts(store, "a"), Texts{"1", "", "3"});
     }},
    {"scrubbing_grows_the_epoch_and_moves_nothing_else",
     [](Probe& store) {
         Header before =
             must(store->append(named("a"), writes({said("1"), pinned(Seq{1})}))).header;
         must(scrub(store, before.log, Seq{1}));
         const Header after = must(store->head(named("a")));
         check(after.epoch > before.epoch, "the epoch grows");
         before.epoch = after.epoch;
         equal(after, before);
     }},
    {"scrubbing_grows_the_epoch_of_every_fork_however_deep",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"3"})));
         must(fork(store, "b", Seq{2}, "c", says({"4"})));
         must(fork(store, "c", Seq{3}, "d"));
         must(scrub(store, a, Seq{1}));
         for (const std::string id : {"a", "b", "c", "d"})
             equal(must(store->head(named(id))).epoch, 1U);
         equal(texts(store, "d"), Texts{"", "3", "4"});
     }},
    {"scrubbing_a_fork_leaves_parent_and_siblings_alone",
     [](Probe& store) {
         written(store, "a", {"1"});
         const LogId b = must(fork(store, "a", Seq{1}, "b", says({"2"}))).header.log;
         must(fork(store, "a", Seq{1}, "c", says({"2"})));
         must(scrub(store, b, Seq{2}));
         equal(must(store->head(named("a"))).epoch, 0U);
         equal(must(store->head(named("c"))).epoch, 0U);
         equal(texts(store, "c"), Texts{"1", "2"});
     }},
    {"several_replacements_are_one_step",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         const LogId b = written(store, "b", {"3"}).log;
         const Replacement all[] = {
             {a, Seq{1}, blank()}, {b, Seq{1}, blank()}, {a, Seq{2}, blank()}};
         must(store->scrub(all));
         equal(texts(store, "a"), Texts{"", ""});
         equal(texts(store, "b"), Texts{""});
         check(must(store->head(a)).epoch > 0 && must(store->head(b)).epoch > 0, "both grew");
     }},
    {"one_bad_replacement_refuses_them_all",
     [](Probe& store) {
         const Header before = written(store, "a", {"1", "2"});
         const Replacement all[] = {{before.log, Seq{1}, blank()}, {before.log, Seq{3}, blank()}};
         refused(store->scrub(all), ErrorCode::not_found);
         equal(texts(store, "a"), Texts{"1", "2"});
         equal(must(store->head(named("a"))), before);
     }},
    {"scrubbing_what_is_not_there_is_not_found",
     [](Probe& store) {
         written(store, "a", {"1"});
         const LogId b = must(fork(store, "a", Seq{1}, "b", says({"2"}))).header.log;
         LogId nobody;
         nobody.bytes.fill(9);
         refused(scrub(store, nobody, Seq{1}), ErrorCode::not_found);
         refused(scrub(store, b, Seq{3}), ErrorCode::not_found);
         refused(scrub(store, b, Seq{1}), ErrorCode::not_found);  // the parent owns it
         refused(scrub(store, b, Seq{0}), ErrorCode::not_found);
     }},
    {"scrubbing_nothing_is_done",
     [](Probe& store) {
         const Header before = written(store, "a", {"1"});
         must(store->scrub({}));
         equal(must(store->head(named("a"))), before);
     }},
    {"a_scrubbed_entry_keeps_its_kind",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         const Replacement other[] = {{a, Seq{1}, marked("not a message")}};
         refused(store->scrub(other), ErrorCode::invalid_request);
         equal(texts(store, "a"), Texts{"1"});
     }},
    {"a_summary_is_scrubbed_like_a_message",
     [](Probe& store) {
         CompactionEntry summary{.edits = {{.treatment = Treatment::folded,
                                            .range = {Seq{1}, Seq{1}},
                                            .result = make_bytes("the secret in short")}}};
         const LogId a = must(store->append(named("a"), writes({said("1"), summary}))).header.log;
         summary.edits.front().result = nullptr;
         summary.edits.front().scrubbed = true;
         const Replacement gone[] = {{a, Seq{2}, summary}};
         must(store->scrub(gone));
         equal(must(store->read(a, {})).at(1).body, Body(summary));
     }},
    {"what_an_erased_conversation_left_to_its_forks_can_be_scrubbed",
     [](Probe& store) {
         const LogId a = written(store, "a", {"secret", "2"}).log;
         must(fork(store, "a", Seq{1}, "b", says({"3"})));
         must(store->erase(named("a")));
         must(scrub(store, a, Seq{1}));
         equal(texts(store, "b"), Texts{"", "3"});
         equal(must(store->head(named("b"))).epoch, 1U);
     }},
    {"a_log_goes_on_after_a_scrub",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         must(scrub(store, a, Seq{1}));
         must(store->append(named("a"), says({"2"})));
         must(scrub(store, a, Seq{2}));
         equal(must(store->append(named("a"), says({"3"}))).header.epoch, 2U);
         equal(texts(store, "a"), Texts{"", "", "3"});
     }},
};

}  // namespace

std::span<const ConformanceCheck> scrub_checks() {
    return checks;
}

}  // namespace palimpsest
