#include "store/files_store.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>

#include "base/clock.h"
#include "base/ids.h"
#include "store/files_lost.h"
#include "store/files_read.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> no_conversation(const ConversationId& name) {
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}
std::unexpected<Error> no_log(const LogId& log) {
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

bool is_expired(const Record& record, Time now) {
    return record.expires && *record.expires <= now;
}

// Entries behind `end` are not there any more, whatever the file holds.
ReadQuery up_to(ReadQuery query, Seq end) {
    if (query.ranges.empty()) query.ranges = {{Seq{1}, end}};
    for (Range& range : query.ranges) range.to = std::min(range.to, end);
    std::erase_if(query.ranges, [&](const Range& range) { return range.from > end; });
    if (query.ranges.empty()) query.limit = 0;
    return query;
}

// There is nothing yet but the lock of whoever makes a store of it.
Result<bool> is_new(const std::string& path) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
        if (entry.path().filename() != "lock") return false;
    if (error) return fail(code_of_errno(error.value()), path + ": " + error.message(), "store");
    return true;
}

// A folder that holds something else is left alone.
Result<void> check_folder(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error))
        return fail(ErrorCode::invalid_request, path + " is no folder", "store");
    if (fs::exists(path + "/journal", error) || fs::exists(path + "/index", error)) return {};
    PAL_TRY(empty, is_new(path));
    if (empty) return {};
    return fail(ErrorCode::invalid_request,
                path + " holds something else than a store; name a new or an empty folder",
                "store");
}

// A copy of a folder into itself would never end.
Result<void> check_outside(const std::string& store, const std::string& path) {
    std::error_code error;
    const fs::path from = fs::weakly_canonical(fs::absolute(store, error), error);
    const fs::path to = fs::weakly_canonical(fs::absolute(path, error), error);
    if (error) return fail(code_of_errno(error.value()), path + ": " + error.message());
    if (std::ranges::mismatch(from, to).in1 != from.end()) return {};
    return fail(ErrorCode::invalid_request,
                path + " lies inside the store " + store + "; name a folder outside of it", "path");
}

// All of it, synced. Not by std::filesystem, which says EIO of a disk that is full.
Result<void> copy_folder(const std::string& from, const std::string& to) {
    PAL_CHECK(make_folder(to));
    std::error_code error;
    fs::directory_iterator at(from, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
        const std::string source = at->path().string();
        const std::string target = to + "/" + at->path().filename().string();
        PAL_CHECK(at->is_directory(error) ? copy_folder(source, target)
                                          : copy_file(source, target));
    }
    if (error) return fail(code_of_errno(error.value()), from + ": " + error.message());
    return sync_folder(to);
}

}  // namespace

Result<std::unique_ptr<FilesStore>> FilesStore::open(FilesStoreOptions options) {
    PAL_TRY(path, canonical_path(options.path));
    options.path = path;
    if (!options.clock) options.clock = system_now;
    std::error_code ignored;
    if (!fs::exists(path, ignored) && !options.create)
        return fail(ErrorCode::not_found, "there is no store at " + path +
                                              "; the first `pal append` or `pal serve` makes it");
    PAL_CHECK(make_folder(path, options.sync != FilesSync::never));
    PAL_CHECK(check_folder(path));
    PAL_TRY(lock, StoreLock::take(path, options.holder));
    std::unique_ptr<FilesStore> store(new FilesStore(std::move(lock), std::move(options)));
    std::vector<std::string> notices;
    const FilesOpening opening{path, store->options_.sync != FilesSync::never,
                               store->options_.mend};
    PAL_TRY(disk, open_files_disk(opening, store->catalog_, notices));
    if (store->options_.warn)
        for (const std::string& notice : notices) store->options_.warn(notice);
    store->writer_ = std::make_unique<FilesWriter>(std::move(disk), store->catalog_, store->mutex_,
                                                   store->options_.sync, store->lock_);
    if (store->options_.sync == FilesSync::interval)
        store->syncer_ = std::jthread([it = store.get()](const std::stop_token& stop) {
            std::mutex mutex;
            std::condition_variable_any wake;
            std::unique_lock hold(mutex);
            while (!wake.wait_for(hold, stop, it->options_.interval, [] { return false; }) &&
                   !stop.stop_requested())
                (void)it->writer_->sync_now();
        });
    return store;
}

FilesStore::~FilesStore() {
    syncer_ = {};
}

// ---- reading ------------------------------------------------------------------------------------

Result<Header> FilesStore::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    const std::shared_lock lock(mutex_);
    const FilesLog* log = catalog_.find(name);
    if (!log || expired(log->header(), options_.clock())) return no_conversation(name);
    if (log->state.lost) return header_lost(log->header().log);
    return log->header();
}

Result<Header> FilesStore::head(const LogId& uid) {
    const std::shared_lock lock(mutex_);
    const FilesLog* log = catalog_.find(uid);
    if (log && log->state.lost) return header_lost(uid);
    std::optional<Header> header = log ? as_of(*log, options_.clock()) : std::nullopt;
    if (!header) return no_log(uid);
    return *std::move(header);
}

Result<std::vector<Entry>> FilesStore::read(const LogId& uid, const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    const Time now = options_.clock();
    for (;;) {
        {
            std::shared_lock lock(mutex_);
            FilesLog* log = catalog_.find(uid);
            const std::optional<Header> header = log ? as_of(*log, now) : std::nullopt;
            if (!header) return no_log(uid);
            if (log->places) {
                PAL_TRY(wanted, wanted_entries(*log, up_to(query, header->end)));
                FilesFolder& folder = writer_->folder();
                PAL_TRY(file, folder.open_known({uid, log->version}));
                lock.unlock();
                return fetch_entries(folder, *file, *header, wanted, query.content);
            }
        }
        PAL_CHECK(writer_->run_alone([&]() -> Result<void> {
            FilesLog* log = catalog_.find(uid);
            return log ? writer_->load(*log) : Result<void>();
        }));
    }
}

std::vector<FilesLog*> FilesStore::candidates(const ListQuery& query) const {
    std::vector<FilesLog*> found;
    if (query.children_of) {
        if (const FilesLog* parent = catalog_.find(*query.children_of))
            for (const auto& [at, fork] : parent->forks) found.push_back(fork);
        return found;
    }
    for (auto at = catalog_.names().lower_bound({query.tenant, ""});
         at != catalog_.names().end() && at->first.tenant == query.tenant; ++at)
        found.push_back(at->second);
    return found;
}

Result<Page> FilesStore::list(const ListQuery& query) {
    PAL_CHECK(check_list(query));
    std::optional<Cursor> after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const Time now = options_.clock();
    const auto precedes = [&](const Cursor& a, const Cursor& b) {
        return query.newest_first ? b < a : a < b;
    };
    const std::shared_lock lock(mutex_);
    std::vector<std::pair<Cursor, const FilesLog*>> rows;
    for (const FilesLog* log : candidates(query)) {
        const bool seen = query.children_of ? as_of(*log, now).has_value() : living(*log, now);
        if (!seen || !matches(*log, query)) continue;
        const Cursor at{sort_time(log->header(), query.sort), log->header().log};
        if (!after || precedes(*after, at)) rows.emplace_back(at, log);
    }
    const std::size_t count = std::min(query.limit, rows.size());
    std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(count), precedes,
                              [](const auto& row) { return row.first; });
    Page page;
    if (count < rows.size()) page.next = write_cursor(query, rows[count - 1].first);
    for (std::size_t i = 0; i < count; ++i)
        if (auto header = as_of(*rows[i].second, now)) page.headers.push_back(*std::move(header));
    return page;
}

Result<Record> FilesStore::get_record(const RecordKey& key) {
    PAL_CHECK(check_record(key));
    const std::shared_lock lock(mutex_);
    const auto found = catalog_.records().find(key);
    if (found == catalog_.records().end() || is_expired(found->second, options_.clock()))
        return fail(ErrorCode::not_found, "no record \"" + key.key + "\" in " + key.space);
    return found->second;
}

Result<std::vector<Record>> FilesStore::list_records(const RecordQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    PAL_CHECK(check_id(query.space, "space"));
    const Time now = options_.clock();
    const std::shared_lock lock(mutex_);
    std::vector<Record> found;
    const auto& records = catalog_.records();
    const bool resumed = query.after >= query.prefix;
    for (auto at =
             records.lower_bound({query.tenant, query.space, resumed ? query.after : query.prefix});
         at != records.end() && found.size() < query.limit; ++at) {
        const RecordKey& key = at->first;
        if (key.tenant != query.tenant || key.space != query.space) break;
        if (!key.key.starts_with(query.prefix)) break;
        if (key.key <= query.after || is_expired(at->second, now)) continue;
        found.push_back(at->second);
    }
    return found;
}

// ---- the rest -----------------------------------------------------------------------------------

Result<CheckReport> FilesStore::check(std::span<const std::string>) {
    Result<CheckReport> report = CheckReport{};
    const FilesWriter::Alone work = [&]() -> Result<void> {
        report = check_files(writer_->folder(), catalog_, options_.mend);
        return {};
    };
    PAL_CHECK(writer_->run_alone(work));
    return report;
}

Result<Contents> FilesStore::contents() {
    const std::shared_lock lock(mutex_);
    Contents found;
    for (const auto& [name, log] : catalog_.names())
        if (found.tenants.empty() || found.tenants.back() != name.tenant)
            found.tenants.push_back(name.tenant);
    for (const auto& [key, record] : catalog_.records()) {
        const RecordSpace space{key.tenant, key.space};
        if (found.spaces.empty() || found.spaces.back() != space) found.spaces.push_back(space);
    }
    return found;
}

Result<void> FilesStore::backup(const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error))
        return fail(ErrorCode::conflict, path + " exists; name a folder that does not");
    PAL_CHECK(check_outside(options_.path, path));
    const std::string fresh = path + ".new";
    fs::remove_all(fresh, error);
    // Nobody writes meanwhile; readers go on.
    const FilesWriter::Alone work = [&]() -> Result<void> {
        PAL_CHECK(writer_->checkpoint());
        writer_->trim_files();
        return copy_folder(options_.path, fresh);
    };
    if (const auto copied = writer_->run_alone(work); !copied) {
        fs::remove_all(fresh, error);
        return copied;
    }
    PAL_CHECK(rename_file(fresh, path));
    return sync_folder(fs::absolute(path, error).parent_path().string());
}

Result<void> FilesStore::check_writable() {
    return lock_.check_in_place();
}

Durability FilesStore::durability() const {
    switch (options_.sync) {
        case FilesSync::interval:
            return {"files, synced every " + std::to_string(options_.interval.count()) +
                        " ms: a power cut loses what is newer",
                    true, false};
        case FilesSync::never:
            return {"files, never synced: a power cut may lose anything", true, false};
        case FilesSync::always:
            break;
    }
    return {"files, synced before every acknowledgement", true, true};
}

}  // namespace palimpsest
