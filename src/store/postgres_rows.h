// Rows of the PostgreSQL store as values, and the calls that read and write them.
#pragma once
#include <optional>
#include <vector>

#include "core/codec.h"
#include "palimpsest/store.h"
#include "store/fork_tree.h"
#include "store/postgres_connection.h"

namespace palimpsest {

// A header with what the tables know beside it.
struct PgLog {
    TreeLog log = {};
    LogId root = {};
    Time now = {};  // when it was read, by the store's clock
    const Header& header() const { return log.header; }
};

// What time it is to a call: the clock that the store was opened with, or none for the server's.
using PgNow = std::optional<std::int64_t>;
// SQL: $1, or the server's clock. Defined here so that it is there before every statement.
inline const std::string pg_now =
    "COALESCE($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

// Columns of `pal_log l` and `pal_head h` that read_log() expects from column 0 on; behind them
// comes the time.
inline const std::string log_columns_of_l_and_h =
    "l.tenant, l.id, l.log, l.parent, l.base, h.last, h.basis, h.messages, h.revision, h.epoch, "
    "l.owner, l.title, l.system_prompt, l.metadata, l.policy, l.created, h.updated, h.accessed, "
    "h.ttl, h.expires, l.root, l.base_basis, l.base_messages";
PgLog read_log(const PgTable& table, std::size_t row);

PgCall server_time(PgNow now);  // one row, one column
PgCall find_by_name(PgNow now, const ConversationId& name);
// What it found: nothing, the log, or `internal` where a part of its header is missing.
Result<std::optional<PgLog>> read_named(const PgTable& table);
// In that case its log.
std::optional<LogId> torn_log_of(const PgTable& table);
PgCall find_by_log(PgNow now, const LogId& log);
PgCall find_family(PgNow now, const LogId& root);
std::vector<PgLog> read_logs(const PgTable& table);
// One row, true: a part of that log is there without the rest of it.
PgCall find_torn(const LogId& log);
// `internal`, when it is; else not_found.
std::unexpected<Error> lost_or_absent(const PgTable& torn, const LogId& log);
// One row, true: a fork and its parent are there and do not say the same family, one of them this.
PgCall find_strays(const LogId& root);
ForkTree family_of(const std::vector<PgLog>& logs);

// Locks the heads: of one conversation, or of a family, the root first. Whoever changes the tree
// holds the root; whoever changes a header holds its head.
PgCall lock_name(const ConversationId& name);
PgCall lock_log(const LogId& log);
PgCall lock_family(const LogId& root);

// ---- writing ------------------------------------------------------------------------------------

struct PgEntries {
    std::vector<std::optional<std::int64_t>> kinds = {}, times = {}, ordinals = {};
    std::vector<EncodedBody> bodies = {};
    std::vector<std::string> hashes = {};  // of those that are stored once; of others empty
    bool shares = false;                   // some are
    std::uint64_t messages = 0;
    std::optional<std::int64_t> basis = {};  // the place of the newest that carries one
};
PgEntries make_entries(const Batch& batch);
// Five parameters, and a sixth, the hashes, where some are shared.
void add_entries(PgParams& params, const PgEntries& entries);

PgCall insert_name(const ConversationId& name, const LogId& log);
PgCall insert_log(const PgLog& log);
PgCall insert_head(const Header& header);
PgCall update_log(const Header& header);   // the cold half
PgCall update_head(const Header& header);  // the hot half
// Behind what the log has, into the family of `root`.
PgCall insert_entries(const Header& before, const LogId& root, const PgEntries& entries, Time now);
PgCall insert_once(const LogId& log, const Batch& batch, Range range, Time now);
PgCall find_once(const LogId& log, const std::string& key);
std::string digest_bytes(const Fingerprint& digest);
// What the index of metadata holds for a header, and for one field of one tenant.
std::vector<std::string> labels_for(const Header& header);
std::string label_of(const std::string& tenant, const std::string& name, const std::string& value);

// What a family's changes come to.
void add_changes(const ForkTree& family, const std::vector<PgLog>& before,
                 std::vector<PgCall>& calls);

// Bodies of the family that no entry names any more. Right only while all its heads are held:
// whoever appends holds the head of its log when it names a body.
PgCall remove_unused_bodies(const LogId& root);

// ---- transactions -------------------------------------------------------------------------------

// Rolls back when it goes, unless it was committed.
class PgTransaction {
public:
    explicit PgTransaction(PgConnection& connection) : connection_(connection) {}
    ~PgTransaction();
    PgTransaction(const PgTransaction&) = delete;
    PgTransaction& operator=(const PgTransaction&) = delete;

    // The first run begins it.
    Result<std::vector<PgTable>> run(std::vector<PgCall> calls);
    Result<PgTable> run(PgCall call);
    // Writes, then commits, in one pipeline.
    Result<std::vector<PgTable>> commit(std::vector<PgCall> calls);

private:
    PgConnection& connection_;
    bool open_ = false;
};

}  // namespace palimpsest
