// One connection to a PostgreSQL server: calls go out as a pipeline of prepared statements with
// binary parameters, and every wait has an end.
//
// Invariants: what was sent and has no complete answer leaves the connection broken, and a broken
// connection is never used again. An error says whether something may have been written: a lost
// connection is `outcome_unknown` where the calls commit, `unavailable` where they do not.
#pragma once
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "store/postgres_values.h"

struct pg_conn;

namespace palimpsest {

// Prepared under its name on each connection that uses it; the name "" is never prepared.
struct PgStatement {
    std::string name = {};
    std::string sql = {};
};
struct PgCall {
    const PgStatement& statement;
    PgParams params = {};
};

struct PgOptions {
    std::string url = {};     // as libpq reads it
    std::string schema = {};  // of the tables; empty: the role's search path
    int connect_timeout_ms = 5'000;
    int timeout_ms = 10'000;  // of one pipeline
    std::size_t connections = 16;
};

// Whether the calls make their effects last by themselves, without a later COMMIT.
enum class Commits : std::uint8_t { no, yes };

class PgConnection {
public:
    static Result<std::unique_ptr<PgConnection>> open(const PgOptions& options,
                                                      std::chrono::milliseconds within);
    ~PgConnection();
    PgConnection(const PgConnection&) = delete;
    PgConnection& operator=(const PgConnection&) = delete;

    // All calls are sent before the first answer is waited for. Without BEGIN among them they are
    // one transaction.
    Result<std::vector<PgTable>> run(std::span<const PgCall> calls, Commits commits);
    Result<PgTable> run(const PgCall& call, Commits commits);
    // In another time than the options say.
    Result<std::vector<PgTable>> run(std::span<const PgCall> calls, Commits commits,
                                     std::chrono::milliseconds within);

    // The SQLSTATE of the last error that the server reported; empty: it reported none.
    const std::string& sqlstate() const { return sqlstate_; }
    bool is_broken() const { return broken_; }
    // True if nothing has come since the last answer, not even the end.
    bool is_quiet() const;

private:
    struct Answers;
    explicit PgConnection(int timeout_ms) : timeout_ms_(timeout_ms) {}
    Result<void> connect(const PgOptions& options, std::chrono::milliseconds within);
    Result<void> send(std::span<const PgCall> calls, Answers& answers);
    Result<void> flush(Answers& answers);
    Result<pg_result*> next_result(Answers& answers);
    Result<void> collect(Answers& answers);
    std::unexpected<Error> lost(const Answers& answers, std::string why);
    Error error_of(const pg_result* result, Commits commits);
    std::string failure() const;

    std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_{nullptr, nullptr};
    std::set<std::string> prepared_;
    std::string sqlstate_;
    int timeout_ms_;
    bool broken_ = false;
};

}  // namespace palimpsest
