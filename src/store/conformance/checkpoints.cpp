// Checkpoints are entries: a name for a position, found through the kinds, never a copy.
#include <algorithm>

#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

// All checkpoints that the conversation sees, newest first.
std::vector<Entry> checkpoints(Probe& store, const std::string& id) {
    const Header header = must(store->head(named(id)));
    return must(
        read_lineage(*store, header, {.kinds = only(EntryKind::checkpoint), .newest_first = true}));
}

Seq by_name(Probe& store, const std::string& id, std::string_view name) {
    for (const Entry& entry : checkpoints(store, id))
        if (std::get<CheckpointEntry>(entry.body).name == name) return entry.seq;
    return {};
}

// "start" after 1, "middle" after 2, "start" again after 3.
void three_checkpoints(Probe& store) {
    must(store->append(named("a"), writes({said("1"), marked("start", "{\"v\":1}"), said("2"),
                                           marked("middle", "{\"v\":2}"), said("3"),
                                           marked("start", "{\"v\":3}"), said("4")})));
}

constexpr ConformanceCheck checks[] = {
    {"without_a_checkpoint_there_is_none",
     [](Probe& store) {
         written(store, "a", {"1"});
         equal(checkpoints(store, "a").size(), 0U);
         equal(by_name(store, "a", "start"), Seq{0});
     }},
    {"the_latest_checkpoint_is_found_without_reading_messages",
     [](Probe& store) {
         three_checkpoints(store);
         const Header header = must(store->head(named("a")));
         const auto latest =
             must(newest_entry(*store, header, only(EntryKind::checkpoint), header.end));
         equal(latest.value().seq, Seq{6});
         equal(std::get<CheckpointEntry>(latest->body).metadata, "{\"v\":3}");
     }},
    {"the_newest_checkpoint_of_a_name_wins",
     [](Probe& store) {
         three_checkpoints(store);
         equal(by_name(store, "a", "start"), Seq{6});
         equal(by_name(store, "a", "middle"), Seq{4});
         equal(by_name(store, "a", "never"), Seq{0});
     }},
    {"a_checkpoint_is_found_by_its_position",
     [](Probe& store) {
         three_checkpoints(store);
         const Header header = must(store->head(named("a")));
         const Entry entry = must(read_entry(*store, header, Seq{2}));
         equal(std::get<CheckpointEntry>(entry.body).name, "start");
         refused(read_entry(*store, header, Seq{99}), ErrorCode::not_found);
     }},
    {"a_checkpoint_is_found_by_its_metadata",
     [](Probe& store) {
         three_checkpoints(store);
         const std::vector<Entry> all = checkpoints(store, "a");
         const auto found = std::ranges::find_if(all, [](const Entry& entry) {
             return std::get<CheckpointEntry>(entry.body).metadata == "{\"v\":2}";
         });
         check(found != all.end() && found->seq == Seq{4}, "the one in the middle");
     }},
    {"a_fork_starts_from_a_checkpoint",
     [](Probe& store) {
         three_checkpoints(store);
         must(fork(store, "a", by_name(store, "a", "middle"), "retry", says({"other 3"})));
         equal(texts(store, "retry"), Texts{"1", "2", "other 3"});
         equal(texts(store, "a"), Texts{"1", "2", "3", "4"});
     }},
    {"forks_inherit_the_checkpoints_before_them",
     [](Probe& store) {
         three_checkpoints(store);
         must(fork(store, "a", Seq{5}, "b", writes({said("x"), marked("middle")})));
         equal(by_name(store, "b", "start"), Seq{2});
         equal(by_name(store, "b", "middle"), Seq{7});
         equal(by_name(store, "a", "middle"), Seq{4});
     }},
    {"a_checkpoint_outlives_what_is_appended_after_it",
     [](Probe& store) {
         three_checkpoints(store);
         for (int i = 0; i < 200; ++i) must(store->append(named("a"), says({"more"})));
         equal(by_name(store, "a", "start"), Seq{6});
         const Header header = must(store->head(named("a")));
         const auto prefix = must(read_lineage(*store, header, {.ranges = {{Seq{1}, Seq{6}}}}));
         equal(texts_of(prefix), Texts{"1", "2", "3"});
     }},
    {"a_checkpoint_does_not_change_the_view",
     [](Probe& store) {
         must(store->append(named("a"), writes({said("1"), pinned(Seq{1}), marked("m")})));
         equal(must(store->head(named("a"))).basis, Seq{2});
     }},
};

}  // namespace

std::span<const ConformanceCheck> checkpoint_checks() {
    return checks;
}

}  // namespace palimpsest
