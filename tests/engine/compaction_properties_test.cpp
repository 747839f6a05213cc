// What must hold of every compaction through the engine, over random talks and policies and over
// every embedded store: a turn leaves the prefix alone unless a compaction says otherwise, what is
// sent can be sent in all formats, a second compaction by the same policy changes nothing, and undo
// gives back every byte.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view policies[] = {
    R"({"triggers":{"messages":9},"passes":[{"pass":"keep_last","turns":2}]})",
    R"({"triggers":{"tokens":600},"passes":[{"pass":"clear_tool_results","keep_tool_uses":1},)"
    R"({"pass":"drop_oldest"}]})",
    R"({"triggers":{"tokens":500},"target":{"tokens":250},"passes":[{"pass":"summarize"},)"
    R"({"pass":"drop_oldest"}]})",
    R"({"triggers":{"hard":{"tokens":900},"soft":{"turns":3}},"target":{"tokens":400},)"
    R"("passes":[{"pass":"clear_tool_results"},{"pass":"summarize"},{"pass":"drop_oldest"}]})",
};

std::string bytes(const View& view) {
    std::string out;
    for (const Item& item : view.items) out += std::string(view_of(item.message.raw)) + "\n";
    return out;
}

class Talk {
public:
    Talk(Memory& memory, unsigned seed) : memory_(memory), random_(seed) {
        policy_ = policies[random_() % std::size(policies)];
    }

    void turn() {
        const std::string said = user("question " + words());
        const auto begun = memory_.begin(alice, {.messages = said, .policy = policy_});
        ASSERT_TRUE(begun.has_value()) << begun.error().message;
        check_prefix(*begun);
        check_sendable(begun->view);
        check_again(*begun);
        compactions += begun->compaction ? 1 : 0;
        look_up();
        const auto answer =
            make_message(FormatId::openai_chat, Role::assistant, "answer " + words());
        ASSERT_TRUE(memory_.finish(*begun, {.message = *answer}).has_value());
        before_ = bytes(*memory_.view(alice));
    }

    int compactions = 0;

private:
    std::string words() {
        std::string out;
        for (std::uint64_t n = random_() % 60; n > 0; --n)
            out += "w" + std::to_string(random_() % 1000) + " ";
        return out;
    }
    void look_up() {
        for (std::uint64_t n = random_() % 3; n > 0; --n) {
            const std::string id = "c" + std::to_string(++calls_);
            const std::string pair = "[" + call(id) + "," + result(id, words() + words()) + "]";
            ASSERT_TRUE(memory_.append(alice, {.messages = pair}).has_value());
        }
    }
    void check_prefix(const Begun& begun) {
        if (begun.compaction) return;
        ASSERT_TRUE(bytes(begun.view).starts_with(before_)) << policy_;
    }
    void check_sendable(const View& view) {
        std::vector<Message> messages;
        for (const Item& item : view.items) messages.push_back(item.message);
        for (const FormatId format :
             {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic}) {
            const auto rendered = render(format, messages);
            ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
            const auto broken = validate(format, rendered->messages);
            ASSERT_TRUE(broken.has_value() && is_sendable(*broken)) << policy_;
        }
    }
    // Undo gives back every byte; redo gives the compacted ones again.
    void check_again(const Begun& begun) {
        if (!begun.compaction || random_() % 3 != 0) return;
        const std::string compacted = bytes(*memory_.view(alice));
        const auto undo = memory_.undo(alice, begun.compaction->seq);
        ASSERT_TRUE(undo.has_value()) << undo.error().message;
        const std::string undone = bytes(*memory_.view(alice));
        ASSERT_TRUE(undone.starts_with(before_)) << policy_;
        ASSERT_TRUE(memory_.undo(alice, *undo).has_value());
        ASSERT_EQ(bytes(*memory_.view(alice)), compacted);
    }

    Memory& memory_;
    std::mt19937_64 random_;
    std::string policy_;
    std::string before_;
    int calls_ = 0;
};

void talk_over(const std::string& url, unsigned seed, int& compactions) {
    auto store = open_store(url);
    ASSERT_TRUE(store.has_value()) << url << ": " << store.error().message;
    Memory memory(std::move(*store));
    Talk talk(memory, seed);
    for (int turn = 0; turn < 14; ++turn) {
        talk.turn();
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << url << " seed " << seed;
    }
    compactions += talk.compactions;
}

}  // namespace

TEST(compaction_properties, hold_over_random_talks_and_policies) {
    int compactions = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        talk_over("memory:?ttl=0&max=0", seed, compactions);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_GT(compactions, 60);
}

// Of tests/live: whichever server runs.
TEST(compaction_properties, hold_over_stores_on_servers) {
    bool any = false;
    for (const char* variable : {"PAL_TEST_POSTGRES", "PAL_TEST_REDIS", "PAL_TEST_CLUSTER"}) {
        if (!std::getenv(variable)) continue;
        any = true;
        for (unsigned seed = 1; seed <= 6; ++seed) {
            std::string url = std::getenv(variable);
            url.replace(url.find("UNIQUE"), 6,
                        "compaction" + std::to_string(::getpid()) + "_" + std::to_string(seed));
            int compactions = 0;
            talk_over(url, seed, compactions);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    if (!any) GTEST_SKIP() << "no server runs; live_test starts one";
}

TEST(compaction_properties, hold_over_every_embedded_store) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("pal_compaction_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    for (const StoreKind& kind : store_kinds()) {
        if (kind.scheme != "sqlite" && kind.scheme != "files") continue;
        for (unsigned seed = 1; seed <= 4; ++seed) {
            int compactions = 0;
            const std::string name = std::string(kind.scheme) + std::to_string(seed);
            talk_over(std::string(kind.scheme) + ":" + (folder / name).string(), seed, compactions);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    std::filesystem::remove_all(folder);
}
