#include "store/sqlite_gather.h"

#include <sqlite3.h>

#include <cstddef>
#include <new>
#include <string>
#include <utility>

namespace palimpsest {
namespace {

constexpr std::size_t pending_max = (1 << 17) - 1;  // the most that SQLite's own layer can write
constexpr sqlite3_int64 wal_head_bytes = 32;        // synced by itself, before a commit

thread_local const std::function<void()>* tell_before_sync = nullptr;

sqlite3_vfs* below = nullptr;

struct WalFile {
    sqlite3_file base = {};        // first: SQLite knows the file as this
    sqlite3_file* file = nullptr;  // of the layer below, in the memory behind this one
    sqlite3_int64 at = 0;          // where `pending` belongs
    sqlite3_int64 end = 0;         // of what was written last
    std::string pending = {};
};
constexpr std::size_t wal_file_bytes =
    (sizeof(WalFile) + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);

WalFile& of(sqlite3_file* file) {
    return *reinterpret_cast<WalFile*>(file);
}

// What could not be written is given up: SQLite rolls its transaction back.
int flush(WalFile& wal) {
    if (wal.pending.empty()) return SQLITE_OK;
    const int code = wal.file->pMethods->xWrite(wal.file, wal.pending.data(),
                                                static_cast<int>(wal.pending.size()), wal.at);
    wal.pending.clear();
    return code;
}

int close_wal(sqlite3_file* file) {
    WalFile& wal = of(file);
    (void)flush(wal);  // It was never synced, so nobody relies on it.
    const int code = wal.file->pMethods->xClose(wal.file);
    wal.~WalFile();
    return code;
}

int read_wal(sqlite3_file* file, void* into, int bytes, sqlite3_int64 at) {
    WalFile& wal = of(file);
    const int code = flush(wal);
    return code == SQLITE_OK ? wal.file->pMethods->xRead(wal.file, into, bytes, at) : code;
}

int write_wal(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    WalFile& wal = of(file);
    const bool follows = wal.at + static_cast<sqlite3_int64>(wal.pending.size()) == at;
    if (!follows || wal.pending.size() + static_cast<std::size_t>(bytes) > pending_max)
        if (const int code = flush(wal); code != SQLITE_OK) return code;
    if (wal.pending.empty()) wal.at = at;
    wal.end = at + bytes;
    try {
        wal.pending.append(static_cast<const char*>(from), static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
        return SQLITE_IOERR_NOMEM;
    }
    return SQLITE_OK;
}

int truncate_wal(sqlite3_file* file, sqlite3_int64 bytes) {
    WalFile& wal = of(file);
    const int code = flush(wal);
    return code == SQLITE_OK ? wal.file->pMethods->xTruncate(wal.file, bytes) : code;
}

int sync_wal(sqlite3_file* file, int flags) {
    WalFile& wal = of(file);
    const int code = flush(wal);
    if (code != SQLITE_OK) return code;
    if (tell_before_sync && wal.end > wal_head_bytes) (*std::exchange(tell_before_sync, nullptr))();
    return wal.file->pMethods->xSync(wal.file, flags);
}

int size_of_wal(sqlite3_file* file, sqlite3_int64* bytes) {
    WalFile& wal = of(file);
    const int code = flush(wal);
    return code == SQLITE_OK ? wal.file->pMethods->xFileSize(wal.file, bytes) : code;
}

int lock_wal(sqlite3_file* file, int level) {
    return of(file).file->pMethods->xLock(of(file).file, level);
}
int unlock_wal(sqlite3_file* file, int level) {
    return of(file).file->pMethods->xUnlock(of(file).file, level);
}
int is_wal_reserved(sqlite3_file* file, int* out) {
    return of(file).file->pMethods->xCheckReservedLock(of(file).file, out);
}
int control_wal(sqlite3_file* file, int what, void* argument) {
    return of(file).file->pMethods->xFileControl(of(file).file, what, argument);
}
int sector_bytes_of_wal(sqlite3_file* file) {
    return of(file).file->pMethods->xSectorSize(of(file).file);
}
int kind_of_wal_device(sqlite3_file* file) {
    return of(file).file->pMethods->xDeviceCharacteristics(of(file).file);
}

// Version 1: a write-ahead log is neither mapped nor does it share memory.
constexpr sqlite3_io_methods methods_of_wal() {
    sqlite3_io_methods methods = {};
    methods.iVersion = 1;
    methods.xClose = close_wal;
    methods.xRead = read_wal;
    methods.xWrite = write_wal;
    methods.xTruncate = truncate_wal;
    methods.xSync = sync_wal;
    methods.xFileSize = size_of_wal;
    methods.xLock = lock_wal;
    methods.xUnlock = unlock_wal;
    methods.xCheckReservedLock = is_wal_reserved;
    methods.xFileControl = control_wal;
    methods.xSectorSize = sector_bytes_of_wal;
    methods.xDeviceCharacteristics = kind_of_wal_device;
    return methods;
}
constexpr sqlite3_io_methods wal_methods = methods_of_wal();

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    if ((flags & SQLITE_OPEN_WAL) == 0) return below->xOpen(below, name, file, flags, flags_out);
    auto* const wal = new (file) WalFile;
    wal->file = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + wal_file_bytes);
    wal->file->pMethods = nullptr;
    const int code = below->xOpen(below, name, wal->file, flags, flags_out);
    if (code == SQLITE_OK) {
        wal->base.pMethods = &wal_methods;
    } else {
        wal->~WalFile();
        file->pMethods = nullptr;  // So it is not closed.
    }
    return code;
}

// Lives as long as the process: connections may be open at its end.
const char* register_layer() {
    below = sqlite3_vfs_find(nullptr);
    if (below == nullptr) return nullptr;
    static sqlite3_vfs layer = *below;
    layer.pNext = nullptr;
    layer.zName = "palimpsest_gather";
    layer.szOsFile = static_cast<int>(wal_file_bytes) + below->szOsFile;
    layer.xOpen = open_file;
    return sqlite3_vfs_register(&layer, 0) == SQLITE_OK ? layer.zName : nullptr;
}

}  // namespace

const char* gathering_vfs() {
    static const char* const name = register_layer();
    return name;
}

TellBeforeSync::TellBeforeSync(const std::function<void()>& tell) {
    tell_before_sync = tell ? &tell : nullptr;
}
TellBeforeSync::~TellBeforeSync() {
    tell_before_sync = nullptr;
}

}  // namespace palimpsest
