// The store on a PostgreSQL server, which several of our servers may share.
//
// An append to a conversation that is there is one statement; everything else is a short
// transaction that holds row locks: a header is changed by whoever holds its head, the tree of a
// family by whoever holds the head of its root. What people decide (rules.h, fork_tree.h) is
// decided here, not in SQL. Tables: postgres_schema.cpp.
#pragma once
#include <memory>

#include "palimpsest/store.h"
#include "store/connection_pool.h"
#include "store/postgres_connection.h"
#include "store/postgres_rows.h"

namespace palimpsest {

class PostgresStore : public Store {
public:
    struct Options {
        PgOptions connection = {};
        std::optional<Duration> ttl = {};  // of conversations that bring none
        Clock clock = {};                  // empty: the server's
        bool create = true;
    };
    static Result<std::unique_ptr<PostgresStore>> open(Options options);

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
    Result<std::size_t> sweep(std::size_t limit) override;
    Durability durability() const override { return durability_; }
    // Also what rows of one table say against those of another; repair() gives a log back its head,
    // its name and its family, and writes anew what listings go by.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Result<CheckReport> repair(std::span<const std::string> tenants) override;
    Result<Contents> contents() override;
    Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants) override;

    // The one that appends to a conversation that is there; benchmarks hand it to pgbench.
    static const PgStatement& append_statement();

private:
    explicit PostgresStore(Options options);
    PgNow now() const;
    // A read is repeated once on another connection when the first one turns out to be dead; all of
    // it in the time that the options give, or in that which a long one needs.
    Result<std::vector<PgTable>> ask(const std::vector<PgCall>& calls);
    Result<std::vector<PgTable>> ask(const std::vector<PgCall>& calls,
                                     std::chrono::milliseconds within);
    Result<PgTable> ask(const PgCall& call);
    // Runs `attempt` until it gives something: nothing means that another was faster.
    template <class T>
    using Attempt = std::function<Result<std::optional<T>>(PgConnection&)>;
    template <class T>
    Result<T> retry(const Attempt<T>& attempt) {
        PAL_TRY(connection, pool_.borrow());
        for (int i = 0; i < attempts_most; ++i) {
            Result<std::optional<T>> done = attempt(*connection);
            if (done && *done) return std::move(**done);
            if (!done && !another_was_faster(*connection)) return std::unexpected(done.error());
        }
        return fail(ErrorCode::unavailable, "others were faster every time; try again");
    }
    static constexpr int attempts_most = 64;
    // Nothing was written, and the same may succeed now.
    static bool another_was_faster(const PgConnection& connection);

    Result<void> learn_durability(PgConnection& connection);
    Result<ForkTree> family_with(const LogId& root);
    Result<Header> living(const PgLog& log);

    // append
    struct Pending;
    Result<std::optional<Appended>> append_at_once(const ConversationId& name, const Batch& batch,
                                                   const PgEntries& entries);
    Result<std::optional<Appended>> append_locked(PgConnection& connection, Pending& pending);
    Result<std::optional<Appended>> change(PgTransaction& transaction, Pending& pending,
                                           const PgLog& found);
    Result<std::optional<Appended>> make(PgTransaction& transaction, Pending& pending);
    Result<void> check_parent(PgTransaction& transaction, const Pending& pending, PgLog& fresh);

    // Removes a log that has expired; false: it has not, or is gone.
    Result<bool> settle(PgConnection& connection, const LogId& log);
    Result<std::optional<Receipt>> erase_locked(PgConnection& connection,
                                                const ConversationId& name);
    struct Removable {
        LogId log = {}, root = {};
        bool torn = false;
        std::vector<LogId> body_roots = {};  // others under which it may have bodies
    };
    Result<std::optional<Removable>> find_removable(PgTransaction& transaction,
                                                    const ConversationId& name);
    struct Held;
    // Nothing: the family is gone.
    Result<std::optional<Held>> hold_family(PgTransaction& transaction, const LogId& root);
    Result<std::optional<bool>> scrub_locked(PgConnection& connection,
                                             std::span<const Replacement> replacements);
    Result<Page> list_forks(const ListQuery& query);

    // checking
    Result<PgTable> ask_long(const PgCall& call);
    Result<CheckReport> check_tables(std::span<const std::string> tenants, bool repair);
    Result<void> check_heads(const std::optional<std::string>& tenant, bool repair,
                             CheckReport& report);
    Result<void> check_names(const std::optional<std::string>& tenant, bool repair,
                             CheckReport& report);
    Result<void> check_orphans(const std::optional<std::string>& tenant, CheckReport& report);
    Result<void> check_roots(const std::optional<std::string>& tenant, bool repair,
                             CheckReport& report);
    Result<void> check_kept(const std::optional<std::string>& tenant, bool repair,
                            CheckReport& report);
    // Of a log without a name what no fork shares. Nothing: begin again.
    Result<std::optional<bool>> remove_kept(PgConnection& connection, const LogId& root,
                                            const LogId& log);
    Result<void> mend_counts(const std::optional<std::string>& tenant, CheckReport& report);
    Result<void> set_root(const LogId& log, const LogId& wrong, const LogId& right);
    Result<void> check_listings(const std::optional<std::string>& tenant, bool repair,
                                CheckReport& report);
    Result<void> write_header_anew(const LogId& log);

    Options options_;
    Durability durability_;
    ConnectionPool<PgConnection> pool_;
};

}  // namespace palimpsest
