#include "base/ids.h"

#include <gtest/gtest.h>

#include "base/time.h"

using namespace palimpsest;

TEST(ids, bad_ones_are_refused_with_the_reason) {
    const std::string_view nul("a\0b", 3);
    for (const std::string& bad :
         {std::string(), std::string(256, 'a'), std::string(nul), std::string("a\nb"),
          std::string("\x7f"), std::string("a\xc2\x85"), std::string("a\xef\xbf\xbd"),
          std::string("\xff"), std::string(".."), std::string("../x"), std::string("a/../b"),
          std::string("a\\.."), std::string("."), std::string(10'240, 'x')}) {
        const auto checked = check_id(bad, "conversation_id");
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(checked.error().param, "conversation_id");
    }
    for (const char* good : {"a", "user/42", "..x", "a..b/c", "日本", "a b", "{x}:*"})
        EXPECT_TRUE(check_id(good, "id")) << good;
    EXPECT_FALSE(check_name({"", "a"}));
}

TEST(ids, a_position_survives_being_written_and_read) {
    LogId log;
    log.bytes[0] = 0xab;
    log.bytes[15] = 0x01;
    const std::string id = position_id("ckpt_", log, Seq{1234567890123});
    EXPECT_EQ(id, "ckpt_ab0000000000000000000000000000011234567890123");
    const auto position = parse_position_id("ckpt_", id);
    ASSERT_TRUE(position);
    EXPECT_EQ(position->log, log);
    EXPECT_EQ(position->seq, Seq{1234567890123});
    for (const char* bad :
         {"", "ckpt_", "msg_ab000000000000000000000000000001",
          "ckpt_zz0000000000000000000000000000011", "ckpt_ab00000000000000000000000000000101",
          "ckpt_ab0000000000000000000000000000011x"})
        EXPECT_FALSE(parse_position_id("ckpt_", bad)) << bad;
}

TEST(time, is_written_and_read_as_rfc_3339) {
    const Time time{std::chrono::milliseconds(1'763'199'000'125)};
    EXPECT_EQ(format_time(time), "2025-11-15T09:30:00.125Z");
    EXPECT_EQ(*parse_time("2025-11-15T09:30:00.125Z"), time);
    EXPECT_EQ(*parse_time("2025-11-15t10:30:00.1259+01:00"), time);
    EXPECT_EQ(*parse_time("2025-11-15T04:00:00.125-05:30"), time);
    for (const char* bad :
         {"", "2025-11-15", "2025-02-30T00:00:00Z", "2025-11-15T24:00:00Z", "2025-11-15T09:30:00",
          "2025-11-15T09:30:00.Z", "2025-11-15T09:30:00Zx"})
        EXPECT_FALSE(parse_time(bad)) << bad;
}

TEST(time, durations_name_their_unit) {
    EXPECT_EQ(*parse_duration("90s"), std::chrono::seconds(90));
    EXPECT_EQ(*parse_duration("24h"), std::chrono::hours(24));
    EXPECT_EQ(*parse_duration("250ms"), Duration(250));
    for (const char* bad : {"", "5", "0s", "-1h", "1w", "9999999999999999999d", "s"})
        EXPECT_FALSE(parse_duration(bad)) << bad;
}
