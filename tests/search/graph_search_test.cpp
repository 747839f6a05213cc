// Searches of large scopes by a graph: held against looking at all, filters and scopes, what is new
// and what is gone, and many at once.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/words.h"
#include "search/store_index.h"
#include "some_vectors.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

constexpr std::size_t dimension = 32, topics = 25;

// The first word of a text is its topic, the others move it a little.
class TopicEmbedder final : public Embedder {
public:
    std::string model() const override { return "topics"; }
    std::size_t dimension() const override { return palimpsest::dimension; }
    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        std::vector<std::vector<float>> vectors;
        for (const std::string& text : texts) {
            std::vector<float> vector(palimpsest::dimension);
            float weight = 1;
            for (const RawWord& word : split_words(text)) {
                const auto seed = static_cast<unsigned>(std::hash<std::string>{}(word.text));
                const std::vector<float> part = SomeVectors(seed, palimpsest::dimension, 0).next();
                for (std::size_t i = 0; i < part.size(); ++i) vector[i] += weight * part[i];
                weight = 0.4f;
            }
            vectors.push_back(std::move(vector));
        }
        return vectors;
    }
};

std::string said(std::size_t number) {
    return "topic" + std::to_string(number * 7919 % topics) + " matter" +
           std::to_string(number % 101) + " thing" + std::to_string(number % 57);
}

ConversationId conversation(std::size_t number) {
    return {"t", "c" + std::to_string(number)};
}

// Some conversations of many messages, and an index over them.
class World {
public:
    World(std::size_t conversations, std::size_t messages, IndexOptions options)
        : memory_(memory_store()),
          embedder_(std::make_shared<TopicEmbedder>()),
          index_(memory_.store(), with(std::move(options), embedder_)),
          conversations_(conversations) {
        std::size_t number = 0;
        for (std::size_t c = 0; c < conversations; ++c) {
            std::string list;
            for (std::size_t m = 0; m < messages; ++m)
                list += (list.empty() ? "[" : ",") +
                        (m % 2 == 0 ? user(said(number++)) : assistant(said(number++)));
            EXPECT_TRUE(memory_.append(conversation(c), {.messages = list + "]"}).has_value());
        }
    }

    IndexQuery ask(const std::string& text, SearchMode mode) {
        IndexQuery query;
        query.text = text;
        query.mode = mode;
        for (std::size_t c = 0; c < conversations_; ++c)
            if (const auto header = memory_.store().head(conversation(c)))
                query.scopes.push_back({*header});
        return query;
    }
    std::vector<std::string> found(const IndexQuery& query) {
        const auto hits = index_.search(query);
        EXPECT_TRUE(hits.has_value()) << (hits ? "" : hits.error().message);
        std::vector<std::string> places;
        if (hits)
            for (const IndexHit& hit : *hits)
                places.push_back(query.scopes[hit.scope].header.name.id + "/" +
                                 std::to_string(hit.seq.value));
        return places;
    }
    std::uint64_t metric(const std::string& name) const {
        const std::string all = index_.metrics();
        const std::size_t at = all.find("\n" + name + " ");
        return at == all.npos ? 0 : std::strtoull(&all[at + name.size() + 2], nullptr, 10);
    }
    // Asks until all are embedded and the graph answers.
    void wait_for_graph() {
        wait_for_vectors();
        const auto answered = [&] { return metric("memory_search_graph_searches_total"); };
        for (const std::uint64_t before = answered(); answered() == before;) {
            (void)found(ask("topic3", SearchMode::vector));
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
    void wait_for_vectors() {
        for (std::uint64_t rest = 1; rest > 0;) {
            rest = 0;
            const IndexQuery query = ask("topic3", SearchMode::vector);
            (void)found(query);
            for (const IndexScope& scope : query.scopes)
                rest += index_.update(scope.header)->unembedded;
        }
    }
    Memory& memory() { return memory_; }
    StoreIndex& index() { return index_; }

private:
    static IndexOptions with(IndexOptions options, std::shared_ptr<Embedder> embedder) {
        options.embedder = std::move(embedder);
        options.background = true;
        return options;
    }
    Memory memory_;
    std::shared_ptr<Embedder> embedder_;
    StoreIndex index_;
    std::size_t conversations_;
};

IndexOptions by_graph_from(std::size_t rows) {
    IndexOptions options;
    options.graph_rows = rows;
    return options;
}

// Large enough that no graph is made of it.
IndexOptions exact() {
    return by_graph_from(SIZE_MAX);
}

double share_of_same(World& graph, World& all, SearchMode mode) {
    double same = 0, wanted = 0;
    for (std::size_t q = 0; q < 20; ++q) {
        const auto right = all.found(all.ask(said(q * 31), mode));
        const std::set<std::string> there(right.begin(), right.end());
        for (const std::string& one : graph.found(graph.ask(said(q * 31), mode)))
            same += there.contains(one);
        wanted += static_cast<double>(right.size());
    }
    return same / wanted;
}

TEST(graph_search, finds_what_looking_at_all_finds) {
    World graph(3, 300, by_graph_from(600)), all(3, 300, exact());
    all.wait_for_vectors();
    graph.wait_for_graph();
    EXPECT_GE(share_of_same(graph, all, SearchMode::vector), 0.95);
    EXPECT_GE(share_of_same(graph, all, SearchMode::hybrid), 0.95);
    EXPECT_GE(graph.metric("memory_search_graph_searches_total"), 41u);
    EXPECT_EQ(graph.metric("memory_search_graph_vectors"), 900u);
    EXPECT_EQ(all.metric("memory_search_graph_vectors"), 0u);
}

TEST(graph_search, keeps_to_its_scope_and_its_filters) {
    World world(4, 300, by_graph_from(500));
    world.wait_for_graph();
    IndexQuery query = world.ask("topic3", SearchMode::vector);
    query.role = Role::assistant;
    for (const std::string& place : world.found(query))
        EXPECT_EQ(std::stoul(place.substr(place.find('/') + 1)) % 2, 0u) << place;
    query.role = {};
    query.scopes.resize(2);  // Half of the graph, and a part of one of them.
    query.scopes[1].upto = Seq{250};
    query.limit = 200;
    const std::uint64_t before = world.metric("memory_search_graph_searches_total");
    const auto places = world.found(query);
    EXPECT_EQ(world.metric("memory_search_graph_searches_total"), before + 1);
    EXPECT_FALSE(places.empty());
    for (const std::string& place : places) {
        const std::size_t seq = std::stoul(place.substr(place.find('/') + 1));
        EXPECT_TRUE(place.starts_with("c0/") || (place.starts_with("c1/") && seq <= 250)) << place;
    }
}

TEST(graph_search, finds_a_new_message_at_once_and_a_removed_log_never_again) {
    World world(4, 300, by_graph_from(500));
    world.wait_for_graph();
    const std::string fresh = "topic3 matter500 thing900";
    ASSERT_TRUE(world.memory().append(conversation(2), {.messages = user(fresh)}).has_value());
    EXPECT_EQ(world.found(world.ask(fresh, SearchMode::vector)).at(0), "c2/301");
    EXPECT_EQ(world.found(world.ask(fresh, SearchMode::hybrid)).at(0), "c2/301");
    const auto header = world.memory().store().head(conversation(2));
    ASSERT_TRUE(world.memory().erase(conversation(2)).has_value());
    ASSERT_TRUE(world.index().remove("t", header->log).has_value());
    EXPECT_LE(world.metric("memory_search_graph_vectors"), 900u);
    for (const SearchMode mode : {SearchMode::vector, SearchMode::hybrid})
        for (const std::string& place : world.found(world.ask(fresh, mode)))
            EXPECT_FALSE(place.starts_with("c2/")) << place;
    // So much is gone that the graph is made anew.
    while (world.metric("memory_search_graph_vectors") != 900) world.wait_for_graph();
    world.wait_for_graph();
}

TEST(graph_search, has_no_graph_where_there_is_no_room_for_it) {
    IndexOptions options = by_graph_from(500);
    options.bytes_max = 600'000;  // The logs alone.
    World world(4, 300, options);
    const SearchMode mode = SearchMode::vector;
    while (world.metric("memory_search_embedded_total") < 1200)
        (void)world.found(world.ask("topic3", mode));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(world.found(world.ask("topic3", mode)).size(), 10u);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(world.metric("memory_search_graph_searches_total"), 0u);
    EXPECT_LE(world.metric("memory_search_bytes"), 600'000u);
}

TEST(graph_search, is_right_while_others_write_erase_and_search) {
    World world(6, 150, by_graph_from(300));
    world.wait_for_graph();
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        for (int i = 0; i < 60; ++i)
            EXPECT_TRUE(world.memory().append(conversation(0), {.messages = user(said(i))}));
        stop = true;
    });
    std::thread eraser([&] {
        for (std::size_t c = 4; c < 6; ++c) {
            const auto header = world.memory().store().head(conversation(c));
            EXPECT_TRUE(world.memory().erase(conversation(c)).has_value());
            EXPECT_TRUE(world.index().remove("t", header->log).has_value());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });
    const auto search = [&](SearchMode mode) {
        for (std::size_t q = 0; !stop || q < 20; ++q) {
            const IndexQuery query = world.ask(said(q), mode);
            const auto hits = world.index().search(query);
            // A log that goes while it is read is not there; nothing else may fail.
            if (hits)
                EXPECT_EQ(hits->size(), 10u);
            else
                EXPECT_EQ(hits.error().code, ErrorCode::not_found) << hits.error().message;
        }
    };
    std::thread one(search, SearchMode::vector), other(search, SearchMode::hybrid);
    for (std::thread* thread : {&writer, &eraser, &one, &other}) thread->join();
    const std::string fresh = "topic3 matter777";
    ASSERT_TRUE(world.memory().append(conversation(1), {.messages = user(fresh)}).has_value());
    EXPECT_EQ(world.found(world.ask(fresh, SearchMode::vector)).at(0), "c1/151");
}

}  // namespace
}  // namespace palimpsest
