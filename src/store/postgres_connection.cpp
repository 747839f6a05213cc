#include "store/postgres_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>

#include "net/stream.h"

namespace palimpsest {
namespace {

struct StateCode {
    std::string_view state;  // a SQLSTATE or the start of one
    ErrorCode code;
};
// The first that fits. What is not named here is `internal`: our statement was wrong.
constexpr StateCode state_codes[] = {
    {"23505", ErrorCode::conflict},     // unique_violation
    {"28", ErrorCode::unauthorized},    // invalid authorization
    {"42501", ErrorCode::forbidden},    // insufficient_privilege
    {"53100", ErrorCode::no_space},     // disk_full
    {"54", ErrorCode::too_large},       // program limit exceeded
    {"53", ErrorCode::unavailable},     // insufficient resources, too many connections
    {"40", ErrorCode::unavailable},     // serialization failure, deadlock
    {"57", ErrorCode::unavailable},     // shutdown, cancelled
    {"55", ErrorCode::unavailable},     // lock not available
    {"25006", ErrorCode::unavailable},  // read-only: this server is a standby now
    {"08", ErrorCode::unavailable},     // connection exception
};

ErrorCode code_of(std::string_view state) {
    const auto row = std::ranges::find_if(
        state_codes, [&](const StateCode& one) { return state.starts_with(one.state); });
    return row == std::end(state_codes) ? ErrorCode::internal : row->code;
}

// libpq ends its messages with a newline and may have several lines.
std::string one_line(std::string_view text) {
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    std::string line;
    for (const char c : text) {
        const bool space = c == '\n' || c == '\t' || c == ' ';
        if (!space || !line.ends_with(' ')) line += space ? ' ' : c;
    }
    return line;
}

bool is_sqlstate(std::string_view text) {
    constexpr std::string_view digits = "0123456789", all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return text.size() == 5 && text.find_first_not_of(all) == text.npos &&
           text.find_first_of(digits) != text.npos;  // "FATAL" is none
}

constexpr std::string_view read_only_advice =
    "; this server, or this user's sessions on it, only read: name the primary in the setting "
    "`store`, or allow writes there (default_transaction_read_only = off)";

// Why a server refused a connection. libpq gives the SQLSTATE only inside of the verbose text:
// "...FATAL: 28P01: password authentication failed... LOCATION: auth_failed, auth.c:335".
Error refusal_of(std::string text) {
    text.resize(std::min(text.find(" LOCATION: "), text.size()));
    std::string state;
    for (std::size_t at = text.find(": "); at != text.npos; at = text.find(": ", at + 2)) {
        const std::string_view word = std::string_view(text).substr(at + 2, 5);
        if (!is_sqlstate(word) || text.compare(at + 7, 2, ": ") != 0) continue;
        state = word;
        text.erase(at + 2, 7);
        break;
    }
    const std::string what = "cannot connect to PostgreSQL: " + text;
    if (state.starts_with("28") || text.find("no password supplied") != text.npos)
        return {ErrorCode::unauthorized,
                what +
                    "; give the right user and password in the setting `store`: "
                    "postgres://USER:PASSWORD@HOST/DATABASE",
                "store"};
    if (state == "3D000")
        return {ErrorCode::not_found,
                what + "; make it with createdb, or name another in the setting `store`", "store"};
    if (text.find("read-only") != text.npos)
        return {ErrorCode::unavailable, what + std::string(read_only_advice)};
    const bool unreached = state.empty() && text.find("Is the server running") != text.npos;
    return {ErrorCode::unavailable, what + (unreached ? " The setting `store` names it" : "")};
}

// What libpq cannot read is a fault of the setting. Its words may repeat the URL, which may hold a
// password.
Result<void> check_address(const std::string& url) {
    char* why = nullptr;
    PQconninfoOption* const read = ::PQconninfoParse(url.c_str(), &why);
    const bool good = read != nullptr;
    std::string text = why ? one_line(why) : "out of memory";
    ::PQconninfoFree(read);
    ::PQfreemem(why);
    if (good) return {};
    const std::size_t open = text.find('"'), close = text.rfind('"');
    if (close != open) {
        const std::string quoted = text.substr(open + 1, close - open - 1);
        const bool secret = quoted.find('@') != quoted.npos || url.find(quoted) < url.rfind('@');
        if (secret) text.erase(open, close + 1 - open);
    }
    return fail(ErrorCode::invalid_request, "postgres: the URL cannot be read: " + text, "store");
}

std::string_view field(const pg_result* result, int which) {
    const char* text = ::PQresultErrorField(result, which);
    return text ? text : "";
}

}  // namespace

// One pipeline on its way: what was sent, and what has come back.
struct PgConnection::Answers {
    Commits commits;
    Patience patience;
    std::vector<const PgStatement*> sent = {};  // a statement to prepare, or null for a call
    std::vector<PgTable> tables = {};
    bool any_sent = false;
};

Result<std::unique_ptr<PgConnection>> PgConnection::open(const PgOptions& options,
                                                         std::chrono::milliseconds within) {
    const auto until = std::chrono::steady_clock::now() + within;
    std::unique_ptr<PgConnection> made(new PgConnection(options.timeout_ms));
    PAL_CHECK(made->connect(options, within));
    // A client that hangs in a transaction must not hold its locks for ever.
    const PgStatement settings{
        "", options.schema.empty()
                ? "SELECT set_config('idle_in_transaction_session_timeout', '30s', false), "
                  "set_config('lock_timeout', $1::text, false)"
                : "SELECT set_config('idle_in_transaction_session_timeout', '30s', false), "
                  "set_config('lock_timeout', $1::text, false), "
                  "set_config('search_path', $2::text, false)"};
    PgCall call{settings};
    call.params.bytes(std::to_string(options.timeout_ms));
    if (!options.schema.empty()) call.params.bytes(options.schema);
    const std::chrono::nanoseconds left = until - std::chrono::steady_clock::now();
    PAL_CHECK(made->run(std::span(&call, 1), Commits::no,
                        std::chrono::ceil<std::chrono::milliseconds>(left)));
    return made;
}

PgConnection::~PgConnection() = default;

Result<void> PgConnection::connect(const PgOptions& options, std::chrono::milliseconds within) {
    // What the URL says comes after our own choices and wins.
    const std::array<const char*, 5> names = {"application_name", "tcp_user_timeout",
                                              "target_session_attrs", "dbname", nullptr};
    const std::string user_timeout = std::to_string(options.timeout_ms);
    const std::array<const char*, 5> values = {"palimpsest", user_timeout.c_str(), "read-write",
                                               options.url.c_str(), nullptr};
    PAL_CHECK(check_address(options.url));
    connection_ = {::PQconnectStartParams(names.data(), values.data(), 1), &::PQfinish};
    const auto refused = [&] { return std::unexpected(refusal_of(failure())); };
    if (!connection_ || ::PQstatus(connection_.get()) == CONNECTION_BAD) return refused();
    ::PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
    const std::int64_t most = std::min<std::int64_t>(options.connect_timeout_ms, within.count());
    const Patience patience(static_cast<int>(std::max<std::int64_t>(most, 1)), {});
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK) {
        if (state == PGRES_POLLING_FAILED) return refused();
        const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (patience.wait(::PQsocket(connection_.get()), events) != Patience::Outcome::ready)
            return fail(ErrorCode::unavailable, "cannot connect to PostgreSQL: timed out");
        state = ::PQconnectPoll(connection_.get());
    }
    // Notices are for people at a terminal.
    ::PQsetNoticeReceiver(connection_.get(), [](void*, const pg_result*) {}, nullptr);
    if (::PQsetnonblocking(connection_.get(), 1) != 0 ||
        ::PQenterPipelineMode(connection_.get()) != 1)
        return refused();
    ::PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
    return {};
}

std::string PgConnection::failure() const {
    return connection_ ? one_line(::PQerrorMessage(connection_.get())) : "out of memory";
}

bool PgConnection::is_quiet() const {
    pollfd waiting = {.fd = ::PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 0;
}

std::unexpected<Error> PgConnection::lost(const Answers& answers, std::string why) {
    broken_ = true;
    if (answers.commits == Commits::yes && answers.any_sent)
        return fail(ErrorCode::outcome_unknown,
                    "the connection to PostgreSQL was lost before its answer came (" + why +
                        "): repeat the call with the same key to find out what became of it");
    return fail(ErrorCode::unavailable, "the connection to PostgreSQL was lost: " + why);
}

Error PgConnection::error_of(const pg_result* result, Commits commits) {
    sqlstate_ = field(result, PG_DIAG_SQLSTATE);
    const std::string text = "PostgreSQL: " + std::string(field(result, PG_DIAG_MESSAGE_PRIMARY)) +
                             (sqlstate_.empty() ? "" : " (" + sqlstate_ + ")") +
                             (sqlstate_ == "25006" ? std::string(read_only_advice) : "");
    // The session ends. Whether that was before or after the commit nobody tells us.
    const std::string_view severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == "FATAL" || severity == "PANIC") {
        broken_ = true;
        if (commits == Commits::yes) return {ErrorCode::outcome_unknown, text};
        return {ErrorCode::unavailable, text};
    }
    if (sqlstate_ == "25006") broken_ = true;
    return {code_of(sqlstate_), text};
}

Result<void> PgConnection::flush(Answers& answers) {
    for (;;) {
        const int left = ::PQflush(connection_.get());
        if (left < 0) return lost(answers, failure());
        if (left == 0) return {};
        // The server may have to get rid of answers before it takes more.
        short seen = 0;
        if (answers.patience.wait(::PQsocket(connection_.get()), POLLIN | POLLOUT, &seen) !=
            Patience::Outcome::ready)
            return lost(answers, "timed out");
        if ((seen & POLLIN) != 0 && ::PQconsumeInput(connection_.get()) == 0)
            return lost(answers, failure());
    }
}

Result<void> PgConnection::send(std::span<const PgCall> calls, Answers& answers) {
    for (const PgCall& call : calls) {
        const PgStatement& statement = call.statement;
        const bool asked = std::ranges::any_of(answers.sent, [&](const PgStatement* one) {
            return one && one->name == statement.name;
        });
        const bool fresh = !statement.name.empty() && !asked && !prepared_.contains(statement.name);
        if (fresh) {
            if (::PQsendPrepare(connection_.get(), statement.name.c_str(), statement.sql.c_str(), 0,
                                nullptr) != 1)
                return lost(answers, failure());
            answers.sent.push_back(&statement);
        }
        const int count = static_cast<int>(call.params.count());
        std::vector<const char*> values;
        std::vector<int> lengths;
        const std::vector<int> formats(call.params.count(), 1);
        for (std::size_t i = 0; i < call.params.count(); ++i) {
            values.push_back(call.params.value(i));
            lengths.push_back(call.params.length(i));
        }
        const int sent =
            statement.name.empty()
                ? ::PQsendQueryParams(connection_.get(), statement.sql.c_str(), count, nullptr,
                                      values.data(), lengths.data(), formats.data(), 1)
                : ::PQsendQueryPrepared(connection_.get(), statement.name.c_str(), count,
                                        values.data(), lengths.data(), formats.data(), 1);
        answers.any_sent = true;
        if (sent != 1) return lost(answers, failure());
        answers.sent.push_back(nullptr);
    }
    if (::PQpipelineSync(connection_.get()) != 1) return lost(answers, failure());
    return flush(answers);
}

Result<pg_result*> PgConnection::next_result(Answers& answers) {
    while (::PQisBusy(connection_.get()) != 0) {
        if (answers.patience.wait(::PQsocket(connection_.get()), POLLIN) !=
            Patience::Outcome::ready)
            return lost(answers, "timed out");
        if (::PQconsumeInput(connection_.get()) == 0) return lost(answers, failure());
    }
    return ::PQgetResult(connection_.get());
}

// Reads to the sync point, also past an error, so that the connection can be used again.
Result<void> PgConnection::collect(Answers& answers) {
    std::optional<Error> error;
    for (std::size_t at = 0;;) {
        PAL_TRY(result, next_result(answers));
        if (!result) {
            if (::PQstatus(connection_.get()) == CONNECTION_BAD) return lost(answers, failure());
            ++at;
            continue;
        }
        PgTable table(result);
        const ExecStatusType status = ::PQresultStatus(result);
        if (status == PGRES_PIPELINE_SYNC) break;
        const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
        if (!good && !error && status != PGRES_PIPELINE_ABORTED)
            error = error_of(result, answers.commits);
        if (broken_) break;
        if (!good && ::PQstatus(connection_.get()) == CONNECTION_BAD)
            return lost(answers, failure());
        if (!good || at >= answers.sent.size()) continue;
        if (answers.sent[at]) prepared_.insert(answers.sent[at]->name);
        if (!answers.sent[at]) answers.tables.push_back(std::move(table));
    }
    if (error) return std::unexpected(std::move(*error));
    return {};
}

Result<std::vector<PgTable>> PgConnection::run(std::span<const PgCall> calls, Commits commits) {
    return run(calls, commits, std::chrono::milliseconds(timeout_ms_));
}

Result<std::vector<PgTable>> PgConnection::run(std::span<const PgCall> calls, Commits commits,
                                               std::chrono::milliseconds within) {
    if (broken_) return fail(ErrorCode::unavailable, "the connection to PostgreSQL was lost");
    const std::int64_t most = std::clamp<std::int64_t>(within.count(), 1, INT32_MAX);
    Answers answers{commits, Patience(static_cast<int>(most), {})};
    sqlstate_.clear();
    PAL_CHECK(send(calls, answers));
    PAL_CHECK(collect(answers));
    // Never less than was asked for, whatever a server that goes down has sent.
    if (answers.tables.size() != calls.size()) return lost(answers, "answers are missing");
    return std::move(answers.tables);
}

Result<PgTable> PgConnection::run(const PgCall& call, Commits commits) {
    PAL_TRY(tables, run(std::span(&call, 1), commits));
    return std::move(tables.front());
}

}  // namespace palimpsest
