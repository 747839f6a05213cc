// The port, written as plainly as possible: one map of logs, one of records, one thread, every rule
// a loop over everything. Slow. Stores are compared with it, so it shares no code with any of them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

class ModelStore final : public Store {
public:
    explicit ModelStore(Clock clock) : clock_(std::move(clock)) {}

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;

private:
    struct Seen {
        Fingerprint digest;
        Seq first, last;
    };
    struct Log {
        Header header;
        std::vector<Entry> entries;
        std::map<std::string, Seen> keys;
        Seq basis_at_base = {};
        std::uint64_t messages_at_base = 0;
    };

    void settle();
    Receipt take_name(Log& log);
    Receipt collect();
    Log* by_name(const ConversationId& name);
    bool descends(const Log& log, const LogId& from) const;
    Result<Log> fresh(const ConversationId& name, const Batch& batch);

    Clock clock_;
    std::map<LogId, Log> logs_;
    std::map<RecordKey, Record> records_;
    std::uint64_t version_ = 0;
};

}  // namespace palimpsest
