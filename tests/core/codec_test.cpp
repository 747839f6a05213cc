#include "core/codec.h"

#include <gtest/gtest.h>

using namespace palimpsest;

namespace {

Basis some_basis() {
    Basis basis;
    basis.upto = Seq{900};
    basis.scheme = 2;
    basis.items = {{{Seq{1}, Seq{800}}, Treatment::folded, Seq{901}, 0, 800, 120},
                   {{Seq{801}, Seq{900}}, Treatment::verbatim, Seq{}, 0, 99, 4000}};
    basis.applied = {Seq{5}, Seq{300}, Seq{901}};
    basis.pinned = {Seq{7}, Seq{8}};
    return basis;
}

Body round_trip(const Body& body) {
    const EncodedBody encoded = encode_body(body);
    auto decoded = decode_body(kind_of(body), encoded.meta, encoded.payload);
    EXPECT_TRUE(decoded.has_value());
    // The bytes say everything: encoding what was decoded gives them again.
    const EncodedBody again = encode_body(*decoded);
    EXPECT_EQ(again.meta, encoded.meta);
    EXPECT_EQ(view_of(again.payload), view_of(encoded.payload));
    return *decoded;
}

Body some_message() {
    MessageEntry entry;
    entry.message.format = FormatId::anthropic;
    entry.message.shape = {Role::assistant, {"c1", "c2"}, {"c0"}, true, true, 3};
    entry.message.raw = make_bytes(R"({"role":"assistant","content":"hi"})");
    entry.message.fingerprint = {1, UINT64_MAX};
    entry.message.count = {2, 77};
    entry.interrupted = true;
    entry.answers = Seq{41};
    return entry;
}

Body some_compaction() {
    CompactionEntry entry;
    entry.cause = Cause::overflow;
    entry.trigger = "tokens";
    entry.policy = "balanced";
    entry.tokens_before = 5000;
    entry.tokens_after = 700;
    entry.edits = {{Treatment::folded,
                    {Seq{1}, Seq{800}},
                    make_bytes("they said hello"),
                    FormatId::openai_chat,
                    "oldest",
                    "summarize",
                    {2, 4300},
                    {2, 120},
                    false},
                   {Treatment::dropped,
                    {Seq{801}, Seq{801}},
                    nullptr,
                    FormatId::openai_chat,
                    "",
                    "",
                    {},
                    {},
                    false},
                   {Treatment::cleared,
                    {Seq{802}, Seq{802}},
                    make_bytes(""),
                    FormatId::openai_chat,
                    "",
                    "",
                    {},
                    {},
                    true}};
    entry.basis = some_basis();
    return entry;
}

}  // namespace

TEST(codec, a_message_comes_back_with_its_bytes_and_its_shape) {
    const auto entry = std::get<MessageEntry>(round_trip(some_message()));
    EXPECT_EQ(*entry.message.raw, R"({"role":"assistant","content":"hi"})");
    EXPECT_EQ(entry.message.shape, std::get<MessageEntry>(some_message()).message.shape);
    EXPECT_EQ(entry.message.count, (Count{2, 77}));
    EXPECT_TRUE(entry.interrupted);
    EXPECT_EQ(entry.answers, Seq{41});
}

TEST(codec, every_kind_of_entry_comes_back) {
    const auto compaction = std::get<CompactionEntry>(round_trip(some_compaction()));
    EXPECT_EQ(compaction.basis, some_basis());
    ASSERT_EQ(compaction.edits.size(), 3u);
    EXPECT_EQ(*compaction.edits[0].result, "they said hello");
    EXPECT_EQ(compaction.edits[1].result, nullptr);
    EXPECT_EQ(*compaction.edits[2].result, "");
    EXPECT_TRUE(compaction.edits[2].scrubbed);
    EXPECT_EQ(
        std::get<PinEntry>(round_trip(PinEntry{{Seq{3}, Seq{9}}, false, some_basis()})).targets,
        (std::vector{Seq{3}, Seq{9}}));
    EXPECT_EQ(
        std::get<RetractEntry>(
            round_trip(RetractEntry{{Seq{3}, Seq{9}}, {Seq{2}, Seq{12}}, "typo", some_basis()}))
            .range,
        (Range{Seq{3}, Seq{9}}));
    EXPECT_EQ(
        std::get<RewindEntry>(round_trip(RewindEntry{Seq{4}, Seq{9}, "edited", some_basis()})).upto,
        Seq{9});
    EXPECT_EQ(std::get<UndoEntry>(round_trip(UndoEntry{Seq{7}, Seq{5}, some_basis()})).root,
              Seq{5});
    EXPECT_EQ(
        std::get<CheckpointEntry>(round_trip(CheckpointEntry{"before lunch", R"({"a":1})"})).name,
        "before lunch");
    EXPECT_EQ(*std::get<NoteEntry>(round_trip(NoteEntry{"call", make_bytes("{}")})).body, "{}");
}

TEST(codec, without_content_positions_come_back_and_words_do_not) {
    const EncodedBody encoded = encode_body(some_compaction());
    EXPECT_FALSE(encoded.meta.contains("hello"));
    const auto entry =
        std::get<CompactionEntry>(*decode_body(EntryKind::compaction, encoded.meta, nullptr));
    EXPECT_EQ(entry.edits[0].result, nullptr);
    EXPECT_EQ(entry.basis, some_basis());
}

TEST(codec, every_cut_and_every_flipped_byte_is_an_error_or_decodes_never_a_crash) {
    for (const Body& body : {some_message(), some_compaction()}) {
        const EncodedBody encoded = encode_body(body);
        for (std::size_t cut = 0; cut < encoded.meta.size(); ++cut)
            EXPECT_FALSE(decode_body(kind_of(body), encoded.meta.substr(0, cut), encoded.payload));
        for (std::size_t at = 0; at < encoded.meta.size(); ++at) {
            std::string flipped = encoded.meta;
            flipped[at] = static_cast<char>(flipped[at] ^ 0xff);
            (void)decode_body(kind_of(body), flipped, encoded.payload);
        }
    }
}

TEST(codec, a_newer_version_is_refused_by_its_number) {
    EncodedBody encoded = encode_body(some_message());
    encoded.meta[0] = 9;
    const auto body = decode_body(EntryKind::message, encoded.meta, encoded.payload);
    ASSERT_FALSE(body);
    EXPECT_NE(body.error().message.find("version 9"), std::string::npos);
}
