// A log of the files store whose header is damaged in its own file: while the index knows it, it is
// written anew; without the index its entries are kept, and it is damaged, never absent.
#include <gtest/gtest.h>

#include "base/ids.h"
#include "faults/damaged_store.h"
#include "store/copy.h"
#include "store/files_format.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

class FilesHeader : public testing::Test {
protected:
    FilesHeader() {
        const auto store = open_good(url());
        for (const char* text : {"one", "two", "three"})
            header_ = store->append({"t", "b"}, batch_of(text))->header;
    }
    std::string url() const { return "files:" + folder_.file("store") + "?sync=never"; }
    std::string log_path() const {
        const std::string uid = hex(header_.log);
        return folder_.file("store/logs/" + uid.substr(0, 2) + "/" + uid + ".1.log");
    }
    void fork_at_two() const {
        const auto store = open_good(url());
        Batch batch = batch_of("of the fork");
        batch.fork = ForkPoint{.parent = header_.log, .at = Seq{2}, .messages = 2};
        ASSERT_TRUE(store->append({"t", "f"}, batch));
    }
    // The only frame that says what the log is.
    void damage_header() const {
        std::string bytes = bytes_of_file(log_path());
        bytes[frame_head_bytes + 16] ^= 1;
        std::ofstream(log_path(), std::ios::binary) << bytes;
    }
    void lose_index() const { ASSERT_TRUE(fs::remove(folder_.file("store/index"))); }
    // As after a kill: the journal is longer than one that was closed.
    void leave_busy() const {
        fs::resize_file(folder_.file("store/journal"),
                        fs::file_size(folder_.file("store/journal")) + 4096);
    }
    std::vector<std::string> texts_of(Store& store, const ConversationId& name) const {
        std::vector<std::string> texts;
        const auto header = store.head(name);
        EXPECT_TRUE(header) << header.error().message;
        if (!header) return texts;
        const std::vector<Entry> entries = *store.read(header->log, {});
        for (const Entry& entry : entries) texts.push_back(text_of(entry));
        return texts;
    }
    static bool finds(const CheckReport& report, std::string_view what, std::string_view where) {
        return std::ranges::any_of(report.findings, [&](const Finding& finding) {
            return finding.what == what && finding.where == where;
        });
    }

    const TestFolder folder_{quick_place()};
    Header header_ = {};
    const std::vector<std::string> all_ = {"one", "two", "three"};
};

TEST_F(FilesHeader, that_the_index_knows_is_written_anew) {
    damage_header();
    EXPECT_TRUE(finds(*open_good(url())->check({}), "damaged", "b"));
    EXPECT_TRUE(open_good(url())->repair({})->findings.empty());
    lose_index();
    EXPECT_EQ(texts_of(*open_good(url()), {"t", "b"}), all_);
}

TEST_F(FilesHeader, that_is_damaged_keeps_nobody_from_erasing) {
    for (const bool forked : {false, true}) {
        if (forked) fork_at_two();
        damage_header();
        const auto store = open_good(url());
        const auto receipt = store->erase({"t", "b"});
        ASSERT_TRUE(receipt) << receipt.error().message;
        EXPECT_EQ(receipt->entries, forked ? 1U : 3U);
        EXPECT_TRUE(store->check({})->findings.empty());
        for (const char* text : {"one", "two", "three"})
            header_ = store->append({"t", "b"}, batch_of(text))->header;
    }
}

TEST_F(FilesHeader, of_a_fork_that_nothing_knows_keeps_nobody_from_erasing) {
    fork_at_two();
    damage_header();
    lose_index();
    const auto store = open_good(url());
    EXPECT_TRUE(store->erase({"t", "f"}));
    EXPECT_TRUE(store->erase({"t", hex(header_.log)}));
    EXPECT_TRUE(store->check({})->findings.empty());
}

// What is left of a damaged entry may be worth something to somebody: its file stays as it is.
TEST_F(FilesHeader, is_written_behind_entries_of_which_one_is_damaged_too) {
    damage_header();
    std::string bytes = bytes_of_file(log_path());
    bytes[bytes.find("two")] ^= 1;
    std::ofstream(log_path(), std::ios::binary) << bytes;
    EXPECT_TRUE(finds(*open_good(url())->repair({}), "unreadable", "b"));
    EXPECT_TRUE(bytes_of_file(log_path()).starts_with(bytes));
    lose_index();
    EXPECT_EQ(open_good(url())->head(ConversationId{"t", "b"})->end, Seq{3});
}

TEST_F(FilesHeader, that_nothing_knows_leaves_its_entries_listed_as_damaged) {
    fork_at_two();
    damage_header();
    lose_index();
    const std::string uid = hex(header_.log);
    for (int life = 0; life < 3; ++life, leave_busy()) {
        const auto store = open_good(url());
        const Page page = *store->list({.tenant = "t"});
        ASSERT_EQ(page.headers.size(), 2U) << life;
        EXPECT_TRUE(std::ranges::any_of(
            page.headers, [&](const Header& header) { return header.name.id == uid; }));
        const auto head = store->head(ConversationId{"t", uid});
        ASSERT_FALSE(head);
        EXPECT_EQ(head.error().code, ErrorCode::internal);
        EXPECT_EQ(store->head(header_.log).error().code, ErrorCode::internal);
        const auto appended = store->append({"t", uid}, batch_of("four"));
        ASSERT_FALSE(appended);
        EXPECT_EQ(appended.error().code, ErrorCode::internal);
        EXPECT_TRUE(finds(*store->check({}), "damaged", uid)) << life;
        EXPECT_TRUE(fs::exists(log_path())) << life;
    }
}

TEST_F(FilesHeader, that_nothing_knows_is_named_by_a_copy) {
    damage_header();
    lose_index();
    const auto from = open_good(url());
    const auto to = open_good("memory:");
    for (const CopyOptions& options : {CopyOptions{}, CopyOptions{.tenants = {"t"}}}) {
        const auto report = copy_store(*from, *to, options);
        ASSERT_TRUE(report) << report.error().message;
        ASSERT_EQ(report->failures.size(), 1U);
        EXPECT_EQ(report->failures[0].what, hex(header_.log));
    }
}

TEST_F(FilesHeader, that_nothing_knows_is_made_from_the_entries_when_asked) {
    fork_at_two();
    damage_header();
    lose_index();
    const CheckReport report = *open_good(url())->repair({});
    EXPECT_TRUE(finds(report, "mended", hex(header_.log)));
    EXPECT_EQ(report.findings.size(), 1U);
    const auto store = open_good(url());
    EXPECT_EQ(texts_of(*store, {"t", hex(header_.log)}), all_);
    EXPECT_TRUE(store->append({"t", hex(header_.log)}, batch_of("four")));
    EXPECT_EQ(store->head(ConversationId{"t", "f"})->parent, header_.log);
    EXPECT_TRUE(store->check({})->findings.empty());
}

TEST_F(FilesHeader, that_nothing_knows_is_in_a_tenant_of_its_own_when_no_fork_tells_which) {
    damage_header();
    lose_index();
    EXPECT_EQ(open_good(url())->contents()->tenants, std::vector<std::string>{"lost"});
    EXPECT_TRUE(open_good(url())->erase({"lost", hex(header_.log)}));
    EXPECT_FALSE(fs::exists(log_path()));
    EXPECT_TRUE(open_good(url())->check({})->findings.empty());
}

// Where an index was made anew without it, by whatever: the file still holds what was said.
TEST_F(FilesHeader, of_a_file_that_no_index_names_is_no_stray) {
    damage_header();
    const std::string bytes = bytes_of_file(log_path());
    fs::remove(log_path());
    lose_index();
    (void)open_good(url());
    std::ofstream(log_path(), std::ios::binary) << bytes;
    const CheckReport report = *open_good(url())->check({});
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].what, "damaged");
    leave_busy();
    EXPECT_EQ(open_good(url())->contents()->tenants, std::vector<std::string>{"lost"});
    EXPECT_TRUE(finds(*open_good(url())->repair({}), "mended", hex(header_.log)));
    EXPECT_EQ(texts_of(*open_good(url()), {"lost", hex(header_.log)}), all_);
}

}  // namespace
}  // namespace palimpsest
