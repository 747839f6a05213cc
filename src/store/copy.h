// A whole store into another, through the port: every conversation with its forks and what they
// share, headers, times, and records. Idempotency keys stay behind.
//
// It can be broken off at any point and begun again: what is there is not written twice. The
// target's conversations are left alone; one of the same name that is not this one is a conflict.
// What cannot be copied is named in the report, and the rest is copied all the same.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct CopyProgress {
    std::size_t done = 0, total = 0;  // conversations
};
struct CopyOptions {
    std::vector<std::string> tenants = {};  // empty: all, where the source can name them
    std::function<void(const CopyProgress&)> progress = {};
};
struct CopyFailure {
    std::string what = {};      // a conversation, or records and their space
    Seq copied = {}, end = {};  // how far it is there, and how far it goes
    Error error = {};
};
struct CopyReport {
    std::uint64_t conversations = 0, entries = 0, records = 0;  // written now
    std::uint64_t there = 0;                                    // conversations that were whole
    std::vector<CopyFailure> failures = {};
};
// Fails as a whole only when one of the stores cannot go on.
Result<CopyReport> copy_store(Store& from, Store& to, const CopyOptions& options);

}  // namespace palimpsest
