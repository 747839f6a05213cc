// Search by vectors: what is embedded and when, modes, fusion, another model, a failing embedder.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "core/words.h"
#include "palimpsest/search.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

// Words of one meaning share a direction; the others have one each by their first letter.
class MeaningEmbedder final : public Embedder {
public:
    explicit MeaningEmbedder(std::string name) : name_(std::move(name)) {}
    std::string model() const override { return name_; }
    std::size_t dimension() const override { return size; }
    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        if (broken) return fail(ErrorCode::unavailable, "the embedder is away");
        if (bad) return std::vector(texts.size(), std::vector<float>(32, *bad));
        while (held && texts.size() > 1) std::this_thread::yield();
        while (slow && texts.size() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::vector<std::vector<float>> vectors;
        for (const std::string& text : texts) {
            ++embedded;
            std::vector<float> vector(size);
            for (const RawWord& word : split_words(text)) vector[place_of(word.text)] += 1;
            vectors.push_back(vector);
        }
        if (flaps) size = size == 32 ? 40 : 32;
        return vectors;
    }
    // held: what is more than a question waits; slow: what is no more
    std::atomic<bool> broken = false, held = false, slow = false;
    std::optional<float> bad = {};  // every number of every vector
    std::atomic<int> embedded = 0;
    std::atomic<std::size_t> size = 32;
    std::atomic<bool> flaps = false;  // two models behind one name

private:
    static std::size_t place_of(const std::string& word) {
        for (const std::string_view same : {"car", "automobile", "vehicle"})
            if (word == same) return 30;
        return static_cast<unsigned char>(word[0]) % 26;
    }
    std::string name_;
};

Memory with(const std::shared_ptr<MeaningEmbedder>& embedder) {
    MemoryOptions options;
    options.embedder = embedder;
    Memory memory(memory_store(), options);
    for (const std::string_view text :
         {"the automobile stopped", "bread and butter", "my dog sleeps"})
        EXPECT_TRUE(memory.append(alice, {.messages = user(text)}));
    return memory;
}

std::vector<std::uint64_t> found(Memory& memory, std::string_view query,
                                 std::optional<SearchMode> mode) {
    std::vector<std::uint64_t> seqs;
    const auto page =
        memory.search({.tenant = "t", .query = std::string(query), .limit = 3, .mode = mode});
    EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message);
    if (page)
        for (const SearchHit& hit : page->hits) seqs.push_back(hit.seq.value);
    return seqs;
}

TEST(vector_search, finds_another_word_of_the_same_meaning) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = with(embedder);
    EXPECT_TRUE(found(memory, "car", SearchMode::lexical).empty());
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
    EXPECT_EQ(found(memory, "car", {}).front(), 1u);
}

TEST(vector_search, of_a_query_without_a_word_finds_nothing_in_any_mode) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = with(embedder);
    for (const std::string_view query : {"   ", "!!! ???", "\"\"", "..."})
        for (const auto mode : {std::optional<SearchMode>(), std::optional(SearchMode::vector),
                                std::optional(SearchMode::hybrid)})
            EXPECT_TRUE(found(memory, query, mode).empty()) << query;
    EXPECT_FALSE(found(memory, "the", SearchMode::hybrid).empty());
}

TEST(vector_search, embeds_a_message_once) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = with(embedder);
    (void)found(memory, "car", {});
    EXPECT_EQ(embedder->embedded, 3 + 1);
    (void)found(memory, "dog", {});
    EXPECT_EQ(embedder->embedded, 3 + 2);
    EXPECT_TRUE(memory.append(alice, {.messages = user("a vehicle")}));
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 4u);
    EXPECT_EQ(embedder->embedded, 4 + 3);
}

TEST(vector_search, a_model_whose_vectors_have_another_size_is_another_model) {
    const auto embedder = std::make_shared<MeaningEmbedder>("alias");
    Memory memory = with(embedder);
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
    embedder->size = 40;
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
    EXPECT_TRUE(memory.append(alice, {.messages = user("a vehicle")}));
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 4u);
}

TEST(vector_search, two_models_behind_one_name_are_an_error_and_come_to_an_end) {
    const auto embedder = std::make_shared<MeaningEmbedder>("alias");
    Memory memory = with(embedder);
    std::string many = "[";
    for (int i = 0; i < 300; ++i) many += (i ? "," : "") + user("word " + std::to_string(i));
    ASSERT_TRUE(memory.append(alice, {.messages = many + "]"}));
    embedder->flaps = true;
    const auto done = memory.reindex({.tenant = "t"});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::upstream_failed) << done.error().message;
    embedder->flaps = false;
    EXPECT_TRUE(memory.reindex({.tenant = "t"}));
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
}

TEST(vector_search, hybrid_scores_are_the_sum_of_their_parts) {
    Memory memory = with(std::make_shared<MeaningEmbedder>("m1"));
    const auto page = memory.search({.tenant = "t", .query = "dog", .mode = SearchMode::hybrid});
    ASSERT_TRUE(page.has_value());
    ASSERT_FALSE(page->hits.empty());
    EXPECT_EQ(page->hits[0].seq, Seq{3});
    EXPECT_EQ(page->hits[0].parts.size(), 5u);
    double sum = 0;
    for (const ScorePart& part : page->hits[0].parts) sum += part.value;
    EXPECT_DOUBLE_EQ(sum, page->hits[0].score);
}

TEST(vector_search, goes_on_with_words_when_the_embedder_fails_and_says_so) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = with(embedder);
    embedder->broken = true;
    const auto page = memory.search({.tenant = "t", .query = "dog"});
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->hits.at(0).seq, Seq{3});
    EXPECT_EQ(page->mode, SearchMode::lexical);
    ASSERT_EQ(page->warnings.size(), 1u);
    const auto asked = memory.search({.tenant = "t", .query = "dog", .mode = SearchMode::vector});
    ASSERT_FALSE(asked.has_value());
    EXPECT_EQ(asked.error().code, ErrorCode::unavailable);
}

TEST(vector_search, keeps_no_vector_that_is_none) {
    for (const float bad :
         {0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const auto embedder = std::make_shared<MeaningEmbedder>("m1");
        Memory memory = with(embedder);
        embedder->bad = bad;
        const auto page =
            memory.search({.tenant = "t", .query = "car", .mode = SearchMode::vector});
        ASSERT_FALSE(page.has_value());
        EXPECT_EQ(page.error().code, ErrorCode::upstream_failed);
        const auto done = memory.reindex({.tenant = "t"});
        ASSERT_FALSE(done.has_value());
        EXPECT_TRUE(done.error().message.contains("without a direction")) << done.error().message;
        embedder->bad.reset();
        EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
        EXPECT_EQ(memory.reindex({.tenant = "t"})->vectors, 3u);
    }
}

TEST(vector_search, forgets_what_was_scrubbed) {
    Memory memory = with(std::make_shared<MeaningEmbedder>("m1"));
    EXPECT_EQ(found(memory, "car", SearchMode::vector).front(), 1u);
    ASSERT_TRUE(memory.scrub(alice, {Seq{1}}).has_value());
    for (const std::uint64_t seq : found(memory, "car", SearchMode::vector)) EXPECT_NE(seq, 1u);
}

TEST(vector_search, keeps_vectors_and_embeds_anew_for_another_model) {
    const auto folder = std::filesystem::path(::testing::TempDir()) / "vector_restart";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const std::string url = "sqlite:" + (folder / "s.db").string();
    const auto open_with = [&](const std::shared_ptr<MeaningEmbedder>& embedder) {
        MemoryOptions options;
        options.embedder = embedder;
        return Memory::open(url, options);
    };
    const auto first = std::make_shared<MeaningEmbedder>("m1");
    {
        auto memory = open_with(first);
        ASSERT_TRUE(memory.has_value());
        EXPECT_TRUE(memory->append(alice, {.messages = user("the automobile stopped")}));
        EXPECT_EQ(found(*memory, "car", SearchMode::vector).size(), 1u);
        EXPECT_EQ(first->embedded, 2);
    }
    {
        auto memory = open_with(first);
        ASSERT_TRUE(memory.has_value());
        EXPECT_EQ(found(*memory, "car", SearchMode::vector).size(), 1u);
        EXPECT_EQ(first->embedded, 3);  // The query alone.
    }
    const auto other = std::make_shared<MeaningEmbedder>("m2");
    auto memory = open_with(other);
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(found(*memory, "car", SearchMode::vector).size(), 1u);
    EXPECT_EQ(other->embedded, 2);
    ASSERT_TRUE(memory->erase(alice).has_value());
    const auto records = memory->store().list_records({.tenant = "t", .space = "vectors"});
    ASSERT_TRUE(records.has_value());
    EXPECT_TRUE(records->empty());
}

namespace {

MemoryOptions in_background(const std::shared_ptr<MeaningEmbedder>& embedder) {
    MemoryOptions options;
    options.embedder = embedder;
    options.background = true;
    return options;
}

// `first`, and so many others behind it.
std::string first_of_many(const std::string& first, int others) {
    std::string many = "[" + user(first);
    for (int i = 0; i < others; ++i) many += "," + user("bread " + std::to_string(i));
    return many + "]";
}

}  // namespace

TEST(vector_search, leaves_much_to_the_background_and_says_so) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory(memory_store(), in_background(embedder));
    const std::string many = first_of_many("the automobile stopped", 300);
    ASSERT_TRUE(memory.append(alice, {.messages = many}).has_value());
    embedder->held = true;
    const SearchRequest request{.tenant = "t", .query = "car"};
    auto page = memory.search(request);
    ASSERT_TRUE(page.has_value());
    EXPECT_TRUE(page->hits.empty());
    ASSERT_EQ(page->warnings.size(), 1u);
    EXPECT_TRUE(page->warnings[0].starts_with("301 messages")) << page->warnings[0];
    embedder->held = false;
    while (page && !page->warnings.empty()) page = memory.search(request);
    ASSERT_TRUE(page.has_value());
    ASSERT_FALSE(page->hits.empty());
    EXPECT_EQ(page->hits[0].seq, Seq{1});
}

TEST(vector_search, ends_while_the_background_is_at_work) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    {
        Memory memory(memory_store(), in_background(embedder));
        const std::string many = first_of_many("first", 1000);
        ASSERT_TRUE(memory.append(alice, {.messages = many}).has_value());
        ASSERT_TRUE(memory.search({.tenant = "t", .query = "car"}).has_value());
    }
    const int embedded = embedder->embedded;
    std::this_thread::yield();
    EXPECT_EQ(embedder->embedded, embedded);
}

TEST(vector_search, reindexing_makes_the_vectors_and_tells_how_far_it_is) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = with(embedder);
    std::vector<std::uint64_t> told;
    const auto done =
        memory.reindex({.tenant = "t", .progress = [&](std::uint64_t n, std::uint64_t all) {
                            told.push_back(n);
                            EXPECT_EQ(all, 3u);
                        }});
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->vectors, 3u);
    EXPECT_EQ(embedder->embedded, 3);
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), 3u);
    (void)found(memory, "car", {});
    EXPECT_EQ(embedder->embedded, 3 + 1);
}

namespace {

constexpr std::string_view recalling =
    R"({"triggers":{"messages":1000},"passes":[{"pass":"keep_last","messages":2}],)"
    R"("recall":{"tokens":400}})";

// An old automobile, then other things, and a compaction that leaves the last two messages.
Memory long_talk(const std::shared_ptr<MeaningEmbedder>& embedder) {
    MemoryOptions options;
    options.embedder = embedder;
    Memory memory(memory_store(), options);
    EXPECT_TRUE(memory.append(alice, {.messages = user("the automobile stopped")}));
    for (int i = 0; i < 12; ++i)
        EXPECT_TRUE(memory.append(alice, {.messages = user("bread and butter")}));
    EXPECT_TRUE(memory.compact(alice, {.policy = recalling}).has_value());
    return memory;
}

struct Asked {
    std::string recalled = {};
    std::vector<std::string> warnings = {};
};
Asked ask(Memory& memory, std::string_view text) {
    const std::string said = user(text);
    const auto begun = memory.begin(alice, {.messages = said, .policy = std::string(recalling)});
    EXPECT_TRUE(begun.has_value()) << (begun ? "" : begun.error().message);
    Asked asked;
    if (!begun) return asked;
    asked.warnings = begun->warnings;
    for (const Item& item : begun->view.items)
        if (item.kind == ItemKind::recalled) asked.recalled = text_of(item.message);
    return asked;
}

}  // namespace

TEST(vector_recall, brings_back_what_means_the_same) {
    Memory memory = long_talk(std::make_shared<MeaningEmbedder>("m1"));
    EXPECT_FALSE(found(memory, "car", {}).empty());  // Makes the vectors.
    const Asked asked = ask(memory, "car");
    EXPECT_TRUE(asked.recalled.contains("> the automobile stopped")) << asked.recalled;
    EXPECT_TRUE(asked.warnings.empty());
}

TEST(vector_recall, brings_back_nothing_for_a_turn_without_a_word) {
    Memory memory = long_talk(std::make_shared<MeaningEmbedder>("m1"));
    EXPECT_FALSE(found(memory, "car", {}).empty());  // Makes the vectors.
    for (const std::string_view text : {"   ", "!!!"}) EXPECT_EQ(ask(memory, text).recalled, "");
}

TEST(vector_recall, does_not_wait_for_vectors_that_are_not_there_and_says_so) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = long_talk(embedder);
    embedder->held = true;
    const Asked asked = ask(memory, "automobile");
    EXPECT_TRUE(asked.recalled.contains("> the automobile stopped")) << asked.recalled;
    ASSERT_EQ(asked.warnings.size(), 1u);
    EXPECT_TRUE(asked.warnings[0].contains("by their words only")) << asked.warnings[0];
    embedder->held = false;
}

TEST(vector_recall, goes_by_words_when_the_embedder_is_slow_or_fails_and_says_so) {
    const auto embedder = std::make_shared<MeaningEmbedder>("m1");
    Memory memory = long_talk(embedder);
    embedder->slow = true;
    const std::string answer = memory.answer_search(alice, R"({"query":"automobile"})");
    EXPECT_TRUE(answer.contains("\n[words only, without vectors")) << answer;
    EXPECT_TRUE(answer.contains("> the automobile stopped")) << answer;
    const Asked slow = ask(memory, "which automobile");
    EXPECT_TRUE(slow.recalled.contains("> the automobile stopped")) << slow.recalled;
    ASSERT_EQ(slow.warnings.size(), 1u);
    EXPECT_TRUE(slow.warnings[0].starts_with("recalled by words only")) << slow.warnings[0];
    embedder->slow = false;
    embedder->broken = true;
    const Asked failed = ask(memory, "the same");
    ASSERT_EQ(failed.warnings.size(), 1u);
    EXPECT_TRUE(failed.warnings[0].contains("the embedder is away")) << failed.warnings[0];
}

}  // namespace
}  // namespace palimpsest
