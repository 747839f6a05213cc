// The words of one log, kept in step with it.
//
// Made from the log alone: what is new is read from the store and added, another epoch (something
// was scrubbed) starts again. A part of it is kept as records of the store, so that a restart does
// not read the log again; they are a copy, and losing them costs time only. They go when the log's
// words must go, and expire with it.
#pragma once
#include <map>
#include <shared_mutex>
#include <string>

#include "core/word_index.h"
#include "palimpsest/search.h"
#include "palimpsest/store.h"
#include "search/message_text.h"

namespace palimpsest {

class LogWords {
public:
    explicit LogWords(bool keep) : keep_(keep) {}

    // Reads what the header says is new. Only one thread at a time (see StoreIndex).
    Result<void> update(Store& store, const Header& header, Stemmer& stemmer);
    bool is_current(const Header& header) const {
        return known_ && epoch_ == header.epoch && upto_ >= header.end;
    }
    const WordIndex& words() const { return words_; }
    IndexedLog facts() const;
    Seq upto() const { return upto_; }
    // Writes the records even when little is new.
    Result<void> save(Store& store, const Header& header);

private:
    void load(Store& store, const Header& header);
    Result<void> read_new(Store& store, const Header& header, Stemmer& stemmer);
    void add(const Entry& entry, Stemmer& stemmer, bool index);

    bool keep_ = false;
    bool known_ = false;
    bool from_copy_ = false;  // which does not have calls_
    std::uint64_t epoch_ = 0;
    Seq upto_ = {};
    std::size_t kept_messages_ = 0;  // in the records
    std::uint64_t sealed_ = 0;
    WordIndex words_;
    std::map<std::string, std::string> calls_;  // names of tools by call id, of late calls
    CallIds lookups_;  // late calls of the tools that look up what was said
};

}  // namespace palimpsest
