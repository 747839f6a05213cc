// What must hold over any history: the view that the engine loads is the view that the judge finds
// in the whole log, now and at any past seq, over every store; loading reads what the view needs;
// and a fault at any call of the store leaves a log that loads and can be completed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <unistd.h>

#include "palimpsest/chat.h"
#include "palimpsest/model.h"
#include "support/engine.h"
#include "support/fold_judge.h"
#include "support/wrapped_store.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

struct Seen {
    Seq at = {};  // of a message; 0 for a summary, whose place is the order
    ItemKind kind = ItemKind::verbatim;
    Seq by = {};
    bool operator==(const Seen&) const = default;
};

std::vector<Seen> seen_by_engine(const View& view) {
    std::vector<Item> items = view.items.copy();
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.range.from < b.range.from; });
    std::vector<Seen> out;
    for (const Item& item : items)
        out.push_back(
            {item.kind == ItemKind::summary ? Seq{} : item.range.from, item.kind, item.by});
    return out;
}

std::vector<Seen> seen_by_judge(const std::vector<Entry>& log, Seq at, std::uint64_t& tokens) {
    const auto picture = judge::picture_of(log, at, [](const Entry& entry) {
        return std::get<MessageEntry>(entry.body).message.count.tokens;
    });
    tokens = picture.tokens;
    std::vector<Seen> out;
    for (const judge::Shown& shown : picture.shown) {
        constexpr ItemKind kinds[] = {ItemKind::verbatim, ItemKind::shortened, ItemKind::cleared,
                                      ItemKind::summary};
        const bool folded = shown.treatment == Treatment::folded;
        out.push_back(
            {folded ? Seq{} : shown.at, kinds[static_cast<int>(shown.treatment)], shown.by});
    }
    return out;
}

// Random people on a few conversations that fork from each other.
class Crowd {
public:
    Crowd(Memory& memory, unsigned seed) : memory_(memory), random_(seed) { say(names_[0]); }

    void step() {
        const ConversationId name = names_[pick(names_.size())];
        const auto header = memory_.head(name);
        ASSERT_TRUE(header.has_value());
        const Seq end = header->end;
        switch (pick(14)) {
            case 0:
                edit(name);
                break;
            case 1:
                (void)memory_.pin(name, Seq{pick(end.value) + 1});
                break;
            case 2:
                (void)memory_.unpin(name, Seq{pick(end.value) + 1});
                break;
            case 3:
                (void)memory_.retract(name, range(end));
                break;
            case 4:
                if (pick(4) == 0) (void)memory_.rewind(name, Seq{pick(end.value)});
                break;
            case 5:
                (void)memory_.undo(name, Seq{pick(end.value) + 1});
                break;
            case 6:
                (void)memory_.undo(name);
                break;
            case 7:
                late(name);
                break;
            case 8:
                fork(name, Seq{pick(end.value + 1)});
                break;
            case 9:
                (void)memory_.checkpoint(name, "c");
                break;
            default:
                say(name);
                break;
        }
    }

    void check() {
        for (const ConversationId& name : names_) {
            const auto log = memory_.log(name, {.limit = SIZE_MAX, .content = false});
            ASSERT_TRUE(log.has_value());
            const Seq end = memory_.head(name)->end;
            for (const Seq at : {end, Seq{pick(end.value + 1)}}) {
                const auto view = memory_.view(name, {.at = at});
                ASSERT_TRUE(view.has_value()) << view.error().message;
                std::uint64_t tokens = 0;
                ASSERT_EQ(seen_by_engine(*view), seen_by_judge(*log, at, tokens))
                    << name.id << " at " << at.value;
                ASSERT_EQ(view->tokens, tokens) << name.id << " at " << at.value;
            }
        }
    }

private:
    std::uint64_t pick(std::uint64_t below) { return below == 0 ? 0 : random_() % below; }
    Range range(Seq end) {
        const Seq from{pick(end.value) + 1};
        return {from, Seq{std::min(end.value, from.value + pick(4))}};
    }

    void say(const ConversationId& name) {
        const std::string id = "c" + std::to_string(++calls_);
        const std::string text(pick(40), 'x');
        const std::string one = pick(3) == 0   ? "[" + call(id) + "," + result(id, text) + "]"
                                : pick(2) == 0 ? user(text)
                                               : assistant(text);
        ASSERT_TRUE(memory_.append(name, {.messages = one}).has_value());
    }

    std::vector<Edit> random_edits(const View& view) {
        std::vector<Edit> edits;
        for (std::uint64_t n = pick(3) + 1; n > 0 && view.seq.value > 0; --n) {
            const Range where = range(view.seq);
            switch (pick(4)) {
                case 0:
                    edits.push_back(drop(where.from.value, where.to.value));
                    break;
                case 1:
                    edits.push_back(clear(where.from.value, user("cleared")));
                    break;
                default:
                    edits.push_back(
                        fold(where.from.value, where.to.value, std::string(pick(20), 's')));
                    break;
            }
        }
        return edits;
    }
    void edit(const ConversationId& name) {
        const auto view = memory_.view(name);
        if (view) (void)memory_.splice(name, *view, random_edits(*view), Cause::policy);
    }
    void late(const ConversationId& name) {
        const auto view = memory_.view(name);
        for (std::uint64_t n = pick(4); n > 0; --n) say(name);
        if (view) (void)memory_.splice(name, *view, random_edits(*view), Cause::policy);
    }
    void fork(const ConversationId& name, Seq at) {
        if (names_.size() == 5) return;
        const ConversationId child{"t", "fork" + std::to_string(names_.size())};
        ASSERT_TRUE(memory_.fork(name, child, at).has_value());
        names_.push_back(child);
        if (at == Seq{}) say(child);
    }

    Memory& memory_;
    std::mt19937_64 random_;
    std::vector<ConversationId> names_{{"t", "root"}};
    int calls_ = 0;
};

// A new store of each kind; of those that need a server, where a test names one (see tests/live).
std::vector<std::string> fresh_urls(unsigned seed) {
    const std::string name =
        "pal_properties_" + std::to_string(::getpid()) + "_" + std::to_string(seed);
    std::vector<std::string> urls;
    for (const StoreKind& kind : store_kinds()) {
        if (kind.scheme == "redis" || kind.scheme == "rediss" || kind.scheme == "postgres")
            continue;
        const std::string file = name + "_" + std::string(kind.scheme);
        const std::string path = (std::filesystem::temp_directory_path() / file).string();
        urls.push_back(std::string(kind.scheme) + ":" +
                       (kind.scheme == "memory" ? "?ttl=0&max=0" : path));
    }
    for (const char* variable : {"PAL_TEST_POSTGRES", "PAL_TEST_REDIS", "PAL_TEST_CLUSTER"}) {
        if (!std::getenv(variable)) continue;
        std::string url = std::getenv(variable);
        urls.push_back(url.replace(url.find("UNIQUE"), 6, name));
    }
    return urls;
}

void remove_files(unsigned seed) {
    const std::string stem =
        "pal_properties_" + std::to_string(::getpid()) + "_" + std::to_string(seed);
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
        if (file.path().filename().string().starts_with(stem))
            std::filesystem::remove_all(file.path());
}

}  // namespace

TEST(properties, the_loaded_view_is_what_the_whole_log_says_over_every_store) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        for (const std::string& url : fresh_urls(seed)) {
            if (seed > 8 && !url.starts_with("memory:")) continue;
            auto store = open_store(url);
            ASSERT_TRUE(store.has_value()) << url << ": " << store.error().message;
            Memory memory(std::move(*store));
            Crowd crowd(memory, seed);
            for (int step = 0; step < 50; ++step) {
                crowd.step();
                if (step % 5 == 0 || step == 49) crowd.check();
                ASSERT_FALSE(testing::Test::HasFatalFailure())
                    << url << " seed " << seed << " step " << step;
            }
        }
        remove_files(seed);
    }
}

TEST(properties, opening_a_folded_conversation_reads_what_the_view_needs_and_not_the_history) {
    auto inner = memory_store();
    Traffic traffic;
    Memory memory(std::make_unique<WrappedStore>(*inner, traffic));
    std::string thousand = "[";
    for (int i = 0; i < 1000; ++i)
        thousand += (i ? "," : "") + (i % 2 ? assistant("answer") : user("question"));
    thousand += "]";
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(memory.append(alice, {.messages = thousand}).has_value());
    ASSERT_TRUE(
        memory.splice(alice, *memory.view(alice), {fold(1, 99'900, "a long talk")}, Cause::policy)
            .has_value());
    traffic = {};
    const auto view = memory.view(alice);
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->items.size(), 101u);
    EXPECT_LE(traffic.entries_read, 105u);
    // A pin in the middle of the fold reads its neighbourhood and counts, no content.
    traffic = {};
    ASSERT_TRUE(memory.pin(alice, Seq{50'000}).has_value());
    EXPECT_EQ(traffic.content_bytes_read, 0u);
}

TEST(properties, a_fault_at_any_call_of_the_store_leaves_a_log_that_loads_and_can_be_completed) {
    const std::string policy =
        R"({"triggers":{"messages":2},"passes":[{"pass":"keep_last","turns":1}]})";
    const auto run = [&](Store& store, Traffic& traffic, Fault fault) -> bool {
        Memory memory(std::make_unique<WrappedStore>(store, traffic, fault));
        const auto model = make_echo_model();
        bool all_done = true;
        for (const char* text : {"one", "two", "three"}) {
            const std::string said = user(text);
            all_done &= chat(memory, alice,
                             {.messages = said, .policy = policy, .write = {.key = text}}, *model)
                            .has_value();
            all_done &=
                memory.checkpoint(alice, text, "{}", {.key = std::string("c") + text}).has_value();
        }
        all_done &= memory.pin(alice, Seq{1}, {.key = "pin"}).has_value();
        all_done &= memory.undo(alice, {}, {.key = "undo"}).has_value();
        all_done &= memory.fork(alice, bob, Seq{3}, {.key = "fork"}).has_value();
        return all_done;
    };
    auto clean = memory_store();
    Traffic clean_traffic;
    ASSERT_TRUE(run(*clean, clean_traffic, {}));
    Memory expected(std::move(clean));
    for (const bool after : {false, true})
        for (int n = 1; n <= clean_traffic.calls; ++n) {
            auto store = memory_store();
            Traffic traffic;
            (void)run(*store, traffic, {n, after});
            Traffic second;
            EXPECT_TRUE(run(*store, second, {})) << "after a fault at call " << n;
            Memory memory(std::move(store));
            const auto view = memory.view(alice);
            ASSERT_TRUE(view.has_value()) << "after a fault at call " << n;
            std::string said;
            const std::vector<Entry> log = *memory.log(alice, {.kinds = only(EntryKind::message)});
            for (const Entry& entry : log)
                said += text_of(std::get<MessageEntry>(entry.body).message) + "|";
            for (const char* text : {"one", "two", "three"}) {
                // Said once by the user; the echo may repeat it.
                std::size_t count = 0;
                for (const Entry& entry : log) {
                    const Message& one = std::get<MessageEntry>(entry.body).message;
                    count += one.shape.role == Role::user && text_of(one) == text ? 1 : 0;
                }
                EXPECT_EQ(count, 1u) << text << " after a fault at call " << n << ": " << said;
            }
            EXPECT_EQ(memory.head(alice)->messages, expected.head(alice)->messages)
                << "after a fault at call " << n;
        }
}
