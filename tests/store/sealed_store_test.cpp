// Encryption at rest: what is on the disk, what a wrong key may do, what tampering looks like, and
// what changing and destroying keys does.
#include "store/sealed_store.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "store/sqlite_fixture.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

constexpr const char* canary = "CANARY-3f9a";

// A key file of one repeated hex digit, and how to name it.
std::string key_of(const TestFolder& folder, char digit) {
    const std::string path = folder.file(std::string("key_") + digit);
    std::ofstream(path) << std::string(64, digit);
    return "file:" + path;
}

std::string url_of(const TestFolder& folder, std::string_view kind) {
    return std::string(kind) + ":" + folder.file("store");
}

bool on_disk(const TestFolder& folder, std::string_view text) {
    for (const auto& file : fs::recursive_directory_iterator(folder.file("")))
        if (file.is_regular_file() &&
            bytes_of_file(file.path().string()).find(text) != std::string::npos)
            return true;
    return false;
}

Batch secret_batch() {
    Batch batch = batch_of(std::string("said ") + canary);
    batch.patch = {.owner = std::string("owner ") + canary,
                   .title = canary,
                   .system_prompt = canary,
                   .metadata_merge = std::string("{\"") + canary + "\":\"" + canary + "\"}"};
    batch.key = canary;
    CompactionEntry summary;
    summary.edits.push_back({.range = {Seq{1}, Seq{1}}, .result = make_bytes(canary)});
    batch.entries.push_back({.body = std::move(summary)});
    batch.entries.push_back({.body = RetractEntry{.range = {Seq{1}, Seq{1}}, .reason = canary}});
    return batch;
}

class Sealed : public testing::TestWithParam<std::string_view> {
protected:
    Result<std::unique_ptr<Store>> open(const std::string& keys) {
        return open_store(url_of(folder_, GetParam()), {.encryption_key = keys});
    }
    TestFolder folder_;
    const std::string key_ = key_of(folder_, 'a');
};

TEST_P(Sealed, no_byte_of_what_was_said_or_written_is_ever_on_the_disk) {
    {
        const auto store = *open(key_);
        ASSERT_TRUE(store->append({"t", "a"}, secret_batch()));
        ASSERT_TRUE(store->put_record({.key = {"t", "s", "k"}, .value = canary}));
        EXPECT_FALSE(on_disk(folder_, canary));
        const Header header = *store->head(ConversationId{"t", "a"});
        EXPECT_EQ(header.title, canary);
        EXPECT_EQ(
            store->list({.tenant = "t", .owner = std::string("owner ") + canary})->headers.size(),
            1U);
        EXPECT_EQ(store->list({.tenant = "t", .metadata = {{canary, canary}}})->headers.size(), 1U);
        const Replacement gone[] = {{header.log, Seq{1}, said(canary).body}};
        EXPECT_TRUE(store->scrub(gone));
    }
    EXPECT_FALSE(on_disk(folder_, canary));
    const auto store = *open(key_);
    EXPECT_EQ(text_of(store->read(store->head(ConversationId{"t", "a"})->log, {})->front()),
              canary);
    EXPECT_EQ(store->get_record({"t", "s", "k"})->value, canary);
}

TEST_P(Sealed, another_key_or_none_is_refused_and_changes_nothing) {
    ASSERT_TRUE((*open(key_))->append({"t", "a"}, secret_batch()));
    const auto wrong = open(key_of(folder_, 'b'));
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::forbidden);
    EXPECT_NE(wrong.error().message.find("wrong key"), std::string::npos);
    const auto none = open("");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::forbidden);
    EXPECT_EQ((*open(key_))->head(ConversationId{"t", "a"})->end, Seq{3});
}

TEST_P(Sealed, a_store_with_plain_content_is_not_encrypted_half_way) {
    ASSERT_TRUE((*open(""))->append({"t", "a"}, batch_of("plain")));
    const auto late = open(key_);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::invalid_request);
    EXPECT_TRUE((*open(""))->head(ConversationId{"t", "a"}));
}

TEST_P(Sealed, keys_change_and_both_masters_read_until_they_have) {
    ASSERT_TRUE((*open(key_))->append({"t", "a"}, secret_batch()));
    const std::string fresh = key_of(folder_, 'b');
    {
        const auto both = *open(fresh + "," + key_);
        ASSERT_TRUE(both->append({"t", "b"}, batch_of("under the present one")));
    }
    {
        const auto inner = open_good(url_of(folder_, GetParam()), {.create = false, .raw = true});
        const auto masters = read_master_keys(fresh + "," + key_);
        EXPECT_EQ(SealedStore::rotate(*inner, *masters)->changed, 3U) << "two logs and the store";
        EXPECT_EQ(SealedStore::rotate(*inner, *masters)->changed, 0U);
    }
    EXPECT_FALSE(open(key_));
    const auto store = *open(fresh);
    EXPECT_TRUE(store->read(store->head(ConversationId{"t", "a"})->log, {}));
    EXPECT_TRUE(store->read(store->head(ConversationId{"t", "b"})->log, {}));
}

TEST_P(Sealed, erasing_destroys_the_key_also_of_what_only_forks_kept) {
    LogId a;
    {
        const auto store = *open(key_);
        a = store->append({"t", "a"}, batch_of("one"))->header.log;
        Batch fork;
        fork.fork = ForkPoint{.parent = a, .at = Seq{1}, .messages = 1};
        ASSERT_TRUE(store->append({"t", "b"}, fork));
        ASSERT_TRUE(store->erase({"t", "a"}));
        EXPECT_EQ(text_of(store->read(a, {})->front()), "one");
    }
    const std::string url = url_of(folder_, GetParam());
    const RecordKey key{"t", "pal.key", hex(a)};
    // Whatever state its first byte tells.
    const std::string wrapped = open_good(url, {.raw = true})->get_record(key)->value.substr(1);
    EXPECT_TRUE(on_disk(folder_, wrapped));
    ASSERT_TRUE((*open(key_))->erase({"t", "b"}));
    EXPECT_FALSE(open_good(url, {.raw = true})->get_record(key));
    EXPECT_FALSE(on_disk(folder_, wrapped));
}

INSTANTIATE_TEST_SUITE_P(stores, Sealed, testing::Values("sqlite", "files"),
                         [](const auto& of) { return std::string(of.param); });

// ---- tampering ----------------------------------------------------------------------------------

TEST(seal, every_single_changed_byte_is_noticed) {
    const SealKey key = SealKey::random();
    const std::string sealed = seal(key, "what was said", "log 1 seq 2");
    EXPECT_EQ(unseal(key, sealed, "log 1 seq 2"), "what was said");
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string changed = sealed;
        changed[i] ^= 1;
        EXPECT_FALSE(unseal(key, changed, "log 1 seq 2")) << "byte " << i;
    }
    for (std::size_t length = 0; length < sealed.size(); ++length)
        EXPECT_FALSE(unseal(key, std::string_view(sealed).substr(0, length), "log 1 seq 2"));
}

TEST(seal, does_not_open_elsewhere_or_with_another_key) {
    const SealKey key = SealKey::random();
    const std::string sealed = seal(key, "x", "log 1 seq 2");
    EXPECT_FALSE(unseal(key, sealed, "log 1 seq 3"));
    EXPECT_FALSE(unseal(SealKey::random(), sealed, "log 1 seq 2"));
    EXPECT_NE(seal(key, "x", "log 1 seq 2"), sealed);
}

// Entries of the inner store swapped: each opens only in its own place.
TEST(sealed_store, entries_that_were_swapped_or_copied_are_noticed) {
    const TestFolder folder;
    const std::string url = "files:" + folder.file("store"), key = key_of(folder, 'a');
    LogId log;
    {
        const auto store = open_good(url, {.encryption_key = key});
        Batch batch = batch_of("one");
        batch.entries.push_back(said("two"));
        log = store->append({"t", "a"}, batch)->header.log;
    }
    {
        const auto inner = open_good(url, {.raw = true});
        const auto entries = *inner->read(log, {});
        const Replacement swap[] = {{log, Seq{1}, entries[1].body}, {log, Seq{2}, entries[0].body}};
        ASSERT_TRUE(inner->scrub(swap));
    }
    const auto store = open_good(url, {.encryption_key = key});
    const auto read = store->read(log, {});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::forbidden);
    const std::string tenants[] = {"t"};
    EXPECT_EQ(store->check(tenants)->findings.size(), 1U);
}

TEST(master_keys, come_from_files_variables_and_commands_in_three_spellings) {
    const TestFolder folder;
    const std::string hex = std::string(64, '0');
    ::setenv("PAL_TEST_KEY", hex.c_str(), 1);
    const auto id = [](const std::string& source) { return (*read_master_keys(source))[0].id; };
    std::ofstream(folder.file("raw")) << std::string(32, '\0');
    std::ofstream(folder.file("base64")) << to_base64(std::string(32, '\0')) << "\n";
    EXPECT_EQ(id("env:PAL_TEST_KEY"), id("file:" + folder.file("raw")));
    EXPECT_EQ(id("env:PAL_TEST_KEY"), id("file:" + folder.file("base64")));
    EXPECT_EQ(id("env:PAL_TEST_KEY"), id("command:printf %064d 0"));
    for (const char* bad :
         {"env:PAL_NOT_SET", "file:/nowhere", "command:false", "plain", "env:HOME"})
        EXPECT_FALSE(read_master_keys(bad)) << bad;
    ASSERT_TRUE(write_new_key(folder.file("new")));
    EXPECT_TRUE(read_master_keys("file:" + folder.file("new")));
    EXPECT_FALSE(write_new_key(folder.file("new")));
}

}  // namespace
}  // namespace palimpsest
