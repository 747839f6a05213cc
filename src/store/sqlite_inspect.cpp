#include "store/sqlite_inspect.h"

#include <filesystem>
#include <fstream>

#include "store/scratch_folder.h"
#include "store/sqlite_check.h"
#include "store/sqlite_schema.h"
#include "store/store_lock.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

// Where the first page says how many pages there are, and which of its changes that is good for.
constexpr std::size_t page_count_at = 28, change_at = 24, counted_at_change_at = 92;

void put_number(std::string& page, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
        page[at + i] = static_cast<char>(value >> (8 * (3 - i)) & 0xff);
}

Result<std::string> new_first_page(const ScratchFolder& folder, const SqliteLayout& layout,
                                   std::uintmax_t file_bytes) {
    const std::string path = folder.file("new.db");
    PAL_CHECK(create_sqlite_file(path, layout));
    std::string page(layout.page_bytes, '\0');
    std::ifstream(path, std::ios::binary).read(page.data(), std::ssize(page));
    put_number(page, page_count_at, static_cast<std::uint32_t>(file_bytes / layout.page_bytes));
    put_number(page, change_at, 1);
    put_number(page, counted_at_change_at, 1);
    return page;
}

// The file under `folder`; the write-ahead log belongs to it.
Result<std::string> copy_into(const std::string& path, const ScratchFolder& folder) {
    std::error_code error;
    if (!folder.good()) return no_copy(std::make_error_code(std::errc::permission_denied));
    const std::string copy = folder.file("copy.db");
    fs::copy_file(path, copy, error);
    if (error) return no_copy(error);
    if (fs::exists(path + "-wal", error)) fs::copy_file(path + "-wal", copy + "-wal", error);
    if (error) return no_copy(error);
    return copy;
}

Result<std::string> copy_with_new_first_page(const std::string& path, const SqliteLayout& layout,
                                             const ScratchFolder& folder) {
    PAL_TRY(copy, copy_into(path, folder));
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(copy, error);
    if (error) return fail(ErrorCode::unavailable, copy + ": " + error.message());
    PAL_TRY(page, new_first_page(folder, layout, bytes));
    std::fstream file(copy, std::ios::binary | std::ios::in | std::ios::out);
    file.write(page.data(), static_cast<std::streamsize>(page.size()));
    return std::move(copy);
}

// Opens without the checks of a normal open; fails when our tables cannot be found in it.
Result<std::unique_ptr<SqliteDatabase>> open_damaged(const std::string& path) {
    PAL_TRY(db, SqliteDatabase::open(path, SqliteDatabase::Mode::read_only));
    // With it SQLite takes a file for as long as it is, not for as long as it says.
    PAL_CHECK(
        db->execute("PRAGMA writable_schema=ON; PRAGMA query_only=ON;"
                    "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF"));
    PAL_TRY(tables, db->integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name "
                                "IN ('log', 'head', 'entry', 'once', 'label', 'record')"));
    if (tables == 6) return std::move(db);
    return fail(ErrorCode::unprocessable, "the tables of a store are not in it");
}

bool has_bodies(SqliteDatabase& db) {
    const auto tables =
        db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'body'");
    return tables && *tables == 1;
}

// A file of version 1 is not changed while it is damaged: what reading needs is added to a copy.
Result<CheckReport> look_at_copy(const std::string& path) {
    const ScratchFolder folder;
    PAL_TRY(copy, copy_into(path, folder));
    {
        PAL_TRY(db, SqliteDatabase::open(copy, SqliteDatabase::Mode::read_write));
        PAL_CHECK(db->execute("PRAGMA writable_schema=ON"));
        add_missing_tables(*db);
    }
    PAL_TRY(db, open_damaged(copy));
    return check_sqlite(*db, path, NameWhole::always);
}

Result<void> foreign(CheckReport& report, const std::string& path, std::string message) {
    report.findings.push_back({"foreign", path, std::move(message)});
    return {};
}

// What is found if the file was laid out so; nothing, if it was not.
Result<CheckReport> look_as_laid_out(const std::string& path, const SqliteLayout& layout) {
    const ScratchFolder folder;
    PAL_TRY(copy, copy_with_new_first_page(path, layout, folder));
    auto db = open_damaged(copy);
    return db ? check_sqlite(**db, path, NameWhole::always) : CheckReport{};
}

Result<void> look_with_new_first_page(const std::string& path, CheckReport& report) {
    CheckReport found;
    for (const SqliteLayout& layout : sqlite_layouts) {
        PAL_TRY(next, look_as_laid_out(path, layout));
        if (next.logs + next.records > found.logs + found.records) found = std::move(next);
    }
    if (found.logs == 0 && found.records == 0)
        return foreign(report, path,
                       starts_like_sqlite(path)
                           ? "this is an SQLite database, but nothing of a store is readable in it"
                           : "this is not an SQLite database, and nothing of a store is in it");
    report = std::move(found);
    report.findings.insert(
        report.findings.begin(),
        {"damaged", path, "the first page is damaged; what follows was read with a new one"});
    return {};
}

// Whole, and of somebody else.
bool is_foreign(const std::string& path) {
    auto db = SqliteDatabase::open(path, SqliteDatabase::Mode::read_only);
    if (!db) return false;
    const auto id = (*db)->integer("PRAGMA application_id");
    const auto tables = (*db)->integer("SELECT count(*) FROM sqlite_schema");
    return id && tables && *id != sqlite_application_id;
}

}  // namespace

Result<CheckReport> inspect_sqlite(std::string_view url) {
    url.remove_prefix(std::string_view("sqlite:").size());
    PAL_TRY(path, canonical_path(std::string(url.substr(0, url.find('?')))));
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        return fail(ErrorCode::not_found, "there is no file at " + path);
    CheckReport report;
    if (fs::file_size(path, error) == 0) {
        PAL_CHECK(foreign(report, path, "the file is empty"));
        return report;
    }
    if (auto db = open_damaged(path)) {
        if (!has_bodies(**db)) return look_at_copy(path);
        PAL_TRY(found, check_sqlite(**db, path, NameWhole::always));
        return std::move(found);
    }
    if (is_foreign(path))
        PAL_CHECK(foreign(report, path, "this is an SQLite database, but not a Palimpsest store"));
    else
        PAL_CHECK(look_with_new_first_page(path, report));
    return report;
}

}  // namespace palimpsest
