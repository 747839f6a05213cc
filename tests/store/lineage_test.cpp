// Reading along a chain of forks, over the memory store.
//
//   root   1 2 3 4 5 6            checkpoint at 2, pin at 5
//   child        4 5 6 7          forked from root at 3; pin at 5
//   grand              7 8        forked from child at 6
#include "store/lineage.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

Body said(const std::string& text) {
    return MessageEntry{.message = {.raw = make_bytes(text)}};
}
Body pin() {
    return PinEntry{.targets = {Seq{1}}};
}

struct Lineage : testing::Test {
    std::unique_ptr<Store> store = *open_store("memory:");
    Header root, child, grand;

    Header write(const std::string& id, std::vector<Body> bodies,
                 std::optional<ForkPoint> fork = {}) {
        Batch batch{.fork = fork};
        for (Body& body : bodies) batch.entries.push_back({std::move(body)});
        return store->append({"t", id}, batch)->header;
    }
    void SetUp() override {
        root = write("root", {said("r1"), CheckpointEntry{.name = "start"}, said("r3"), said("r4"),
                              pin(), said("r6")});
        child = write("child", {said("c4"), pin(), said("c6"), said("c7")},
                      *fork_point(*store, root, Seq{3}));
        grand = write("grand", {said("g7"), said("g8")}, *fork_point(*store, child, Seq{6}));
    }
    // The texts of messages, the kinds of the others.
    std::vector<std::string> texts(const Header& header, const ReadQuery& query) {
        std::vector<std::string> found;
        const auto entries = read_lineage(*store, header, query);
        EXPECT_TRUE(entries) << entries.error().message;
        for (const Entry& entry : *entries) {
            const auto* message = std::get_if<MessageEntry>(&entry.body);
            found.emplace_back(message ? view_of(message->message.raw)
                                       : entry_kind_name(kind_of(entry.body)));
        }
        return found;
    }
};
using Texts = std::vector<std::string>;

TEST_F(Lineage, reads_every_ancestor_up_to_its_fork_point) {
    EXPECT_EQ(texts(grand, {}), (Texts{"r1", "checkpoint", "r3", "c4", "pin", "c6", "g7", "g8"}));
    EXPECT_EQ(texts(child, {}), (Texts{"r1", "checkpoint", "r3", "c4", "pin", "c6", "c7"}));
}

TEST_F(Lineage, reads_newest_first) {
    EXPECT_EQ(texts(grand, {.newest_first = true}),
              (Texts{"g8", "g7", "c6", "pin", "c4", "r3", "checkpoint", "r1"}));
}

TEST_F(Lineage, cuts_ranges_at_each_base) {
    const std::vector<Range> ranges = {{Seq{2}, Seq{4}}, {Seq{6}, Seq{7}}};
    EXPECT_EQ(texts(grand, {.ranges = ranges}), (Texts{"checkpoint", "r3", "c4", "c6", "g7"}));
    EXPECT_EQ(texts(grand, {.ranges = ranges, .newest_first = true}),
              (Texts{"g7", "c6", "c4", "r3", "checkpoint"}));
}

TEST_F(Lineage, counts_the_limit_over_all_logs) {
    EXPECT_EQ(texts(grand, {.limit = 5}), (Texts{"r1", "checkpoint", "r3", "c4", "pin"}));
    EXPECT_EQ(texts(grand, {.limit = 6, .newest_first = true}),
              (Texts{"g8", "g7", "c6", "pin", "c4", "r3"}));
    EXPECT_EQ(texts(grand, {.limit = 0}), Texts{});
}

TEST_F(Lineage, filters_kinds_in_every_log) {
    EXPECT_EQ(texts(grand, {.kinds = only(EntryKind::message), .limit = 3}),
              (Texts{"r1", "r3", "c4"}));
    EXPECT_EQ(texts(grand, {.kinds = only(EntryKind::checkpoint)}), Texts{"checkpoint"});
    EXPECT_EQ(texts(grand, {.kinds = basis_kinds, .newest_first = true}), Texts{"pin"});
}

TEST_F(Lineage, reads_nothing_for_empty_ranges_and_beyond_the_end) {
    EXPECT_EQ(texts(grand, {.ranges = {{Seq{5}, Seq{4}}}}), Texts{});
    EXPECT_EQ(texts(grand, {.ranges = {{Seq{9}, seq_max}}}), Texts{});
}

TEST_F(Lineage, refuses_overlapping_ranges) {
    const auto read = read_lineage(*store, grand, {.ranges = {{Seq{1}, Seq{4}}, {Seq{4}, Seq{5}}}});
    EXPECT_EQ(read.error().code, ErrorCode::invalid_request);
}

TEST_F(Lineage, does_not_show_what_came_after_the_header) {
    write("root", {said("r7")});
    EXPECT_EQ(texts(root, {.newest_first = true}).front(), "r6");
}

TEST_F(Lineage, leaves_content_out_when_asked) {
    const auto entries = read_lineage(*store, grand, {.content = false});
    ASSERT_EQ(entries->size(), 8U);
    EXPECT_EQ(std::get<MessageEntry>(entries->front().body).message.raw, nullptr);
}

TEST_F(Lineage, counts_ordinals_over_forks) {
    EXPECT_EQ(read_entry(*store, grand, Seq{8})->ordinal, 6U);
    EXPECT_EQ(read_entry(*store, grand, Seq{5})->ordinal, 3U);
    EXPECT_EQ(grand.messages, 6U);
}

TEST_F(Lineage, reads_one_entry_wherever_it_lies) {
    EXPECT_EQ(read_entry(*store, grand, Seq{3})->seq, Seq{3});
    EXPECT_EQ(read_entry(*store, grand, Seq{9}).error().code, ErrorCode::not_found);
    EXPECT_EQ(read_entry(*store, grand, Seq{0}).error().code, ErrorCode::not_found);
}

TEST_F(Lineage, finds_the_newest_entry_of_a_kind_at_or_below_a_seq) {
    EXPECT_EQ((*newest_entry(*store, grand, basis_kinds, seq_max))->seq, Seq{5});
    EXPECT_EQ((*newest_entry(*store, grand, only(EntryKind::checkpoint), Seq{8}))->seq, Seq{2});
    EXPECT_FALSE(newest_entry(*store, grand, basis_kinds, Seq{4})->has_value());
    EXPECT_EQ((*newest_entry(*store, grand, only(EntryKind::message), Seq{5}))->seq, Seq{4});
}

TEST_F(Lineage, names_the_log_that_owns_a_seq) {
    EXPECT_EQ(owner_of(*store, grand, Seq{7})->log, grand.log);
    EXPECT_EQ(owner_of(*store, grand, Seq{6})->log, child.log);
    EXPECT_EQ(owner_of(*store, grand, Seq{4})->log, child.log);
    EXPECT_EQ(owner_of(*store, grand, Seq{3})->log, root.log);
    EXPECT_EQ(owner_of(*store, grand, Seq{0})->log, root.log);
}

TEST_F(Lineage, forks_at_or_below_its_own_base_from_the_ancestor_that_owns_it) {
    const auto at_base = fork_point(*store, grand, Seq{6});
    EXPECT_EQ(at_base->parent, child.log);
    EXPECT_EQ(at_base->basis, Seq{5});
    EXPECT_EQ(at_base->messages, 4U);
    const auto below = fork_point(*store, grand, Seq{2});
    EXPECT_EQ(below->parent, root.log);
    EXPECT_EQ(below->basis, Seq{});
    EXPECT_EQ(below->messages, 1U);
    const Header other = write("other", {said("o3")}, *below);
    EXPECT_EQ(texts(other, {}), (Texts{"r1", "checkpoint", "o3"}));
}

TEST_F(Lineage, forks_at_nothing_and_at_the_end_but_not_beyond) {
    EXPECT_EQ(fork_point(*store, grand, Seq{0})->messages, 0U);
    EXPECT_EQ(texts(write("empty", {said("e1")}, *fork_point(*store, grand, Seq{0})), {}),
              Texts{"e1"});
    EXPECT_EQ(fork_point(*store, grand, grand.end)->messages, 6U);
    EXPECT_EQ(fork_point(*store, grand, grand.end + 1).error().code, ErrorCode::invalid_request);
}

TEST_F(Lineage, survives_the_erasure_of_every_ancestor) {
    ASSERT_TRUE(store->erase({"t", "root"}));
    ASSERT_TRUE(store->erase({"t", "child"}));
    EXPECT_EQ(texts(grand, {}), (Texts{"r1", "checkpoint", "r3", "c4", "pin", "c6", "g7", "g8"}));
}

}  // namespace
}  // namespace palimpsest
