// The Redis protocol and the slots of a cluster, without a server.
#include <gtest/gtest.h>

#include <random>

#include "palimpsest/store.h"
#include "store/redis_reply.h"
#include "store/redis_rows.h"
#include "store/redis_slots.h"

namespace palimpsest {
namespace {

std::string shown(const RedisReply& reply) {
    switch (reply.kind) {
        case RedisReply::Kind::nil:
            return "nil";
        case RedisReply::Kind::text:
            return "'" + reply.text + "'";
        case RedisReply::Kind::error:
            return "!" + reply.text;
        case RedisReply::Kind::integer:
            return std::to_string(reply.number);
        case RedisReply::Kind::array:
            break;
    }
    std::string all = "[";
    for (const RedisReply& item : reply.items) all += shown(item) + " ";
    return all + "]";
}

std::string all_replies(RedisReader& reader) {
    std::string all;
    while (const auto reply = reader.next()) all += shown(*reply) + ";";
    return all;
}

TEST(redis_reader, reads_every_kind_of_reply_in_pieces_of_any_size) {
    const std::string bytes =
        "+OK\r\n-MOVED 3999 127.0.0.1:6381\r\n:-12\r\n$3\r\na\r\n\r\n$-1\r\n$0\r\n\r\n*-1\r\n*0\r\n"
        "*2\r\n*1\r\n:1\r\n$2\r\nxy\r\n";
    const std::string expected =
        "'OK';!MOVED 3999 127.0.0.1:6381;-12;'a\r\n';nil;'';nil;[];[[1 ] 'xy' ];";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        RedisReader reader;
        std::string all;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            reader.feed(std::string_view(bytes).substr(at, piece));
            all += all_replies(reader);
        }
        EXPECT_EQ(all, expected) << "in pieces of " << piece;
        EXPECT_TRUE(reader.empty());
    }
}

TEST(redis_reader, refuses_what_no_server_sends) {
    for (const char* bad : {"?\r\n", "$x\r\n", "$-2\r\n", "$600000000\r\n", "*-5\r\n",
                            "*99999999999\r\n", "$1\r\nabc", ":\r\n", "\r\n"}) {
        RedisReader reader;
        reader.feed(bad);
        EXPECT_EQ(all_replies(reader), "") << bad;
        EXPECT_TRUE(reader.failed()) << bad;
    }
    RedisReader deep;
    for (int i = 0; i < 20; ++i) deep.feed("*1\r\n");
    EXPECT_FALSE(deep.next().has_value());
    EXPECT_TRUE(deep.failed());
}

TEST(redis_reader, survives_any_bytes) {
    std::mt19937 random(1);
    const std::string likely = "+-:$*0123456789\r\n";
    for (int round = 0; round < 20'000; ++round) {
        RedisReader reader;
        std::string bytes;
        for (auto i = random() % 40; i > 0; --i)
            bytes +=
                random() % 8 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
        reader.feed(bytes);
        (void)all_replies(reader);
    }
}

TEST(redis_slots, are_those_of_the_cluster_specification) {
    EXPECT_EQ(slot_of("123456789"), 0x31C3 % 16384);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{}{bar}"), 8363);
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
}

TEST(redis_slots, a_redirection_names_slot_and_node) {
    const RedisNode asked{"10.0.0.1", 7000};
    const auto there = parse_redirection("MOVED 3999 127.0.0.1:6381", asked);
    ASSERT_TRUE(there.has_value());
    EXPECT_EQ(there->slot, 3999);
    EXPECT_EQ(there->node, (RedisNode{"127.0.0.1", 6381}));
    EXPECT_EQ(parse_redirection("ASK 1 :7001", asked)->node, (RedisNode{"10.0.0.1", 7001}));
    for (const char* bad : {"MOVED", "MOVED 1", "MOVED x a:1", "MOVED 99999 a:1", "MOVED 1 a:x"})
        EXPECT_FALSE(parse_redirection(bad, asked).has_value()) << bad;
}

TEST(redis_rows, a_tag_holds_any_name_and_no_brace) {
    const ConversationId names[] = {
        {"t", "a"}, {"t/u", "a"}, {"t", "u/a"}, {"{x}", "}{ %25"}, {"é", "日本"}};
    for (const ConversationId& name : names) {
        const std::string tag = tag_of(name);
        EXPECT_EQ(tag.find_first_of("{} "), tag.npos) << tag;
        EXPECT_EQ(name_of(tag), name) << tag;
    }
    EXPECT_NE(tag_of({"t/u", "a"}), tag_of({"t", "u/a"}));
    EXPECT_FALSE(name_of("no slash").has_value());
    EXPECT_FALSE(name_of("a/%2").has_value());
}

TEST(redis_url, is_refused_with_its_reason_when_it_is_none) {
    for (const char* bad :
         {"redis:", "redis:host", "redis://", "redis://h:x", "redis://h:1/x", "redis://h?colour=1",
          "redis://h?cluster=2", "redis://h?prefix={a}", "redis://h?wait=some", "redis://h?pool=0",
          "redis://h?ttl=x", "redis://h:1/3?cluster=1"}) {
        const auto store = open_store(bad);
        ASSERT_FALSE(store.has_value()) << bad;
        EXPECT_EQ(store.error().code, ErrorCode::invalid_request) << bad;
    }
}

TEST(postgres_url, is_refused_with_its_reason_when_it_is_none) {
    for (const char* bad : {"postgres:", "postgres:db", "postgres://h/d?pool=0",
                            "postgres://h/d?schema=A-B", "postgres://h/d?ttl=x"}) {
        const auto store = open_store(bad);
        ASSERT_FALSE(store.has_value()) << bad;
        EXPECT_EQ(store.error().code, ErrorCode::invalid_request) << bad;
    }
}

}  // namespace
}  // namespace palimpsest
