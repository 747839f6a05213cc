#include "search/query_embedder.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

class HearingEmbedder final : public Embedder {
public:
    std::string model() const override { return "hearing"; }
    std::size_t dimension() const override { return 1; }
    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        heard.assign(texts.begin(), texts.end());
        return std::vector<std::vector<float>>(texts.size(), {1.0f});
    }
    std::vector<std::string> heard;
};

std::string heard_of(const std::string& query) {
    const auto embedder = std::make_shared<HearingEmbedder>();
    QueryEmbedder queries(embedder);
    EXPECT_TRUE(queries.embed(query, std::nullopt));
    return embedder->heard.empty() ? "" : embedder->heard.front();
}

TEST(query_embedder, a_question_is_embedded_as_it_is) {
    EXPECT_EQ(heard_of("Where is the red car?"), "Where is the red car?");
}

TEST(query_embedder, a_question_behind_a_long_text_is_heard_too) {
    const std::string heard =
        heard_of("Look at this:\n" + std::string(100'000, 'x') + "\nWhere is the red car?");
    EXPECT_TRUE(heard.starts_with("Look at this:\n"));
    EXPECT_TRUE(heard.ends_with("\nWhere is the red car?"));
    EXPECT_LT(heard.size(), 2'000u);
}

}  // namespace
}  // namespace palimpsest
