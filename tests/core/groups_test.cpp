#include <gtest/gtest.h>

#include <random>

#include "core/recollect.h"
#include "core/scan.h"
#include "palimpsest/view.h"

using namespace palimpsest;

namespace {

Item said(Role role, std::vector<std::string> calls = {}, std::vector<std::string> results = {}) {
    Item item;
    item.message.shape = {role, std::move(calls), std::move(results), true, false, 0};
    item.tokens = 10;
    return item;
}
Item user() {
    return said(Role::user);
}
Item answer() {
    return said(Role::assistant);
}
Item call(std::vector<std::string> ids) {
    return said(Role::assistant, std::move(ids));
}
Item result(std::string id) {
    return said(Role::tool, {}, {std::move(id)});
}

std::vector<Item> numbered(std::vector<Item> items) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i].range = {Seq{i + 1}, Seq{i + 1}};
    return items;
}
std::vector<Item> of_format(FormatId format, std::vector<Item> items) {
    for (Item& item : items) item.message.format = format;
    return items;
}
std::vector<Item> any_mixture(std::mt19937& random, int count) {
    std::vector<Item> items;
    for (int i = 0; i < count; ++i) {
        std::vector<std::string> calls, results;
        for (int n = 0; n < int(random() % 3); ++n)
            calls.push_back(std::string(1, char('a' + random() % 4)));
        for (int n = 0; n < int(random() % 3); ++n)
            results.push_back(std::string(1, char('a' + random() % 4)));
        items.push_back(said(static_cast<Role>(1 + random() % 3), calls, results));
        items.back().message.format = static_cast<FormatId>(1 + random() % 3);
    }
    return items;
}
std::vector<std::uint64_t> order(const std::vector<Item>& items) {
    std::vector<std::uint64_t> out;
    for (const Item& item : items) out.push_back(item.range.from.value);
    return out;
}

}  // namespace

TEST(groups, a_call_and_all_its_parallel_results_are_one_group) {
    const auto items = std::vector{user(), call({"a", "b"}), result("b"), result("a"), answer()};
    const auto groups = find_groups(items);
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[1].first, 1u);
    EXPECT_EQ(groups[1].last, 3u);
    EXPECT_FALSE(groups[1].open);
    EXPECT_EQ(groups[1].tokens, 30u);
}

TEST(groups, parallel_calls_with_a_message_each_are_one_group_where_the_format_has_them) {
    const auto said = std::vector{user(),      call({"a"}), call({"b"}), result("b"),
                                  result("a"), answer(),    call({"c"}), result("c")};
    for (const FormatId format : {FormatId::openai_responses, FormatId::anthropic}) {
        const auto items = arrange(numbered(of_format(format, said)));
        EXPECT_EQ(order(items), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
        const auto groups = find_groups(items);
        ASSERT_EQ(groups.size(), 4u);
        EXPECT_EQ(groups[1].first, 1u);
        EXPECT_EQ(groups[1].last, 4u);
    }
    const auto open =
        of_format(FormatId::openai_responses, {user(), call({"a"}), call({"b"}), result("b")});
    EXPECT_TRUE(find_groups(open).back().open);
    EXPECT_EQ(find_groups(open).size(), 2u);
}

TEST(groups, words_behind_a_call_that_waits_stay_between_it_and_its_result) {
    const auto said = std::vector{user(), call({"a"}), answer(), result("a"), answer()};
    const auto items = arrange(numbered(of_format(FormatId::openai_responses, said)));
    EXPECT_EQ(order(items), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    ASSERT_EQ(find_groups(items).size(), 3u);
    const auto chat = arrange(numbered(of_format(FormatId::openai_chat, said)));
    EXPECT_EQ(order(chat), (std::vector<std::uint64_t>{1, 2, 4, 3, 5}));
}

// {"function_call":...} and {"role":"function"}: neither has an id.
TEST(groups, a_function_message_belongs_to_what_the_model_said_before_it) {
    const Item function = said(Role::other);
    const auto items =
        std::vector{user(), answer(), function, answer(), function, user(), function};
    const auto groups = find_groups(items);
    ASSERT_EQ(groups.size(), 5u);
    EXPECT_EQ(groups[1].first, 1u);
    EXPECT_EQ(groups[1].last, 2u);
    EXPECT_EQ(groups[2].first, 3u);
    EXPECT_EQ(groups[2].last, 4u);
    for (const FormatId format : {FormatId::openai_responses, FormatId::anthropic})
        EXPECT_EQ(find_groups(of_format(format, items)).size(), items.size());
}

TEST(groups, a_quotation_of_the_past_belongs_to_nobody) {
    Item quotation = said(Role::user);
    mark_recalled(quotation.message);
    EXPECT_EQ(find_groups(std::vector{user(), answer(), quotation, user()}).size(), 4u);
}

TEST(groups, a_group_is_open_until_every_call_is_answered) {
    const auto items = std::vector{user(), call({"a", "b"}), result("a")};
    EXPECT_TRUE(find_groups(items)[1].open);
}

TEST(groups, a_call_that_a_later_answered_turn_left_behind_is_not_open_any_more) {
    const auto items = std::vector{user(), call({"a"}), user(), answer(), user()};
    EXPECT_FALSE(find_groups(items)[1].open);
    const auto live = std::vector{user(), answer(), user(), call({"a"}), user()};
    EXPECT_TRUE(find_groups(live)[3].open);
}

TEST(groups, a_message_inside_another_turns_group_is_sent_behind_it) {
    const auto items = arrange(numbered({user(), call({"a"}), user(), result("a"), answer()}));
    EXPECT_EQ(order(items), (std::vector<std::uint64_t>{1, 2, 4, 3, 5}));
    EXPECT_EQ(find_groups(items).size(), 4u);
}

TEST(groups, two_turns_written_at_the_same_time_come_apart) {
    const auto items =
        arrange(numbered({user(), user(), call({"a"}), call({"b"}), result("b"), result("a")}));
    EXPECT_EQ(order(items), (std::vector<std::uint64_t>{1, 2, 3, 6, 4, 5}));
}

TEST(groups, a_call_id_used_again_belongs_to_the_newest_call) {
    const auto items = std::vector{call({"a"}), result("a"), call({"a"}), result("a")};
    const auto groups = find_groups(items);
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[1].first, 2u);
}

TEST(groups, a_result_without_a_call_stands_alone) {
    EXPECT_EQ(find_groups(std::vector{user(), result("lost"), answer()}).size(), 3u);
}

TEST(turns, begin_at_user_messages_that_carry_no_result) {
    auto results_and_text = said(Role::user, {}, {"a"});
    const auto items =
        std::vector{said(Role::system), user(), call({"a"}), results_and_text, answer(), user()};
    const auto groups = find_groups(items);
    const auto turns = find_turns(items, groups);
    ASSERT_EQ(turns.size(), 3u);
    EXPECT_EQ(turns[1].first, 1u);
    EXPECT_EQ(turns[1].last, 3u);
}

TEST(turns, a_summary_is_no_turn_of_the_user) {
    Item summary = user();
    summary.kind = ItemKind::summary;
    const auto items = std::vector{summary, user(), answer()};
    EXPECT_EQ(find_turns(items, find_groups(items)).size(), 2u);
}

TEST(groups, results_that_come_before_their_calls_never_tear_a_group_apart) {
    // Messages that hold a result and a call at once, crosswise.
    const auto both = [](std::string answers, std::string asks) {
        return said(Role::user, {std::move(asks)}, {std::move(answers)});
    };
    auto two = said(Role::user, {}, {"z", "y"});
    const auto items = arrange(numbered({call({"x"}), call({"y"}), two, both("x", "z")}));
    const auto groups = find_groups(items);
    std::size_t covered = 0;
    for (const Group& group : groups) {
        EXPECT_EQ(group.first, covered);
        covered = group.last + 1;
    }
    EXPECT_EQ(covered, items.size());
}

TEST(groups, a_result_for_two_groups_answers_the_calls_of_both) {
    const auto items =
        std::vector{user(), call({"a"}), call({"b"}), said(Role::tool, {}, {"b", "a"})};
    const auto groups = find_groups(items);
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_FALSE(groups[1].open);
    EXPECT_FALSE(groups[2].open);
}

TEST(groups, facts_taken_down_item_by_item_are_those_of_the_whole_list) {
    std::mt19937 random(6);
    const auto fields = [](const ItemFacts& f) {
        return std::vector<std::uint64_t>{f.from.value, f.tokens,   f.group,           f.calls,
                                          f.closes,     f.in_order, f.closes_elsewhere};
    };
    for (int round = 0; round < 2'000; ++round) {
        const std::vector<Item> items = numbered(any_mixture(random, 12));
        Items grown, shorter;
        for (std::size_t i = 0; i < items.size(); ++i) {
            grown = grown.with({items[i]});
            if (i == 5) shorter = grown;
        }
        const std::vector<ItemFacts> whole = facts_of(items);
        ASSERT_EQ(grown.facts().size(), whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i)
            ASSERT_EQ(fields(grown.facts()[i]), fields(whole[i]));
        const auto kept = scan_items(shorter, shorter.facts()).groups;
        const auto found = find_groups(std::span(items).first(6));
        ASSERT_EQ(kept.size(), found.size());
        for (std::size_t g = 0; g < kept.size(); ++g) {
            ASSERT_EQ(kept[g].last, found[g].last);
            ASSERT_EQ(kept[g].open, found[g].open);
        }
    }
}

TEST(groups, any_mixture_of_calls_and_results_is_covered_by_groups_once) {
    std::mt19937 random(5);
    for (int round = 0; round < 20'000; ++round) {
        const std::vector<Item> items = any_mixture(random, 7);
        const auto arranged = arrange(numbered(items));
        const auto groups = find_groups(arranged);
        std::size_t next = 0;
        for (const Group& group : groups) {
            ASSERT_EQ(group.first, next);
            next = group.last + 1;
        }
        ASSERT_EQ(next, arranged.size());
    }
}

TEST(groups, nothing_said_gives_no_group_and_no_turn) {
    EXPECT_TRUE(find_groups({}).empty());
    EXPECT_TRUE(find_turns({}, {}).empty());
    EXPECT_TRUE(arrange({}).empty());
}
