#include "store/key_command.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

TEST(key_command, gives_what_the_command_prints) {
    EXPECT_EQ(output_of_command("printf 'a b'; sleep 0.01; printf c", 100, 60s).value(), "a bc");
    EXPECT_EQ(output_of_command("printf 0123456789", 4, 60s).value(), "0123");
    EXPECT_EQ(output_of_command("exec >&-; true", 100, 60s).value(), "");
}

TEST(key_command, that_fails_is_refused_with_its_status) {
    const auto failed = output_of_command("echo half; exit 3", 100, 60s);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::invalid_request);
    EXPECT_TRUE(failed.error().message.ends_with("failed with status 3")) << failed.error().message;
}

TEST(key_command, that_does_not_end_is_stopped_also_when_it_has_closed_its_output) {
    for (const char* hangs : {"exec sleep 600", "exec >&-; exec sleep 600"}) {
        const auto stopped = output_of_command(hangs, 100, 50ms);
        ASSERT_FALSE(stopped) << hangs;
        EXPECT_EQ(stopped.error().code, ErrorCode::unavailable) << stopped.error().message;
    }
}

}  // namespace
}  // namespace palimpsest
