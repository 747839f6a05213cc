// sqlite_gather: a layer between SQLite and its files that writes a commit to the write-ahead log
// in one call of the system; SQLite makes two for each page. It can also leave the sync of a commit
// to its author: whoever syncs it later holds no lock of SQLite meanwhile.
//
// What is written there is kept until it is synced or read. So only connections that sync every
// commit (synchronous=FULL) may use it: SQLite tells others of a commit behind its sync, and no
// earlier. Everything else goes to the layer below unchanged.
#pragma once

struct sqlite3_file;

namespace palimpsest {

// The name to open with; null: SQLite has no layer that this one could stand on.
const char* gathering_vfs();

// The write-ahead log that has a commit which is written and not synced; null: none.
struct OwedSync {
    sqlite3_file* file = nullptr;
    int flags = 0;
    int descriptor = -1;  // of our own, for begin_to_pay()
};
// From any thread while the connection is open; what was written before is synced when it returns.
// A code of SQLite.
int pay(const OwedSync& owed);

// Gives the disk what it has to write, and does not wait: pay() takes less, the later it comes.
void begin_to_pay(const OwedSync& owed);

// While it lives a commit of this thread is not synced, and `owed` says so: others read it, a kill
// cannot take it back any more, and a power cut can. Checkpoints sync all the same.
class OweSync {
public:
    explicit OweSync(OwedSync& owed);
    ~OweSync();
    OweSync(const OweSync&) = delete;
    OweSync& operator=(const OweSync&) = delete;
};

}  // namespace palimpsest
