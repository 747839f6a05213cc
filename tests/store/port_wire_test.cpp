// The port as bytes: every field of every operation survives, and broken bytes are refused.
#include "store/port_wire.h"

#include <gtest/gtest.h>

#include "store/port_fields.h"

namespace palimpsest {
namespace {

// Writes, reads back, and compares the bytes of both: equal bytes are equal values, because every
// field is written.
template <class T>
T round_trip(const T& value) {
    WireWriter out;
    FieldWriter write(out);
    write(value);
    const std::string bytes = out.take();
    WireReader in(bytes);
    FieldReader read(in);
    T copy{};
    read(copy);
    EXPECT_TRUE(read.done());
    WireWriter again;
    FieldWriter write_again(again);
    write_again(copy);
    EXPECT_EQ(again.take(), bytes);
    return copy;
}

Time at_ms(std::int64_t ms) {
    return Time(Duration(ms));
}

LogId log_of(std::uint8_t first) {
    LogId log;
    log.bytes[0] = first;
    log.bytes[15] = 0xff;
    return log;
}

Body message(std::string text) {
    MessageEntry entry;
    entry.message.raw = make_bytes(std::move(text));
    entry.message.shape.role = Role::assistant;
    entry.message.shape.calls = {"call_1"};
    entry.message.count = {2, 77};
    entry.interrupted = true;
    entry.answers = Seq{9};
    return entry;
}

Header full_header() {
    return {.name = {"tenant", "id\n\xc3\xa9"},
            .log = log_of(1),
            .parent = log_of(2),
            .base = {3},
            .end = {4},
            .basis = {5},
            .messages = 6,
            .revision = 7,
            .epoch = UINT64_MAX,
            .owner = "owner",
            .title = "title",
            .system_prompt = "system",
            .metadata = R"({"a":1})",
            .policy = R"({"mode":"none"})",
            .created = at_ms(-1),
            .updated = at_ms(1'700'000'000'000),
            .accessed = at_ms(3),
            .ttl = Duration(4),
            .expires = at_ms(5)};
}

// A store that keeps what it was asked and answers what it is told.
class RecordingStore final : public Store {
public:
    Result<Header> head(const ConversationId& name) override {
        asked = "head " + name.tenant + "/" + name.id;
        return full_header();
    }
    Result<Header> head(const LogId& log) override {
        asked = "head_of_log " + std::to_string(log.bytes[0]);
        return fail(ErrorCode::not_found, "no such log", "log");
    }
    Result<Appended> append(const ConversationId&, const Batch& given) override {
        batch = given;
        return Appended{.first = {5}, .last = {6}, .header = full_header(), .again = true};
    }
    Result<std::vector<Entry>> read(const LogId&, const ReadQuery& given) override {
        read_query = given;
        return std::vector<Entry>{{Seq{1}, at_ms(9), 1, message("{}")}};
    }
    Result<Page> list(const ListQuery& given) override {
        list_query = given;
        return Page{{full_header(), Header{}}, "next"};
    }
    Result<void> scrub(std::span<const Replacement> given) override {
        replacements.assign(given.begin(), given.end());
        return {};
    }
    Result<Receipt> erase(const ConversationId& name) override {
        asked = "erase " + name.id;
        return Receipt{3, 2, {"a", "b"}};
    }
    Result<Record> get_record(const RecordKey& key) override {
        return Record{key, std::string("\0x", 2), 8, at_ms(1)};
    }
    Result<std::uint64_t> put_record(const RecordWrite& given) override {
        record_write = given;
        return 12;
    }
    Result<std::vector<Record>> list_records(const RecordQuery& given) override {
        record_query = given;
        return std::vector<Record>{Record{}, Record{}};
    }
    Result<std::size_t> sweep(std::size_t limit) override { return limit + 1; }
    Result<CheckReport> check(std::span<const std::string> tenants) override {
        return CheckReport{1, 2, 3, {{"gap", tenants[0], "at 4"}}};
    }
    Durability durability() const override { return {"full", true, true}; }

    std::string asked;
    Batch batch;
    ReadQuery read_query;
    ListQuery list_query;
    std::vector<Replacement> replacements;
    RecordWrite record_write;
    RecordQuery record_query;
};

template <class T, class... A>
Result<T> ask(Store& store, StoreOperation operation, const A&... arguments) {
    return decode_reply<T>(serve_operation(store, operation, encode_request(arguments...)));
}

TEST(port_wire, a_header_keeps_every_field) {
    const Header copy = round_trip(full_header());
    EXPECT_EQ(copy.name.id, "id\n\xc3\xa9");
    EXPECT_EQ(copy.parent, log_of(2));
    EXPECT_EQ(copy.epoch, UINT64_MAX);
    EXPECT_EQ(copy.created, at_ms(-1));
    EXPECT_EQ(copy.ttl, Duration(4));
    EXPECT_EQ(copy.expires, at_ms(5));
    EXPECT_FALSE(round_trip(Header{}).parent);
}

TEST(port_wire, a_batch_keeps_every_field) {
    Batch batch{.key = "k",
                .digest = {1, 2},
                .expected_log = log_of(3),
                .expected_end = Seq{4},
                .expected_basis = Seq{5},
                .expected_epoch = 6,
                .expected_revision = 7,
                .if_absent = IfAbsent::fail,
                .new_log = log_of(8),
                .fork = ForkPoint{log_of(9), {10}, {11}, 12, 13}};
    batch.patch.title = "";
    batch.patch.ttl.emplace(std::nullopt);  // "for ever" is not "unchanged"
    batch.entries = {{message(R"({"role":"assistant"})"), at_ms(14)},
                     {NoteEntry{"call", make_bytes("{}")}, {}}};
    RecordingStore store;
    const auto appended =
        ask<Appended>(store, StoreOperation::append, ConversationId{"t", "i"}, batch);
    ASSERT_TRUE(appended);
    EXPECT_EQ(appended->last, Seq{6});
    EXPECT_TRUE(appended->again);
    round_trip(batch);
    EXPECT_EQ(store.batch.expected_epoch, 6u);
    EXPECT_EQ(store.batch.fork->messages, 12u);
    ASSERT_TRUE(store.batch.patch.ttl);
    EXPECT_FALSE(*store.batch.patch.ttl);
    EXPECT_FALSE(store.batch.patch.owner);
    ASSERT_EQ(store.batch.entries.size(), 2u);
    const auto& first = std::get<MessageEntry>(store.batch.entries[0].body);
    EXPECT_EQ(*first.message.raw, R"({"role":"assistant"})");
    EXPECT_EQ(first.message.shape.calls, std::vector<std::string>{"call_1"});
    EXPECT_EQ(store.batch.entries[0].at, at_ms(14));
}

TEST(port_wire, queries_keep_every_field) {
    RecordingStore store;
    const ReadQuery read{{{Seq{1}, Seq{2}}, {Seq{5}, seq_max}}, basis_kinds, 7, true, false};
    ASSERT_TRUE(ask<std::vector<Entry>>(store, StoreOperation::read, log_of(1), read));
    EXPECT_EQ(store.read_query.ranges, read.ranges);
    EXPECT_EQ(store.read_query.kinds.bits, basis_kinds.bits);
    EXPECT_EQ(store.read_query.limit, 7u);
    EXPECT_TRUE(store.read_query.newest_first);
    EXPECT_FALSE(store.read_query.content);

    const ListQuery list{"t", "o", {{"k", "v"}}, log_of(1), SortBy::accessed, false, 9, "after"};
    const auto page = ask<Page>(store, StoreOperation::list, list);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->headers.size(), 2u);
    EXPECT_EQ(page->next, "next");
    EXPECT_EQ(store.list_query.metadata.at("k"), "v");
    EXPECT_EQ(store.list_query.sort, SortBy::accessed);
    EXPECT_EQ(store.list_query.children_of, log_of(1));
    EXPECT_FALSE(store.list_query.newest_first);
    EXPECT_EQ(store.list_query.after, "after");
}

TEST(port_wire, entries_without_content_stay_without) {
    Entry entry{Seq{1}, at_ms(1), 1, MessageEntry{}};
    EXPECT_FALSE(std::get<MessageEntry>(round_trip(entry).body).message.raw);
}

TEST(port_wire, records_keep_every_field) {
    RecordingStore store;
    const RecordKey key{"t", "space", std::string("k\0", 2)};
    EXPECT_EQ(ask<Record>(store, StoreOperation::get_record, key)->key, key);
    EXPECT_EQ(ask<Record>(store, StoreOperation::get_record, key)->value, std::string("\0x", 2));
    const RecordWrite write{key, std::nullopt, 0, Duration(5)};
    EXPECT_EQ(ask<std::uint64_t>(store, StoreOperation::put_record, write), 12u);
    EXPECT_FALSE(store.record_write.value);
    EXPECT_EQ(store.record_write.expected, 0u);
    EXPECT_EQ(store.record_write.ttl, Duration(5));
    const RecordQuery query{"t", "s", "p", "a", 3};
    EXPECT_EQ(ask<std::vector<Record>>(store, StoreOperation::list_records, query)->size(), 2u);
    EXPECT_EQ(store.record_query.prefix, "p");
    EXPECT_EQ(store.record_query.limit, 3u);
}

TEST(port_wire, the_other_operations_come_through) {
    RecordingStore store;
    EXPECT_TRUE(ask<Header>(store, StoreOperation::head, ConversationId{"t", "i"}));
    EXPECT_EQ(store.asked, "head t/i");
    EXPECT_EQ(ask<Receipt>(store, StoreOperation::erase, ConversationId{"t", "i"})->kept_for,
              (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(ask<std::uint64_t>(store, StoreOperation::sweep, std::uint64_t{4}), 5u);
    const std::vector<std::string> tenants{"t"};
    EXPECT_EQ(ask<CheckReport>(store, StoreOperation::check, tenants)->findings.at(0).where, "t");
    EXPECT_TRUE(ask<Durability>(store, StoreOperation::durability)->power_cut);
    const std::vector<Replacement> all{{log_of(1), Seq{2}, message("{}")}};
    EXPECT_TRUE(ask<void>(store, StoreOperation::scrub, all));
    EXPECT_EQ(store.replacements.at(0).seq, Seq{2});
}

TEST(port_wire, errors_come_back_as_they_are) {
    RecordingStore store;
    const auto header = ask<Header>(store, StoreOperation::head_of_log, log_of(7));
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::not_found);
    EXPECT_EQ(header.error().message, "no such log");
    EXPECT_EQ(header.error().param, "log");
}

TEST(port_wire, every_operation_has_a_name) {
    for (std::size_t i = 0; i < store_operation_count; ++i) {
        const auto operation = static_cast<StoreOperation>(i);
        EXPECT_EQ(operation_by_name(operation_name(operation)), operation);
    }
    EXPECT_FALSE(operation_by_name("drop"));
    EXPECT_FALSE(operation_by_name(""));
}

TEST(port_wire, a_cut_or_foreign_request_is_refused_and_nothing_is_done) {
    const std::string whole = encode_request(ConversationId{"t", "i"}, Batch{.key = "k"});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        RecordingStore store;
        const auto reply = decode_reply<Appended>(
            serve_operation(store, StoreOperation::append, whole.substr(0, size)));
        ASSERT_FALSE(reply) << size;
        EXPECT_EQ(reply.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(store.batch.key, "");
    }
    RecordingStore store;
    std::string other = whole;
    other[0] = port_wire_version + 1;
    EXPECT_FALSE(decode_reply<Appended>(serve_operation(store, StoreOperation::append, other)));
    EXPECT_FALSE(
        decode_reply<Appended>(serve_operation(store, StoreOperation::append, whole + "x")));
}

TEST(port_wire, a_cut_reply_is_an_error_not_a_guess) {
    RecordingStore store;
    const std::string whole =
        serve_operation(store, StoreOperation::head, encode_request(ConversationId{"t", "i"}));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto header = decode_reply<Header>(whole.substr(0, size));
        ASSERT_FALSE(header) << size;
        EXPECT_EQ(header.error().code, ErrorCode::internal);
    }
    EXPECT_TRUE(decode_reply<Header>(whole));
}

}  // namespace
}  // namespace palimpsest
