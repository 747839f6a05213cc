#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/scenario.h"

using namespace palimpsest;

namespace {

std::vector<std::string> scenario_files() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(PAL_SOURCE_DIR) + "/tests/scenarios"))
        if (entry.path().extension() == ".scenario") names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
}

class scenarios : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(scenarios, comes_out_as_written) {
    std::ifstream file(GetParam());
    std::stringstream text;
    text << file.rdbuf();
    ASSERT_TRUE(text.str().starts_with("# why: ")) << "the first line says why";
    EXPECT_EQ(check_scenario(read_scenario(text.str())), "") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(files, scenarios, testing::ValuesIn(scenario_files()),
                         [](const testing::TestParamInfo<std::string>& file) {
                             return std::filesystem::path(file.param).stem().string();
                         });

TEST(scenario_runner, finds_a_wrong_expectation) {
    EXPECT_NE(check_scenario(read_scenario("user hi\nanswer hello\nview 2\n")), "");
    EXPECT_EQ(check_scenario(read_scenario("user hi\nanswer hello\nview 1-2\n")), "");
}
