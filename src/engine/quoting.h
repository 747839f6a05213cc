// Which messages of a log hold words of others: quotations of the policy part `recall`, and answers
// of the tools `recall` and `search_memory`. Who hides or removes a message takes them along.
#pragma once
#include <functional>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct Quoting {
    Seq seq = {};
    std::vector<Seq> origins = {};  // all of them before it
};

// Ascending. Reads every message behind `after`, in pages, through `read`.
using ReadEntries = std::function<Result<std::vector<Entry>>(const ReadQuery& query)>;
Result<std::vector<Quoting>> read_quoting(const ReadEntries& read, Seq after, Seq end);

// Whether one of the origins is one that `is_gone` knows.
bool quotes_any(const Quoting& one, const std::function<bool(Seq seq)>& is_gone);

}  // namespace palimpsest
