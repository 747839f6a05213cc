// sqlite_gather: a layer between SQLite and its files that writes a commit to the write-ahead log
// in one call of the system; SQLite makes two for each page.
//
// What is written there is kept until it is synced or read. So only connections that sync every
// commit (synchronous=FULL) may use it: SQLite tells others of a commit behind its sync, and no
// earlier. Everything else goes to the layer below unchanged.
#pragma once
#include <functional>

namespace palimpsest {

// The name to open with; null: SQLite has no layer that this one could stand on.
const char* gathering_vfs();

// While it lives, `tell` is called, once, when a commit of this thread lies in the write-ahead log
// and is about to be synced: the death of the process cannot take it back any more.
class TellBeforeSync {
public:
    explicit TellBeforeSync(const std::function<void()>& tell);
    ~TellBeforeSync();
    TellBeforeSync(const TellBeforeSync&) = delete;
    TellBeforeSync& operator=(const TellBeforeSync&) = delete;
};

}  // namespace palimpsest
