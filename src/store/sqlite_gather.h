// sqlite_gather: a layer between SQLite and its files that writes a commit to the write-ahead log
// in one call of the system; SQLite makes two for each page.
//
// What is written there is kept until it is synced or read. So only connections that sync every
// commit (synchronous=FULL) may use it: SQLite tells others of a commit behind its sync, and no
// earlier. Everything else goes to the layer below unchanged.
#pragma once

namespace palimpsest {

// The name to open with; null: SQLite has no layer that this one could stand on.
const char* gathering_vfs();

}  // namespace palimpsest
