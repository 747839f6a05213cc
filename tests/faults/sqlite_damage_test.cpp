// Damaged files: truncated at many lengths, and with bytes flipped. A store that opens gives right
// data or an error; what it cannot notice while serving (an index that lost a row), check() finds.
//
// PAL_DAMAGE_FLIPS sets how many bytes are flipped; `make soak` flips many more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "faults/damaged_store.h"
#include "store/sqlite_fixture.h"
#include "store/sqlite_inspect.h"
#include "store/sqlite_schema.h"

namespace palimpsest {
namespace {

void put_file(const std::string& path, std::string_view bytes) {
    for (const char* end : {"-wal", "-shm", ".lock"}) std::filesystem::remove(path + end);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(sqlite_damage, a_truncated_file_is_refused_or_right) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    int refused = 0, lengths = 0;
    for (std::size_t length = 0; length < whole.size(); length += 3001, ++lengths) {
        put_file(path, std::string_view(whole).substr(0, length));
        const Verdict verdict = judge(folder.url(), contents);
        EXPECT_EQ(verdict.wrong, "") << "cut at " << length;
        EXPECT_TRUE(verdict.refused || verdict.found) << "cut at " << length;
        if (verdict.refused) ++refused;
    }
    EXPECT_EQ(refused, lengths);
    put_file(path, whole);
    EXPECT_FALSE(judge(folder.url(), contents).refused);
}

TEST(sqlite_damage, a_file_that_lost_a_single_byte_says_so) {
    const TestFolder folder(quick_place());
    make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    for (const std::size_t lost : {1, 100, 4095, 4096, 4097}) {
        put_file(path, std::string_view(whole).substr(0, whole.size() - lost));
        const auto store = open_store(folder.url());
        ASSERT_FALSE(store) << lost;
        EXPECT_EQ(store.error().code, ErrorCode::unprocessable);
        EXPECT_NE(store.error().message.find(std::to_string(lost) + " bytes are missing"),
                  std::string::npos)
            << store.error().message;
    }
}

std::size_t count_of(const CheckReport& report, std::string_view what) {
    return static_cast<std::size_t>(std::ranges::count(report.findings, what, &Finding::what));
}

// What is called whole must be no more than what the pages that are left can hold.
TEST(sqlite_damage, a_truncated_file_is_looked_into_as_far_as_it_goes) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    std::size_t most = 0;
    for (std::size_t length = 1; length < whole.size(); length += 3001) {
        put_file(path, std::string_view(whole).substr(0, length));
        const Result<CheckReport> report = inspect_sqlite(folder.url());
        ASSERT_TRUE(report) << "cut at " << length << ": " << report.error().message;
        EXPECT_GT(report->findings.size(), count_of(*report, "readable")) << "cut at " << length;
        most = std::max(most, count_of(*report, "readable"));
        EXPECT_EQ(bytes_of_file(path).size(), length);
    }
    EXPECT_GT(most, contents.size() / 2);
    EXPECT_LT(most, contents.size() + 1);
    put_file(path, whole);
    EXPECT_EQ(count_of(*inspect_sqlite(folder.url()), "readable"), contents.size());
}

TEST(sqlite_damage, entries_beside_a_damaged_one_are_counted) {
    const TestFolder folder(quick_place());
    const std::string path = folder.file("store.db");
    {
        const auto store = open_good(folder.url());
        for (const char* text : {"the first", "the second", "the third"})
            ASSERT_TRUE(store->append({"t", "c"}, batch_of(text)));
    }
    std::string bytes = bytes_of_file(path);
    ASSERT_NE(bytes.find("the second"), std::string::npos);
    bytes[bytes.find("the second")] ^= 1;
    put_file(path, bytes);
    EXPECT_EQ(inspect_sqlite(folder.url())->entries, 2u);
}

TEST(sqlite_damage, a_report_tells_a_few_of_the_damaged_places_and_counts_them) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    put_file(path, std::string_view(whole).substr(0, whole.size() / 2));
    const Result<CheckReport> report = inspect_sqlite(folder.url());
    ASSERT_TRUE(report) << report.error().message;
    const auto pages = std::ranges::find_if(report->findings, [&](const Finding& finding) {
        return finding.what == "damaged" && finding.where.ends_with("store.db");
    });
    ASSERT_NE(pages, report->findings.end());
    EXPECT_NE(pages->message.find(" places of its pages are wrong: "), std::string::npos)
        << pages->message;
    EXPECT_LT(pages->message.size(), 400u) << pages->message;
}

// Without its first page nothing says where the tables are; all stores have them in one place.
TEST(sqlite_damage, a_lost_page_is_named_and_the_rest_is_read) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    constexpr std::size_t page = 4096;
    for (std::size_t at = 0; at < whole.size(); at += page) {
        std::string bytes = whole;
        bytes.replace(at, page, page, '\0');
        put_file(path, bytes);
        const Result<CheckReport> report = inspect_sqlite(folder.url());
        ASSERT_TRUE(report) << "page " << at / page + 1 << ": " << report.error().message;
        const std::size_t readable = count_of(*report, "readable");
        EXPECT_TRUE(at > 0 || readable == contents.size()) << readable;
        EXPECT_GT(report->findings.size(), readable) << "page " << at / page + 1;
    }
}

TEST(sqlite_damage, a_lost_first_page_of_the_layout_before_is_made_anew_too) {
    const TestFolder folder(quick_place());
    ASSERT_TRUE(create_sqlite_file(folder.file("store.db"), sqlite_layouts[1]));
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    std::string bytes = bytes_of_file(path);
    bytes.replace(0, sqlite_layouts[1].page_bytes, sqlite_layouts[1].page_bytes, '\0');
    put_file(path, bytes);
    const Result<CheckReport> report = inspect_sqlite(folder.url());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(count_of(*report, "readable"), contents.size());
}

TEST(sqlite_damage, a_flipped_byte_is_never_given_out_as_right) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(folder.url());
    const std::string path = folder.file("store.db");
    const std::string whole = bytes_of_file(path);
    std::mt19937_64 random(setting("PAL_SEED", 1));
    const int flips = setting("PAL_DAMAGE_FLIPS", 300);
    int refused = 0, noticed_by_check = 0, harmless = 0;
    for (int i = 0; i < flips; ++i) {
        std::string bytes = whole;
        // The small header of the file is hit more often than its share.
        const std::size_t at = i % 8 == 0 ? random() % 200 : random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << (random() % 8)));
        put_file(path, bytes);
        const Verdict verdict = judge(folder.url(), contents);
        EXPECT_EQ(verdict.wrong, "") << "byte " << at;
        EXPECT_TRUE(!verdict.missing || verdict.refused || verdict.found) << "byte " << at;
        if (verdict.refused)
            ++refused;
        else if (verdict.found)
            ++noticed_by_check;
        else
            ++harmless;
    }
    std::printf("%d bytes flipped: %d refused, %d noticed by check() alone, %d harmless\n", flips,
                refused, noticed_by_check, harmless);
}

TEST(sqlite_damage, a_cut_write_ahead_log_gives_a_prefix) {
    const TestFolder folder(quick_place());
    const std::string path = folder.file("store.db");
    std::string file, wal;
    {
        const auto store = open_good(folder.url());
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(store->append({"t", "c"}, batch_of(std::to_string(i))));
        file = bytes_of_file(path);
        wal = bytes_of_file(path + "-wal");
    }
    std::uint64_t last = 0;
    for (std::size_t length = 0; length <= wal.size(); length += 20'000) {
        put_file(path, file);
        std::ofstream(path + "-wal", std::ios::binary) << wal.substr(0, length);
        const auto store = open_good(folder.url());
        const Result<Header> header = store->head(ConversationId{"t", "c"});
        const std::uint64_t end = header ? header->end.value : 0;
        EXPECT_GE(end, last);
        last = end;
        if (!header) continue;
        const auto entries = store->read(header->log, {});
        ASSERT_TRUE(entries) << entries.error().message;
        for (std::size_t i = 0; i < entries->size(); ++i)
            EXPECT_EQ(text_of((*entries)[i]), std::to_string(i));
        EXPECT_TRUE(store->check({})->findings.empty());
    }
    EXPECT_GT(last, 10U);
}

}  // namespace
}  // namespace palimpsest
