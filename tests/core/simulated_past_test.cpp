// A simulated conversation is searched for recall by words, and by meaning where vectors are made.
#include "core/simulated_past.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

// Two meanings: animals and everything else.
std::vector<std::vector<float>> embed(std::span<const std::string> texts, Embedded) {
    std::vector<std::vector<float>> rows;
    for (const std::string& text : texts) {
        const bool animal = text.contains("cat") || text.contains("feline");
        rows.push_back({animal ? 1.0F : 0.0F, animal ? 0.0F : 1.0F});
    }
    return rows;
}

std::vector<std::uint64_t> found(SimulatedPast& past, const std::string& question) {
    std::vector<std::uint64_t> seqs;
    for (const Candidate& one : past.search(question, 1)) seqs.push_back(one.seq.value);
    return seqs;
}

void talk(SimulatedPast& past) {
    past.add({Seq{1}, Role::user, "My cat sleeps"}, Time{});
    past.add({Seq{2}, Role::assistant, "The train is late"}, Time{});
    past.add({Seq{3}, Role::user, "Rain again"}, Time{});
}

TEST(simulated_past, is_searched_by_words) {
    SimulatedPast past({});
    talk(past);
    EXPECT_EQ(found(past, "When does the train come?"), std::vector<std::uint64_t>{2});
    EXPECT_EQ(found(past, "feline?"), std::vector<std::uint64_t>{});
    EXPECT_EQ(past.at(Seq{2}).text, "The train is late");
}

TEST(simulated_past, is_searched_by_meaning_and_makes_each_vector_once) {
    std::size_t passages = 0, questions = 0;
    SimulatedPast past([&](std::span<const std::string> texts, Embedded what) {
        (what == Embedded::said ? passages : questions) += texts.size();
        return embed(texts, what);
    });
    talk(past);
    EXPECT_EQ(found(past, "feline?"), std::vector<std::uint64_t>{1});
    past.add({Seq{4}, Role::user, "The gate is shut"}, Time{});
    EXPECT_EQ(found(past, "feline?"), std::vector<std::uint64_t>{1});
    EXPECT_EQ(passages, 4U);
    EXPECT_EQ(questions, 2U);
}

TEST(simulated_past, goes_by_words_when_there_are_no_vectors_after_all) {
    SimulatedPast past(
        [](std::span<const std::string>, Embedded) { return std::vector<std::vector<float>>(); });
    talk(past);
    EXPECT_EQ(found(past, "the train"), std::vector<std::uint64_t>{2});
}

}  // namespace
}  // namespace palimpsest
