// Calls that the provider's cache should have known, and did not.
#include <gtest/gtest.h>

#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

TEST(cache_misses, are_told_after_three_in_a_row_with_the_first_byte_that_changed) {
    MemoryOptions options;
    Memory memory(memory_store(), std::move(options));
    std::vector<std::string> warnings;
    for (int i = 0; i < 6; ++i) {
        const std::string said = user("question " + std::to_string(i));
        const auto begun = memory.begin(alice, {.messages = said, .model = "gpt-4o"});
        ASSERT_TRUE(begun.has_value());
        const auto finished = memory.finish(
            *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "answer"),
                     .usage = {.input = 5000, .cached = i == 1 ? 4000u : 0u}});
        ASSERT_TRUE(finished.has_value());
        warnings.insert(warnings.end(), finished->warnings.begin(), finished->warnings.end());
    }
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("3 calls in a row"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("no byte of the messages changed"), std::string::npos);
    EXPECT_NE(memory.metrics().find("memory_cache_misses_total 4"), std::string::npos)
        << memory.metrics();
}
