// Views that are kept in memory: they are never told from views that are folded anew, whoever else
// writes to the store, and they spare the reads that they are kept for.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "engine/hot_views.h"
#include "engine/storing.h"
#include "palimpsest/memory.h"
#include "support/engine.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string shown(const Item& item) {
    std::string out(item_kind_name(item.kind));
    for (const std::uint64_t number :
         {item.range.from.value, item.range.to.value, std::uint64_t{item.tokens}, item.by.value,
          static_cast<std::uint64_t>(item.at.time_since_epoch().count()),
          std::uint64_t{item.pinned}, std::uint64_t{item.interrupted}})
        out += " " + std::to_string(number);
    return out + " " + item.reason + " " + std::string(view_of(item.message.raw));
}

// Everything that a view says, as text.
std::string shown(const Result<View>& view) {
    if (!view) return std::string(error_info(view.error().code).name);
    std::string out = "seq " + std::to_string(view->seq.value) + " basis " +
                      std::to_string(view->basis.value) + " tokens " +
                      std::to_string(view->tokens) + "\n";
    for (const Item& item : view->items) out += shown(item) + "\n";
    if (view->totals != totals_of(view->items)) out += "wrong totals\n";
    return out;
}

// Two processes on one store, and a third that keeps nothing.
struct Site {
    std::unique_ptr<Store> store = memory_store();
    Traffic traffic[3] = {};
    Memory a{std::make_unique<WrappedStore>(*store, traffic[0])};
    Memory b{std::make_unique<WrappedStore>(*store, traffic[1])};
    Memory cold{std::make_unique<WrappedStore>(*store, traffic[2]), {.hot_bytes_max = 0}};
};

class Crowd {
public:
    Crowd(Site& site, unsigned seed) : site_(site), random_(seed) {}

    void step() {
        Memory& memory = pick(2) ? site_.a : site_.b;
        const ConversationId& name = names_[pick(names_.size())];
        const auto header = memory.head(name);
        const std::uint64_t end = header ? header->end.value : 0;
        const Seq any{pick(end) + 1};
        switch (pick(20)) {
            case 0:
                (void)memory.pin(name, any);
                break;
            case 1:
                (void)memory.unpin(name, any);
                break;
            case 2:
                (void)memory.retract(name, {any, any + pick(3)});
                break;
            case 3:
                (void)memory.undo(name);
                break;
            case 4:
                if (end > 0 && pick(3) == 0) (void)memory.rewind(name, any - 1);
                break;
            case 5:
                (void)memory.scrub(name, {any});
                break;
            case 6:
                if (pick(4) == 0) (void)memory.erase(name);
                break;
            case 7:
                fork(memory, name, any);
                break;
            case 8:
                if (const auto view = memory.view(name))
                    (void)memory.splice(name, *view,
                                        {fold(any.value, any.value + pick(4), "summary")},
                                        Cause::policy);
                break;
            case 9:
                (void)memory.checkpoint(name, "here");
                break;
            case 10:
            case 11:
            case 12:
                turn(memory, name);
                break;
            default:
                say(memory, name);
        }
    }

    void check() {
        for (const ConversationId& name : names_) {
            const std::string folded = shown(site_.cold.view(name));
            ASSERT_EQ(shown(site_.a.view(name)), folded) << name.id;
            ASSERT_EQ(shown(site_.b.view(name)), folded) << name.id;
        }
    }

private:
    std::uint64_t pick(std::uint64_t below) { return below == 0 ? 0 : random_() % below; }

    // Calls and results come in any order, as they do when turns run side by side.
    std::string something() {
        if (pick(3) == 0) {
            open_.push_back("c" + std::to_string(++calls_));
            return call(open_.back());
        }
        if (pick(2) == 0 && !open_.empty()) {
            const std::size_t which = pick(open_.size());
            const std::string id = open_[which];
            if (pick(4) != 0) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
            return result(id, "found");
        }
        return pick(2) ? user("ask") : assistant("say");
    }
    void say(Memory& memory, const ConversationId& name) {
        std::string list = "[" + something();
        for (std::uint64_t n = pick(3); n > 0; --n) list += "," + something();
        list += "]";
        ASSERT_TRUE(memory.append(name, {.messages = list}).has_value());
    }
    void turn(Memory& memory, const ConversationId& name) {
        const std::string said = "[" + user("question") + "]";
        const std::string policy =
            R"({"triggers":{"messages":12},"passes":[{"pass":"keep_last","turns":2}]})";
        const auto begun =
            memory.begin(name, {.messages = said, .policy = pick(2) ? policy : std::string()});
        ASSERT_TRUE(begun.has_value()) << begun.error().message;
        ASSERT_EQ(shown(begun->view), shown(site_.cold.view(name, {.at = begun->view.seq})));
        Memory& other = pick(2) ? site_.a : site_.b;
        if (pick(3) == 0) say(pick(2) ? site_.a : site_.b, name);
        const auto answer = make_message(FormatId::openai_chat, Role::assistant, "answer");
        ASSERT_TRUE(other.finish(*begun, {.message = *answer}).has_value());
    }
    void fork(Memory& memory, const ConversationId& name, Seq at) {
        if (names_.size() == 4) return;
        const ConversationId child{"t", "fork" + std::to_string(names_.size())};
        if (memory.fork(name, child, at)) names_.push_back(child);
    }

    Site& site_;
    std::mt19937_64 random_;
    std::vector<ConversationId> names_{{"t", "root"}};
    std::vector<std::string> open_;
    int calls_ = 0;
};

}  // namespace

TEST(hot_views, are_what_folding_anew_gives_whoever_else_writes) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        Site site;
        Crowd crowd(site, seed);
        for (int step = 0; step < 60; ++step) {
            crowd.step();
            crowd.check();
            ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << " step " << step;
        }
    }
}

TEST(hot_views, a_turn_of_a_hot_conversation_reads_no_entry) {
    Site site;
    const std::string said = user("hello");
    for (int i = 0; i < 3; ++i) {
        site.traffic[0] = {};
        const auto begun = site.a.begin(alice, {.messages = said});
        ASSERT_TRUE(begun.has_value());
        const auto answer = make_message(FormatId::openai_chat, Role::assistant, "hi");
        ASSERT_TRUE(site.a.finish(*begun, {.message = *answer}).has_value());
        EXPECT_EQ(begun->view.items.size(), 2u * static_cast<unsigned>(i) + 1);
    }
    EXPECT_EQ(site.traffic[0].entries_read, 0u);
    EXPECT_EQ(site.traffic[0].calls, 2);  // the two writes
}

TEST(hot_views, of_what_others_wrote_only_the_new_is_read) {
    Site site;
    const std::string said = user("hello");
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(site.a.append(alice, {.messages = said}).has_value());
    ASSERT_TRUE(site.a.view(alice).has_value());
    ASSERT_TRUE(site.b.append(alice, {.messages = said}).has_value());
    site.traffic[0] = {};
    EXPECT_EQ(site.a.view(alice)->items.size(), 101u);
    EXPECT_EQ(site.traffic[0].entries_read, 1u);
}

TEST(hot_views, longer_lists_share_what_they_have_in_common_and_leave_it_alone) {
    const auto item = [](std::uint64_t seq) {
        Item one;
        one.range = {Seq{seq}, Seq{seq}};
        return one;
    };
    const Items one = Items({item(1)}).with({item(2)});
    const Items left = one.with({item(3)}), right = one.with({item(4)});
    EXPECT_EQ(left.data(), one.data());
    EXPECT_NE(right.data(), one.data());
    EXPECT_EQ(one.size(), 2u);
    EXPECT_EQ(left[2].range.from, Seq{3});
    EXPECT_EQ(right[2].range.from, Seq{4});
    EXPECT_EQ(right.with({}).data(), right.data());
}

TEST(hot_views, of_a_turn_are_kept_when_it_is_stored_and_not_when_somebody_asks) {
    std::string kept;
    Storing stored, stored_at_once, lost;
    stored.when_stored([&] { kept += "a"; });
    EXPECT_EQ(kept, "");
    stored.end({});
    EXPECT_EQ(kept, "a");
    stored_at_once.end({});
    stored_at_once.when_stored([&] { kept += "b"; });
    lost.when_stored([&] { kept += "c"; });
    lost.end(Error{ErrorCode::outcome_unknown, "the disk has failed"});
    EXPECT_EQ(kept, "ab");
    EXPECT_TRUE(stored.wait());
    EXPECT_EQ(kept, "ab");
}

TEST(hot_views, the_cache_stays_within_its_bytes_and_lets_the_oldest_go) {
    constexpr std::size_t bytes_max = 100'000;
    HotViews views(bytes_max);
    const auto id = [](int number) { return ConversationId{"t", std::to_string(number)}; };
    const auto view = [&](int number, std::size_t bytes) {
        HotView hot;
        hot.header.name = id(number);
        hot.header.log.bytes[0] = 1;
        hot.bytes = bytes;
        return std::make_shared<const HotView>(hot);
    };
    for (int number = 0; number < 100; ++number) {
        views.put(view(number, 2'000));
        EXPECT_LE(views.bytes(), bytes_max);
        EXPECT_NE(views.find(id(number)), nullptr);
    }
    EXPECT_EQ(views.find(id(0)), nullptr);
    views.put(view(200, bytes_max + 1));
    EXPECT_EQ(views.find(id(200)), nullptr);
    views.put(view(201, bytes_max));
    EXPECT_NE(views.find(id(201)), nullptr);
    EXPECT_LE(views.bytes(), bytes_max);
}

TEST(hot_views, many_threads_on_one_conversation_lose_nothing) {
    Memory memory = open_memory();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&memory, t] {
            const std::string said = user("thread " + std::to_string(t));
            for (int i = 0; i < 25; ++i) {
                const auto begun = memory.begin(alice, {.messages = said});
                ASSERT_TRUE(begun.has_value());
                ASSERT_EQ(begun->view.items.back().range.from, begun->turn);
            }
        });
    for (std::thread& thread : threads) thread.join();
    const auto view = memory.view(alice);
    EXPECT_EQ(view->items.size(), 100u);
    for (std::size_t i = 1; i < view->items.size(); ++i)
        EXPECT_LT(view->items[i - 1].range.from, view->items[i].range.from);
}
