// What is special about the store in files: its folder, its policies, large payloads, erasure.
#include "store/files_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/copy.h"
#include "store/files_mend.h"
#include "store/sqlite_fixture.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

std::string url_of(const TestFolder& folder, std::string_view options = "") {
    return "files:" + folder.file("store") + std::string(options);
}

bool on_disk(const TestFolder& folder, std::string_view text) {
    for (const auto& file : fs::recursive_directory_iterator(folder.file("")))
        if (file.is_regular_file() &&
            bytes_of_file(file.path().string()).find(text) != std::string::npos)
            return true;
    return false;
}

std::uintmax_t bytes_of_folder(const std::string& path) {
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::recursive_directory_iterator(path))
        if (file.is_regular_file()) bytes += file.file_size();
    return bytes;
}

TEST(files_store, names_files_by_uids_whatever_the_ids_are) {
    const TestFolder folder;
    const auto store = open_good(url_of(folder));
    for (const char* id : {"a/b", "x y", "CON", "%2e%2e", "..hidden", "\xe2\x80\xae"})
        ASSERT_TRUE(store->append({"t", id}, batch_of("x"))) << id;
    for (const auto& file : fs::recursive_directory_iterator(folder.file("store/logs"))) {
        const std::string name = file.path().filename().string();
        EXPECT_EQ(name.find_first_not_of("0123456789abcdef.log"), std::string::npos) << name;
    }
}

TEST(files_store, makes_files_that_only_their_owner_can_read) {
    const TestFolder folder;
    const auto store = open_good(url_of(folder));
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("x")));
    for (const auto& file : fs::recursive_directory_iterator(folder.file("store"))) {
        struct stat found{};
        ASSERT_EQ(::stat(file.path().c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 077, 0U) << file.path();
    }
}

TEST(files_store, is_held_by_one_process_and_left_alone_when_it_is_something_else) {
    const TestFolder folder;
    const auto store = open_good(url_of(folder));
    const auto second = open_store(url_of(folder));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    fs::create_directory(folder.file("other"));
    std::ofstream(folder.file("other/notes.txt")) << "mine";
    const auto other = open_store("files:" + folder.file("other"));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::invalid_request);
    EXPECT_FALSE(open_store("files:" + folder.file("absent"), {.create = false}));
    EXPECT_FALSE(fs::exists(folder.file("absent")));
}

TEST(files_store, says_what_its_sync_policy_promises) {
    const TestFolder folder;
    EXPECT_TRUE(open_good(url_of(folder))->durability().power_cut);
    EXPECT_FALSE(open_good(url_of(folder, "?sync=interval&interval=50ms"))->durability().power_cut);
    EXPECT_FALSE(open_good(url_of(folder, "?sync=never"))->durability().power_cut);
    for (const char* bad : {"?sync=sometimes", "?interval=0s", "?colour=blue"})
        EXPECT_FALSE(open_store(url_of(folder, bad))) << bad;
}

TEST(files_store, erase_and_scrub_leave_no_byte_of_the_content_in_any_file) {
    const TestFolder folder;
    const auto store = open_good(url_of(folder));
    Batch batch = batch_of("the secret CANARY-1");
    batch.entries.push_back(said("scrubbed CANARY-2"));
    batch.patch = {.title = "CANARY-1", .metadata_merge = R"({"k":"CANARY-1"})"};
    const LogId log = store->append({"t", "a"}, batch)->header.log;
    Batch large = batch_of("CANARY-1" + std::string(300'000, 'x'));
    ASSERT_TRUE(store->append({"t", "a"}, large));
    ASSERT_TRUE(on_disk(folder, "CANARY-2"));
    const Replacement gone[] = {{log, Seq{2}, said("").body}};
    ASSERT_TRUE(store->scrub(gone));
    EXPECT_FALSE(on_disk(folder, "CANARY-2"));
    EXPECT_TRUE(on_disk(folder, "CANARY-1"));
    const auto receipt = store->erase({"t", "a"});
    EXPECT_EQ(receipt->entries, 3U);
    EXPECT_FALSE(receipt->remains.empty());
    EXPECT_FALSE(on_disk(folder, "CANARY-1"));
}

TEST(files_store, a_large_payload_said_again_or_forked_is_stored_once) {
    const TestFolder folder;
    const std::string large(1'000'000, 'y');
    Header header;
    {
        const auto store = open_good(url_of(folder));
        for (int i = 0; i < 5; ++i) header = store->append({"t", "a"}, batch_of(large))->header;
        Batch fork;
        fork.fork = ForkPoint{.parent = header.log, .at = Seq{5}, .messages = 5};
        ASSERT_TRUE(store->append({"t", "b"}, fork));
    }
    EXPECT_LT(bytes_of_folder(folder.file("store")), 1'100'000U);
    const auto store = open_good(url_of(folder));
    EXPECT_EQ(text_of(store->read(header.log, {.ranges = {{Seq{5}, Seq{5}}}})->front()), large);
    ASSERT_TRUE(store->erase({"t", "a"}));
    EXPECT_EQ(text_of(store->read(header.log, {.ranges = {{Seq{1}, Seq{1}}}})->front()), large);
    ASSERT_TRUE(store->erase({"t", "b"}));
    EXPECT_LT(bytes_of_folder(folder.file("store")), 200'000U);
}

TEST(files_store, tells_what_opening_had_to_mend) {
    const TestFolder folder;
    ASSERT_TRUE(open_good(url_of(folder))->append({"t", "a"}, batch_of("x")));
    fs::remove(folder.file("store/index"));
    std::vector<std::string> told;
    const auto store =
        open_good(url_of(folder), {.warn = [&](auto text) { told.emplace_back(text); }});
    ASSERT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("index"), std::string::npos);
    EXPECT_EQ(store->head(ConversationId{"t", "a"})->end, Seq{1});
}

// The folder as a crash leaves it: the journal ends in the middle of a group.
TEST(files_store, tells_of_a_write_that_was_cut_short) {
    const TestFolder folder;
    const auto origin = open_good("files:" + folder.file("origin"));
    ASSERT_TRUE(origin->append({"t", "a"}, batch_of("kept")));
    const std::string kept = bytes_of_file(folder.file("origin/journal"));
    const std::size_t end = kept.find_last_not_of('\0') + 1;
    ASSERT_TRUE(origin->append({"t", "a"}, batch_of("cut short")));
    fs::copy(folder.file("origin"), folder.file("store"), fs::copy_options::recursive);
    fs::resize_file(folder.file("store/journal"), end + 30);
    std::vector<std::string> told;
    const auto store =
        open_good(url_of(folder), {.warn = [&](auto text) { told.emplace_back(text); }});
    ASSERT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("cut short by a crash"), std::string::npos) << told[0];
    EXPECT_EQ(store->head(ConversationId{"t", "a"})->end, Seq{1});
}

// ---- damage
// --------------------------------------------------------------------------------------

// One bit, `at` of the way through the bytes of the file that say something.
void flip_bit(const std::string& path, double at) {
    std::string bytes = bytes_of_file(path);
    const std::size_t size = bytes.find_last_not_of('\0') + 1;
    bytes[static_cast<std::size_t>(static_cast<double>(size) * at)] ^= 1;
    std::ofstream(path, std::ios::binary) << bytes;
}

// A store that was closed well, and one whose process was killed: a copy of its folder as it was.
void make_damageable(const TestFolder& folder) {
    const std::string url = "files:" + folder.file("origin");
    for (const char* key : {"k1", "k2"}) {
        const auto store = open_good(url);
        ASSERT_TRUE(store->append({"t", "a"}, batch_of("said")));
        ASSERT_TRUE(store->put_record({.key = {"t", "s", key}, .value = "v"}));
    }
    fs::copy(folder.file("origin"), folder.file("closed"), fs::copy_options::recursive);
    const auto store = open_good(url);
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("newer")));
    ASSERT_TRUE(store->put_record({.key = {"t", "s", "k3"}, .value = "v"}));
    fs::copy(folder.file("origin"), folder.file("killed"), fs::copy_options::recursive);
}

// A copy that may be damaged; its URL.
std::string copy_of(const TestFolder& folder, const std::string& which) {
    fs::remove_all(folder.file("copy"));
    fs::copy(folder.file(which), folder.file("copy"), fs::copy_options::recursive);
    return "files:" + folder.file("copy") + "?sync=never";
}

std::size_t records_of(Store& store) {
    return store.list_records({.tenant = "t", .space = "s"})->size();
}

TEST(files_damage, a_damaged_record_is_never_an_absent_one) {
    const TestFolder folder;
    make_damageable(folder);
    const std::string records = folder.file("copy/records");
    for (const std::string which : {"closed", "killed"})
        for (double at = 0; at < 1; at += 0.04) {
            const std::string url = copy_of(folder, which);
            const std::size_t all = which == "closed" ? 2 : 3;
            flip_bit(records, at);
            const std::string damaged = bytes_of_file(records);
            const auto opened = open_store(url);
            if (opened) {
                EXPECT_EQ(records_of(**opened), all) << at;
                continue;
            }
            EXPECT_EQ(opened.error().code, ErrorCode::internal);
            EXPECT_NE(opened.error().message.find(records), std::string::npos);
            EXPECT_EQ(bytes_of_file(records), damaged) << "left as it was";
            const auto mended = mend_files(url);
            ASSERT_TRUE(mended);
            ASSERT_FALSE(mended->empty());
            EXPECT_EQ(bytes_of_file(records + ".damaged"), damaged);
            EXPECT_GE(records_of(*open_good(url)), all - 1) << at;
        }
}

TEST(files_damage, a_store_without_its_records_does_not_open) {
    const TestFolder folder;
    make_damageable(folder);
    for (const bool emptied : {false, true}) {
        const std::string url = copy_of(folder, "closed");
        fs::remove(folder.file("copy/records"));
        if (emptied) std::ofstream(folder.file("copy/records"));
        const auto opened = open_store(url);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::internal);
        EXPECT_FALSE(open_store(url)) << "nor when it is tried again";
    }
}

TEST(files_damage, an_encrypted_store_never_opens_as_a_plain_one) {
    const TestFolder folder;
    ::setenv("PAL_TEST_KEY", std::string(64, '7').c_str(), 1);
    const StoreOptions key{.encryption_key = "env:PAL_TEST_KEY"};
    ASSERT_TRUE(
        open_good("files:" + folder.file("sealed"), key)->append({"t", "a"}, batch_of("x")));
    for (double at = 0; at < 1; at += 0.03) {
        const std::string url = copy_of(folder, "sealed");
        flip_bit(folder.file("copy/records"), at);
        EXPECT_FALSE(open_store(url)) << at;
        (void)mend_files(url);
        EXPECT_FALSE(open_store(url)) << at;
    }
}

TEST(files_damage, a_damaged_journal_is_put_aside_and_everything_else_comes_back) {
    const TestFolder folder;
    make_damageable(folder);
    for (const std::string which : {"closed", "killed"}) {
        const std::string url = copy_of(folder, which);
        std::string bytes = bytes_of_file(folder.file("copy/journal"));
        bytes[10] ^= 1;
        std::ofstream(folder.file("copy/journal"), std::ios::binary) << bytes;
        const auto opened = open_store(url);
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().message.find("journal"), std::string::npos);
        const auto mended = mend_files(url);
        ASSERT_TRUE(mended) << mended.error().message;
        EXPECT_FALSE(mended->empty());
        EXPECT_EQ(bytes_of_file(folder.file("copy/journal.damaged")), bytes);
        const auto store = open_good(url);
        EXPECT_EQ(store->head(ConversationId{"t", "a"})->end, Seq{which == "closed" ? 2U : 3U});
        EXPECT_EQ(records_of(*store), which == "closed" ? 2U : 3U) << "from its groups";
        EXPECT_TRUE(store->check({})->findings.empty());
    }
}

TEST(files_damage, a_journal_that_is_gone_closes_the_store_until_it_is_given_up) {
    const TestFolder folder;
    make_damageable(folder);
    for (const std::string which : {"closed", "killed"}) {
        const std::string url = copy_of(folder, which);
        fs::remove(folder.file("copy/journal"));
        for (const char* time : {"once", "again"}) {
            const auto opened = open_store(url);
            ASSERT_FALSE(opened) << which << time;
            EXPECT_EQ(opened.error().code, ErrorCode::internal);
            EXPECT_NE(opened.error().message.find("journal"), std::string::npos);
        }
        EXPECT_FALSE(fs::exists(folder.file("copy/journal"))) << "left as it was";
        const auto mended = mend_files(url);
        ASSERT_TRUE(mended) << mended.error().message;
        EXPECT_FALSE(mended->empty());
        const auto store = open_good(url);
        EXPECT_EQ(store->head(ConversationId{"t", "a"})->end, Seq{which == "closed" ? 2U : 3U})
            << "its file has it";
        EXPECT_TRUE(store->append({"t", "a"}, batch_of("more")));
        EXPECT_TRUE(store->check({})->findings.empty());
    }
}

// A life that ended while it made the store: nothing was promised, and nothing is missed.
TEST(files_store, opens_though_it_was_killed_before_it_had_a_journal) {
    const TestFolder folder;
    (void)open_good(url_of(folder));
    const std::string records = bytes_of_file(folder.file("store/records"));
    for (const bool marked : {false, true}) {
        fs::remove_all(folder.file("store"));
        fs::create_directory(folder.file("store"));
        std::ofstream(folder.file("store/index"));
        std::ofstream(folder.file("store/records")) << (marked ? records : "");
        EXPECT_TRUE(open_good(url_of(folder))->append({"t", "a"}, batch_of("x")));
    }
}

TEST(files_damage, a_synced_group_of_the_journal_is_missed) {
    const TestFolder folder;
    make_damageable(folder);
    const std::string url = copy_of(folder, "killed");
    std::string bytes = bytes_of_file(folder.file("copy/journal"));
    bytes[64 + 24 + 12] ^= 1;  // in the body of the first group
    std::ofstream(folder.file("copy/journal"), std::ios::binary) << bytes;
    const auto opened = open_store(url);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("journal"), std::string::npos);
    ASSERT_TRUE(mend_files(url));
    EXPECT_EQ(open_good(url)->head(ConversationId{"t", "a"})->end, Seq{3}) << "its file has it";
}

// What an import or a copy brought with it is in the files of the logs, not in the index alone.
TEST(files_store, times_that_were_brought_along_survive_a_lost_index) {
    const TestFolder folder;
    const Stamp stamp{Time(Duration(1000)), Time(Duration(2000)), Time(Duration(3000))};
    auto store = open_good(url_of(folder));
    Batch first = batch_of("one");
    first.stamp = stamp;
    ASSERT_TRUE(store->append({"t", "a"}, first));
    Batch more = batch_of("two");
    more.stamp = stamp;
    ASSERT_TRUE(store->append({"t", "a"}, more));
    store.reset();
    ASSERT_TRUE(fs::remove(folder.file("store/index")));
    store = open_good(url_of(folder));
    const Header header = *store->head(ConversationId{"t", "a"});
    EXPECT_EQ(header.end, Seq{2});
    EXPECT_EQ(header.created, stamp.created);
    EXPECT_EQ(header.updated, stamp.updated);
    EXPECT_EQ(header.accessed, stamp.accessed);
}

TEST(files_store, a_folder_that_may_not_be_read_is_forbidden_and_nothing_else) {
    const TestFolder folder;
    fs::permissions(folder.file(""), fs::perms::all);
    fs::create_directory(folder.file("store"));
    fs::permissions(folder.file("store"), fs::perms::none);
    constexpr uid_t nobody = 65534;
    const uid_t us = ::geteuid();
    if (us == 0) {
        ASSERT_EQ(::seteuid(nobody), 0);
    }
    const auto opened = open_store(url_of(folder));
    ASSERT_EQ(::seteuid(us), 0);
    fs::permissions(folder.file("store"), fs::perms::owner_all);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::forbidden) << opened.error().message;
    EXPECT_NE(opened.error().message.find("Permission denied"), std::string::npos)
        << opened.error().message;
}

// ---- backup, repair, copy: also of the SQLite store ---------------------------------------------

class Whole : public testing::TestWithParam<std::string_view> {
protected:
    std::string url(std::string_view name) const {
        return std::string(GetParam()) + ":" + folder_.file(name);
    }
    TestFolder folder_;
};

TEST_P(Whole, a_backup_of_a_live_store_opens_as_it_was) {
    const auto store = open_good(url("live"));
    const Header header = store->append({"t", "a"}, batch_of("one"))->header;
    ASSERT_TRUE(store->put_record({.key = {"t", "s", "k"}, .value = "v"}));
    ASSERT_TRUE(store->backup(folder_.file("copy")));
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("two")));
    const auto copy = open_good(url("copy"));
    EXPECT_EQ(copy->head(ConversationId{"t", "a"})->end, Seq{1});
    EXPECT_EQ(text_of(copy->read(header.log, {})->front()), "one");
    EXPECT_EQ(copy->get_record({"t", "s", "k"})->value, "v");
    EXPECT_TRUE(copy->check({})->findings.empty());
    EXPECT_EQ(store->backup(folder_.file("copy")).error().code, ErrorCode::conflict);
}

TEST_P(Whole, a_backup_is_for_its_owner_alone_whatever_the_umask_says) {
    const auto store = open_good(url("live"));
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    const mode_t before = ::umask(0);
    const auto done = store->backup(folder_.file("copy"));
    ::umask(before);
    ASSERT_TRUE(done) << done.error().message;
    std::vector<fs::path> files{folder_.file("copy")};
    if (fs::is_directory(files[0]))
        for (const auto& file : fs::recursive_directory_iterator(files[0]))
            files.push_back(file.path());
    for (const fs::path& file : files)
        EXPECT_EQ(fs::status(file).permissions() & (fs::perms::group_all | fs::perms::others_all),
                  fs::perms::none)
            << file;
}

TEST_P(Whole, a_time_to_live_of_the_store_is_what_conversations_get_that_name_none) {
    Time now{Duration(1'800'000'000'000)};
    const auto store = open_good(url("live") + "?ttl=10s", {.clock = [&] { return now; }});
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    Batch batch = batch_of("one");
    batch.patch.ttl = std::optional<Duration>();
    ASSERT_TRUE(store->append({"t", "for ever"}, batch));
    now += std::chrono::seconds(10);
    EXPECT_FALSE(store->head(ConversationId{"t", "a"}));
    EXPECT_TRUE(store->head(ConversationId{"t", "for ever"}));
    EXPECT_FALSE(open_store(url("other") + "?ttl=0s"));
}

TEST_P(Whole, reading_what_has_expired_destroys_nothing) {
    Time now{std::chrono::hours(1)};
    const auto store = open_good(url("live"), {.clock = [&] { return now; }});
    Batch batch = batch_of("shared");
    batch.entries.push_back(said("own"));
    batch.patch.ttl = std::chrono::seconds(10);
    const LogId parent = store->append({"t", "parent"}, batch)->header.log;
    Batch fork = batch_of("fork");
    fork.fork = ForkPoint{.parent = parent, .at = Seq{1}, .messages = 1};
    fork.patch.ttl = std::optional<Duration>();
    ASSERT_TRUE(store->append({"t", "kid"}, fork));
    now += std::chrono::seconds(10);  // the clock goes wrong
    EXPECT_EQ(store->head(parent)->end, Seq{1});
    EXPECT_EQ(store->read(parent, {})->size(), 1U);
    EXPECT_EQ(store->read(parent, {.ranges = {{Seq{2}, Seq{2}}}})->size(), 0U);
    EXPECT_EQ(store->list({.tenant = "t", .children_of = parent})->headers.size(), 1U);
    const std::string tenants[] = {"t"};
    EXPECT_TRUE(store->check(tenants)->findings.empty());
    now -= std::chrono::seconds(10);
    EXPECT_EQ(store->head(ConversationId{"t", "parent"})->end, Seq{2});
    EXPECT_EQ(text_of(store->read(parent, {})->back()), "own");
}

TEST_P(Whole, repairing_a_sound_store_finds_nothing) {
    const auto store = open_good(url("live"));
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    EXPECT_TRUE(store->repair({})->findings.empty());
    EXPECT_EQ(store->head(ConversationId{"t", "a"})->end, Seq{1});
}

// Forks, a parent without a name, records and times; broken off and repeated.
TEST_P(Whole, a_copy_has_everything_and_copying_again_writes_nothing) {
    const auto from = open_good("memory:?ttl=0");
    const auto to = open_good(url("target"));
    Batch batch = batch_of("one");
    batch.entries.push_back(said("two"));
    batch.patch = {.owner = "ann", .title = "T", .metadata_merge = R"({"k":1})"};
    const Header a = from->append({"t", "a"}, batch)->header;
    Batch fork = batch_of("three");
    fork.fork = ForkPoint{.parent = a.log, .at = Seq{1}, .messages = 1};
    const Header b = from->append({"t", "b"}, fork)->header;
    ASSERT_TRUE(from->append({"u", "a"}, batch_of("another tenant")));
    ASSERT_TRUE(from->erase({"t", "a"}));
    ASSERT_TRUE(from->put_record({.key = {"t", "s", "k"}, .value = "v"}));
    const auto first = copy_store(*from, *to, {});
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->conversations, 2U);
    EXPECT_EQ(first->records, 1U);
    EXPECT_EQ(to->head(ConversationId{"t", "b"})->created, b.created);
    EXPECT_EQ(to->head(a.log)->name.id, "");
    EXPECT_EQ(text_of(to->read(a.log, {})->front()), "one");
    EXPECT_EQ(text_of(to->read(b.log, {})->front()), "three");
    const auto again = copy_store(*from, *to, {});
    EXPECT_EQ(again->entries + again->records + again->conversations, 0U);
    EXPECT_EQ(again->there, 2U);
    ASSERT_TRUE(from->append({"u", "a"}, batch_of("more")));
    EXPECT_EQ(copy_store(*from, *to, {})->entries, 1U);
}

INSTANTIATE_TEST_SUITE_P(stores, Whole, testing::Values("sqlite", "files"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace palimpsest
