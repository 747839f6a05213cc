// The scorer over small logs: what is found, in which order, and that its stored form changes
// nothing.
#include "core/rank.h"

#include <gtest/gtest.h>

#include <random>

namespace palimpsest {
namespace {

struct Said {
    std::string text;
    Role role = Role::user;
    int minute = 0;
};

WordIndex index_of(const std::vector<Said>& messages, std::size_t freeze_every = 0) {
    WordIndex index;
    Stemmer stemmer;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        index.add({Seq{m + 1},
                   Time(std::chrono::minutes(messages[m].minute)),
                   messages[m].role,
                   messages[m].text,
                   {}},
                  stemmer);
        if (freeze_every > 0 && m % freeze_every == 0) index.freeze();
    }
    return index;
}

std::vector<Ranked> ranked(const WordIndex& index, std::string_view text) {
    Stemmer stemmer;
    const RankScope scope{&index, seq_max};
    return rank({&scope, 1}, read_query(text, index.languages(), stemmer), {}, 100);
}
std::uint64_t first_of(const WordIndex& index, std::string_view text) {
    const auto found = ranked(index, text);
    return found.empty() ? 0 : found.front().seq.value;
}

TEST(rank, finds_the_word_in_another_form) {
    const WordIndex index = index_of({{"I went hiking in the mountains"}, {"Nice weather today"}});
    EXPECT_EQ(first_of(index, "when did you hike?"), 1u);
    EXPECT_EQ(first_of(index, "xylophone"), 0u);
    EXPECT_EQ(first_of(index, ""), 0u);
}

TEST(rank, takes_a_text_for_as_long_as_its_names_have_parts) {
    const WordIndex index = index_of({{"call parseJson in api/HttpClient.h"}, {"東京都"}});
    EXPECT_EQ(index.messages()[0].words, 8u);
    EXPECT_EQ(index.messages()[1].words, 3u);
}

TEST(rank, finds_without_blanks) {
    const WordIndex index = index_of({{"昨日は大阪に行きました"}, {"東京の天気はいいです"}});
    EXPECT_EQ(first_of(index, "東京"), 2u);
    EXPECT_EQ(first_of(index, "阪"), 1u);
}

TEST(rank, finds_a_german_word_among_english_ones) {
    const WordIndex index = index_of(
        {{"Ich habe die Häuser nicht gesehen und das ist schade"}, {"I did not see the thing"}});
    EXPECT_EQ(first_of(index, "Haus"), 1u);
}

TEST(rank, shows_only_messages_with_the_quote) {
    const WordIndex index = index_of(
        {{"the house is blue"}, {"we saw the blue house there"}, {"blue sky, white house"}});
    const auto found = ranked(index, "\"blue house\"");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].seq, Seq{2});
}

TEST(rank, gives_the_neighbours_of_an_answer_a_part) {
    const WordIndex index = index_of({{"unrelated talk"},
                                      {"What is your cat called?"},
                                      {"Biscuit!"},
                                      {"far away"},
                                      {"further away"},
                                      {"and further"}});
    const auto found = ranked(index, "how is the cat called, what name?");
    ASSERT_GE(found.size(), 3u);
    EXPECT_EQ(found[0].seq, Seq{2});
    EXPECT_TRUE(found[1].seq == Seq{3} || found[1].seq == Seq{1});
}

TEST(rank, of_few_words_gives_only_messages_that_have_one) {
    const WordIndex index = index_of({{"before"}, {"a zebra"}, {"after"}});
    EXPECT_EQ(ranked(index, "zebra").size(), 1u);
}

TEST(rank, names_the_passage) {
    std::string page;
    for (int i = 0; i < 400; ++i) page += "filler sentence number one. ";
    const WordIndex index = index_of({{page + "The secret is pineapple."}, {"other"}});
    const auto found = ranked(index, "pineapple");
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].seq, Seq{1});
    EXPECT_EQ(found[0].passage + 1, index.messages()[0].passages);
    EXPECT_GT(index.messages()[0].passages, 4u);
}

TEST(rank, prefers_a_short_statement_to_a_long_answer) {
    std::string answer = "Dinner plans for Friday: ";
    for (int i = 0; i < 300; ++i) answer += "some advice follows here ";
    const WordIndex index = index_of({{"I like dinner on Friday", Role::user},
                                      {answer, Role::assistant},
                                      {"thanks", Role::user},
                                      {answer, Role::assistant}});
    EXPECT_EQ(first_of(index, "dinner Friday"), 1u);
}

TEST(rank, counts_only_up_to_a_seq) {
    const WordIndex index = index_of({{"apple"}, {"apple"}, {"apple"}});
    Stemmer stemmer;
    const RankScope scope{&index, Seq{2}};
    const auto found = rank({&scope, 1}, read_query("apple", 0, stemmer), {}, 10);
    EXPECT_EQ(found.size(), 2u);
}

std::vector<Ranked> ranked_with(const WordIndex& index, std::string_view text,
                                std::initializer_list<float> cosines) {
    Stemmer stemmer;
    std::vector<VectorRow> rows;
    for (const float cosine : cosines) rows.push_back({cosine, 0});
    const RankScope scope{&index, seq_max, rows};
    return rank({&scope, 1}, read_query(text, index.languages(), stemmer), {}, 100);
}

TEST(rank_with_vectors, finds_what_has_no_asked_word) {
    const WordIndex index = index_of({{"the automobile stopped"},
                                      {"bread", Role::user, 300},
                                      {"my dog sleeps", Role::user, 600}});
    EXPECT_EQ(first_of(index, "car"), 0u);
    const auto found = ranked_with(index, "car", {0.8f, 0.3f, 0.2f});
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].seq, Seq{1});
    EXPECT_GT(found[0].parts.vector, 0);
    EXPECT_EQ(found[0].parts.own, 0);
}

TEST(rank_with_vectors, words_and_meaning_together_beat_each_alone) {
    const WordIndex index = index_of({{"a red car", Role::user, 0},
                                      {"the automobile is red", Role::user, 300},
                                      {"a car park", Role::user, 600},
                                      {"nothing of it", Role::user, 900}});
    const auto found = ranked_with(index, "car", {0.7f, 0.7f, 0.1f, 0.1f});
    ASSERT_GE(found.size(), 3u);
    EXPECT_EQ(found[0].seq, Seq{1});
    for (const Ranked& one : found) EXPECT_DOUBLE_EQ(one.score, one.parts.sum());
}

TEST(rank_with_vectors, one_message_alone_is_found_and_one_without_vector_by_its_words) {
    const WordIndex one = index_of({{"the automobile stopped"}});
    EXPECT_EQ(ranked_with(one, "car", {0.5f}).size(), 1u);
    const WordIndex two = index_of({{"the automobile stopped"}, {"a car", Role::user, 300}});
    const auto found = ranked_with(two, "car", {0.5f, -2.0f});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].seq, Seq{2});
}

TEST(rank, parts_add_up) {
    const WordIndex index = index_of({{"apple pie"}, {"apple tree"}});
    for (const Ranked& one : ranked(index, "apple pie"))
        EXPECT_DOUBLE_EQ(one.score, one.parts.sum());
}

std::vector<Said> random_talk(std::mt19937& random, std::size_t messages) {
    std::vector<Said> said;
    int minute = 0;
    for (std::size_t m = 0; m < messages; ++m) {
        std::string text;
        const auto length = random() % 30;
        for (std::size_t w = 0; w < length; ++w)
            text += "word" + std::to_string(random() % 50 * (random() % 3)) + " ";
        minute += static_cast<int>(random() % 200);
        said.push_back({text, random() % 2 ? Role::user : Role::assistant, minute});
    }
    return said;
}

TEST(word_index, ranks_alike_however_it_was_stored) {
    std::mt19937 random(7);
    for (int round = 0; round < 30; ++round) {
        const auto said = random_talk(random, 1 + random() % 60);
        const WordIndex plain = index_of(said);
        WordIndex frozen = index_of(said, 1 + random() % 9);
        auto opened = WordIndex::open(frozen.freeze());
        ASSERT_TRUE(opened.has_value());
        for (int q = 0; q < 5; ++q) {
            const std::string query =
                "word" + std::to_string(random() % 80) + " word" + std::to_string(random() % 80);
            const auto a = ranked(plain, query), b = ranked(frozen, query),
                       c = ranked(*opened, query);
            ASSERT_EQ(a.size(), b.size());
            ASSERT_EQ(a.size(), c.size());
            for (std::size_t i = 0; i < a.size(); ++i) {
                EXPECT_EQ(a[i].seq, b[i].seq);
                EXPECT_EQ(a[i].score, b[i].score);
                EXPECT_EQ(a[i].score, c[i].score);
            }
        }
    }
}

TEST(word_index, stored_form_is_the_same_for_the_same_messages) {
    std::mt19937 random(11);
    const auto said = random_talk(random, 40);
    WordIndex once = index_of(said), often = index_of(said, 3);
    EXPECT_EQ(once.freeze(), often.freeze());
}

TEST(word_index, damaged_bytes_are_refused_or_harmless) {
    std::mt19937 random(5);
    WordIndex index = index_of(random_talk(random, 30));
    const std::string good = index.freeze();
    EXPECT_FALSE(WordIndex::open("").has_value());
    EXPECT_FALSE(WordIndex::open(good.substr(0, 40)).has_value());
    std::string of_older_words = good;
    of_older_words[4] = 1;
    EXPECT_FALSE(WordIndex::open(of_older_words).has_value());
    for (int i = 0; i < 2000; ++i) {
        std::string bad = good;
        bad[random() % bad.size()] = static_cast<char>(random());
        const auto opened = WordIndex::open(bad);
        if (opened) (void)ranked(*opened, "word3 word6 word9");
    }
}

}  // namespace
}  // namespace palimpsest
