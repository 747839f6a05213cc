// Damaged files of a files store: bytes flipped anywhere, files cut, files gone. A store that opens
// gives right data or an error, for the damaged conversation only; check() finds the rest.
#include <gtest/gtest.h>

#include <random>

#include "faults/damaged_store.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

std::string url_of(const TestFolder& folder) {
    return "files:" + folder.file("store") + "?sync=never";
}

std::vector<fs::path> files_of(const TestFolder& folder) {
    std::vector<fs::path> files;
    for (const auto& file : fs::recursive_directory_iterator(folder.file("store")))
        if (file.is_regular_file()) files.push_back(file.path());
    std::ranges::sort(files);
    return files;
}

void put(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

fs::path largest_log(const TestFolder& folder) {
    std::vector<fs::path> files = files_of(folder);
    std::erase_if(files, [](const fs::path& path) { return path.extension() != ".log"; });
    return *std::ranges::max_element(files, {},
                                     [](const auto& path) { return fs::file_size(path); });
}

TEST(files_damage, a_flipped_byte_is_never_given_out_as_right) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(url_of(folder));
    const std::vector<fs::path> files = files_of(folder);
    std::map<fs::path, std::string> whole;
    for (const fs::path& file : files) whole[file] = bytes_of_file(file.string());
    std::mt19937_64 random(7);
    int refused = 0, found = 0, harmless = 0;
    const int flips = setting("PAL_DAMAGE_FLIPS", 300);
    for (int i = 0; i < flips; ++i) {
        const fs::path& file = files[random() % files.size()];
        std::string bytes = whole[file];
        if (bytes.empty()) continue;
        const std::size_t at = random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        put(file, bytes);
        const Verdict verdict = judge(url_of(folder), contents);
        EXPECT_EQ(verdict.wrong, "") << file << " at " << at;
        EXPECT_TRUE(!verdict.missing || verdict.found) << file << " at " << at;
        if (verdict.refused)
            ++refused;
        else if (verdict.found)
            ++found;
        else
            ++harmless;
        for (const auto& [path, good] : whole) put(path, good);
    }
    std::printf(
        "%d bytes flipped: %d refused, %d noticed by check() alone, %d mended or harmless\n", flips,
        refused, found, harmless);
    EXPECT_GT(refused, 0);
    const Verdict verdict = judge(url_of(folder), contents);
    EXPECT_FALSE(verdict.refused || verdict.found || verdict.missing);
}

TEST(files_damage, a_log_whose_file_is_gone_is_damage_not_an_unknown_conversation) {
    const TestFolder folder(quick_place());
    Header header;
    {
        const auto store = open_good(url_of(folder));
        header = store->append({"t", "a"}, batch_of("a longer text than the other"))->header;
        EXPECT_TRUE(store->append({"t", "b"}, batch_of("whole")));
    }
    fs::remove(largest_log(folder));
    const auto store = open_good(url_of(folder));
    const auto all = store->read(header.log, {});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::internal) << all.error().message;
    EXPECT_NE(all.error().message.find("put it back from a backup"), std::string::npos);
    Batch patch;
    patch.patch.title = "of nothing";
    for (const Batch& batch : {batch_of("more"), patch}) {
        const auto appended = store->append({"t", "a"}, batch);
        ASSERT_FALSE(appended);
        EXPECT_EQ(appended.error().code, ErrorCode::internal) << appended.error().message;
    }
    EXPECT_TRUE(store->append({"t", "b"}, batch_of("goes on")));
}

TEST(files_damage, one_bad_record_hides_no_other) {
    const TestFolder folder(quick_place());
    Header header;
    {
        const auto store = open_good(url_of(folder));
        for (const char* text : {"one", "two", "three"})
            header = store->append({"t", "a"}, batch_of(text))->header;
        EXPECT_TRUE(store->append({"t", "b"}, batch_of("whole")));
    }
    const fs::path path = largest_log(folder);
    std::string bytes = bytes_of_file(path.string());
    bytes[bytes.find("two")] ^= 1;
    put(path, bytes);
    const auto store = open_good(url_of(folder));
    const auto all = store->read(header.log, {});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::internal);
    EXPECT_NE(all.error().message.find("entry 2"), std::string::npos) << all.error().message;
    EXPECT_EQ(text_of(store->read(header.log, {.ranges = {{Seq{3}, Seq{3}}}})->front()), "three");
    EXPECT_EQ(text_of(store->read(header.log, {.ranges = {{Seq{1}, Seq{1}}}})->front()), "one");
    EXPECT_TRUE(store->append({"t", "a"}, batch_of("four")));
    EXPECT_TRUE(store->head(ConversationId{"t", "b"}));
}

TEST(files_damage, a_cut_file_is_found_and_the_others_are_served) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(url_of(folder));
    const fs::path path = largest_log(folder);
    const std::string whole = bytes_of_file(path.string());
    for (std::size_t length = 0; length < whole.size(); length += whole.size() / 23 + 1) {
        put(path, std::string_view(whole).substr(0, length));
        const Verdict verdict = judge(url_of(folder), contents);
        EXPECT_EQ(verdict.wrong, "") << "cut at " << length;
        EXPECT_TRUE(verdict.refused && verdict.found) << "cut at " << length;
        const auto store = open_good(url_of(folder));
        const auto report = store->check({});
        EXPECT_EQ(std::ranges::count(report->findings, "readable", &Finding::what), 11);
    }
}

// The index is a convenience: without it, or with an old one, the files say everything.
TEST(files_damage, a_missing_or_old_index_is_made_anew) {
    const TestFolder folder(quick_place());
    const std::string index = folder.file("store/index");
    StoredTexts contents = make_store(url_of(folder));
    const std::string old = bytes_of_file(index);
    {
        const auto store = open_good(url_of(folder));
        EXPECT_TRUE(store->append({"t", "c1"}, batch_of("newer than the index")));
        contents["c1"].push_back("newer than the index");
    }
    for (const std::string& bytes : {old, old.substr(0, old.size() / 2), std::string()}) {
        put(index, bytes);
        const Verdict verdict = judge(url_of(folder), contents);
        EXPECT_EQ(verdict.wrong, "");
        EXPECT_FALSE(verdict.refused || verdict.missing || verdict.found);
    }
    fs::remove(index);
    EXPECT_FALSE(judge(url_of(folder), contents).missing);
}

TEST(files_damage, half_a_record_at_the_end_of_a_file_is_cut_off_when_the_index_is_lost) {
    const TestFolder folder(quick_place());
    const StoredTexts contents = make_store(url_of(folder));
    const fs::path path = largest_log(folder);
    put(path, bytes_of_file(path.string()) + "PALr half of a record");
    fs::remove(folder.file("store/index"));
    const Verdict verdict = judge(url_of(folder), contents);
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_FALSE(verdict.refused || verdict.missing || verdict.found);
}

}  // namespace
}  // namespace palimpsest
