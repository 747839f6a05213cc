#include "store/files_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/ids.h"
#include "store/store_lock.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

// Open files beyond this are closed, those not used lately first.
constexpr std::size_t open_files_max = 256;
constexpr std::size_t uid_digits = 32;
constexpr std::uint64_t fill_least = 4 << 10, fill_most = 256 << 10;

std::optional<LogFileName> parse_name(const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.size() < uid_digits + 6 || name[uid_digits] != '.') return std::nullopt;
    const auto log = parse_log_id(std::string_view(name).substr(0, uid_digits));
    const std::size_t dot = name.rfind('.');
    const std::string end = name.substr(dot);
    if (!log || (end != ".log" && end != ".part")) return std::nullopt;
    LogFileName found{.log = *log, .part = end == ".part", .path = path.string()};
    const char* first = name.data() + uid_digits + 1;
    const auto [last, fault] = std::from_chars(first, name.data() + dot, found.number);
    if (fault != std::errc{} || last != name.data() + dot) return std::nullopt;
    return found;
}

}  // namespace

std::string FilesFolder::folder_of(const LogId& log) const {
    return root_ + "/logs/" + hex(log).substr(0, 2);
}

std::string FilesFolder::log_path(const LogFileId& id) const {
    return folder_of(id.log) + "/" + hex(id.log) + "." + std::to_string(id.version) + ".log";
}

std::string FilesFolder::part_path(const LogId& log, std::uint64_t number) const {
    return folder_of(log) + "/" + hex(log) + "." + std::to_string(number) + ".part";
}

Result<std::vector<LogFileName>> FilesFolder::log_files() const {
    std::vector<LogFileName> found;
    std::error_code error;
    for (fs::recursive_directory_iterator at(root_ + "/logs", error), end; !error && at != end;
         at.increment(error))
        if (auto name = parse_name(at->path())) found.push_back(std::move(*name));
    if (!error || error == std::errc::no_such_file_or_directory) return found;
    return fail(code_of_errno(error.value()), root_ + "/logs: " + error.message());
}

Result<void> FilesFolder::make_folder_of(const LogId& log) {
    const std::string folder = folder_of(log);
    if (made_.contains(folder)) return {};
    PAL_CHECK(make_folder(root_ + "/logs", syncs_));
    PAL_CHECK(make_folder(folder, syncs_));
    made_.insert(folder);
    return {};
}

Result<std::shared_ptr<DiskFile>> FilesFolder::open(const LogFileId& id, DiskFile::Mode mode) {
    const std::lock_guard hold(mutex_);
    if (const auto found = young_.find(id); found != young_.end()) return found->second;
    std::shared_ptr<DiskFile> file;
    if (const auto found = old_.find(id); found != old_.end()) {
        file = found->second;
    } else {
        // Opened for writing also by readers, so that the writer can share it.
        const auto asked = mode == DiskFile::Mode::create ? mode : DiskFile::Mode::write;
        PAL_TRY(opened, DiskFile::open(log_path(id), asked, syncs_));
        file = std::make_shared<DiskFile>(std::move(opened));
    }
    if (young_.size() >= open_files_max / 2) {
        old_ = std::move(young_);
        young_.clear();
    }
    young_[id] = file;
    return file;
}

Result<std::shared_ptr<DiskFile>> FilesFolder::open_known(const LogFileId& id) {
    auto file = open(id, DiskFile::Mode::write);
    if (file || file.error().code != ErrorCode::not_found) return file;
    return fail(ErrorCode::internal,
                log_path(id) +
                    " is missing: the store is damaged, put it back from a backup; "
                    "run `pal doctor` to see what is whole");
}

Result<std::string> FilesFolder::read_part(const LogId& log, std::uint64_t number) const {
    PAL_TRY(file, DiskFile::open(part_path(log, number), DiskFile::Mode::read));
    PAL_TRY(size, file.size());
    return file.read(0, static_cast<std::size_t>(size));
}

Result<void> FilesFolder::write(const LogFileId& id, std::uint64_t at, std::string_view bytes) {
    if (at == 0) {
        PAL_CHECK(make_folder_of(id.log));
        dirty_folders_.insert(folder_of(id.log));
    }
    PAL_TRY(file, open(id, at == 0 ? DiskFile::Mode::create : DiskFile::Mode::write));
    auto filled = filled_.find(id);
    if (filled == filled_.end()) {
        PAL_TRY(size, file->size());
        if (size > at) PAL_CHECK(file->cut(at));
        filled = filled_.emplace(id, at).first;
    }
    dirty_.insert(id);
    if (at + bytes.size() <= filled->second) return file->write(at, bytes);
    // A conversation of one batch, as most are, gets no zeros.
    const std::uint64_t ahead = at == 0 ? 0 : std::clamp(at / 4, fill_least, fill_most);
    std::string more(bytes);
    more.append(static_cast<std::size_t>(ahead), '\0');
    PAL_CHECK(file->write(at, more));
    filled->second = at + more.size();
    return {};
}

// As far as it can be done: a later write() cuts again, and refuses if it cannot.
void FilesFolder::cut(const LogFileId& id, std::uint64_t length) {
    if (length == 0) return remove(id);
    filled_.erase(id);
    if (auto file = open(id, DiskFile::Mode::write)) (void)(*file)->cut(length);
}

void FilesFolder::trim(
    const std::function<std::optional<std::uint64_t>(const LogFileId&)>& length_of) {
    for (const auto& [id, filled] : std::exchange(filled_, {}))
        if (const auto length = length_of(id); length && filled > *length) cut(id, *length);
}

Result<void> FilesFolder::write_part(const LogId& log, std::uint64_t number,
                                     std::string_view bytes) {
    PAL_CHECK(make_folder_of(log));
    PAL_TRY(file, DiskFile::open(part_path(log, number), DiskFile::Mode::create, syncs_));
    PAL_CHECK(file.cut(0));
    PAL_CHECK(file.write(0, bytes));
    PAL_CHECK(file.sync());
    return syncs_ ? sync_folder(folder_of(log)) : Result<void>();
}

void FilesFolder::remove(const LogFileId& id) {
    {
        const std::lock_guard hold(mutex_);
        young_.erase(id);
        old_.erase(id);
    }
    dirty_.erase(id);
    filled_.erase(id);
    dirty_folders_.insert(folder_of(id.log));
    (void)remove_file(log_path(id));
}

void FilesFolder::remove_part(const LogId& log, std::uint64_t number) {
    dirty_folders_.insert(folder_of(log));
    (void)remove_file(part_path(log, number));
}

void FilesFolder::remove_all(const LogId& log) {
    std::error_code error;
    for (fs::directory_iterator at(folder_of(log), error), end; !error && at != end;
         at.increment(error)) {
        const auto name = parse_name(at->path());
        if (!name || name->log != log) continue;
        name->part ? remove_part(log, name->number) : remove({log, name->number});
    }
}

Result<void> FilesFolder::sync() {
    while (!dirty_.empty()) {
        PAL_TRY(file, open_known(*dirty_.begin()));
        PAL_CHECK(file->sync());
        dirty_.erase(dirty_.begin());
    }
    while (!dirty_folders_.empty()) {
        std::error_code ignored;
        if (syncs_ && fs::exists(*dirty_folders_.begin(), ignored))
            PAL_CHECK(sync_folder(*dirty_folders_.begin()));
        dirty_folders_.erase(dirty_folders_.begin());
    }
    return {};
}

}  // namespace palimpsest
