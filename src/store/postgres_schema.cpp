#include "store/postgres_schema.h"

#include <iterator>
#include <vector>

namespace palimpsest {
namespace {

// Keys begin with the log, so that an engine that spreads rows over machines keeps a conversation
// together. Columns that every append changes are in no index: the minutes change once a minute,
// and a listing sorts inside of a minute by the exact time.
constexpr const char* first_tables[] = {
    R"sql(CREATE TABLE pal_name(
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, log uuid NOT NULL,
  PRIMARY KEY(tenant, id)))sql",
    R"sql(CREATE TABLE pal_log(
  log uuid PRIMARY KEY, root uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C",
  parent uuid, base bigint NOT NULL, base_basis bigint NOT NULL, base_messages bigint NOT NULL,
  owner bytea NOT NULL, title bytea NOT NULL, system_prompt bytea NOT NULL,
  metadata bytea NOT NULL, policy bytea NOT NULL, labels bytea[] NOT NULL,
  created bigint NOT NULL, revision bigint NOT NULL))sql",
    "CREATE INDEX pal_log_root ON pal_log(root)",
    "CREATE INDEX pal_log_created ON pal_log(tenant, created, log) WHERE id IS NOT NULL",
    "CREATE INDEX pal_log_owner ON pal_log(tenant, owner) WHERE id IS NOT NULL",
    "CREATE INDEX pal_log_labels ON pal_log USING gin(labels) WHERE id IS NOT NULL",
    R"sql(CREATE TABLE pal_head(
  log uuid PRIMARY KEY, tenant text COLLATE "C" NOT NULL, named boolean NOT NULL,
  last bigint NOT NULL, basis bigint NOT NULL, messages bigint NOT NULL, epoch bigint NOT NULL,
  revision bigint NOT NULL, ttl bigint,
  updated bigint NOT NULL, accessed bigint NOT NULL, expires bigint,
  updated_minute bigint NOT NULL, accessed_minute bigint NOT NULL, expires_minute bigint)
  WITH (fillfactor = 50))sql",
    "CREATE INDEX pal_head_updated ON pal_head(tenant, updated_minute) WHERE named",
    "CREATE INDEX pal_head_accessed ON pal_head(tenant, accessed_minute) WHERE named",
    "CREATE INDEX pal_head_expires ON pal_head(expires_minute) WHERE expires_minute IS NOT NULL",
    R"sql(CREATE TABLE pal_entry(
  log uuid NOT NULL, seq bigint NOT NULL, kind smallint NOT NULL, at bigint NOT NULL,
  ordinal bigint NOT NULL, meta bytea NOT NULL, payload bytea, PRIMARY KEY(log, seq)))sql",
    "CREATE INDEX pal_entry_kind ON pal_entry(log, kind, seq) WHERE kind > 0",
    R"sql(CREATE TABLE pal_once(
  log uuid NOT NULL, key bytea NOT NULL, digest bytea NOT NULL,
  first bigint NOT NULL, last bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY(log, key)))sql",
    "CREATE INDEX pal_once_at ON pal_once(at)",
    R"sql(CREATE TABLE pal_record(
  tenant text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, key bytea NOT NULL,
  version bigint NOT NULL, expires bigint, value bytea NOT NULL,
  PRIMARY KEY(tenant, space, key)))sql",
    "CREATE INDEX pal_record_expires ON pal_record(expires) WHERE expires IS NOT NULL",
    "CREATE SEQUENCE pal_record_version",
};
// Bodies of one family of forks lie together; nothing else is shared.
constexpr const char* body_tables[] = {
    R"sql(CREATE TABLE pal_body(
  root uuid NOT NULL, hash bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY(root, hash)))sql",
    "ALTER TABLE pal_entry ADD COLUMN shared bytea",
    "CREATE INDEX pal_entry_shared ON pal_entry(log, shared) WHERE shared IS NOT NULL",
};
// Whoever takes away asks whether another family has a fork of what goes.
constexpr const char* parent_index[] = {
    "CREATE INDEX pal_log_parent ON pal_log(parent) WHERE parent IS NOT NULL",
};
// Step n brings tables of version n to version n + 1. Only ever append.
struct Migration {
    const char* const* statements;
    std::size_t count;
};
// Step 1 is empty: with version 2 the metas got sums, and nothing older was ever released.
constexpr Migration migrations[] = {{first_tables, std::size(first_tables)},
                                    {nullptr, 0},
                                    {body_tables, std::size(body_tables)},
                                    {parent_index, std::size(parent_index)}};
static_assert(std::size(migrations) == postgres_schema_version);

Result<void> execute(PgConnection& connection, const std::string& sql) {
    const PgStatement statement{"", sql};
    PAL_CHECK(connection.run(PgCall{statement}, Commits::no));
    return {};
}

// Two that make the same table at once: one of them is told that it exists.
Result<void> execute_unless_there(PgConnection& connection, const std::string& sql) {
    const Result<void> done = execute(connection, sql);
    const std::string& state = connection.sqlstate();
    if (done || state == "23505" || state == "42P07" || state == "42P06") return {};
    return done;
}

Result<void> make_version_row(PgConnection& connection, const PgOptions& options) {
    if (!options.schema.empty())
        PAL_CHECK(execute_unless_there(connection,
                                       "CREATE SCHEMA IF NOT EXISTS \"" + options.schema + "\""));
    PAL_CHECK(execute_unless_there(
        connection,
        "CREATE TABLE IF NOT EXISTS pal_schema(one boolean PRIMARY KEY, version bigint "
        "NOT NULL, CHECK(one))"));
    return execute(connection, "INSERT INTO pal_schema VALUES(true, 0) ON CONFLICT DO NOTHING");
}

std::unexpected<Error> not_ours(const std::string& table) {
    return fail(ErrorCode::invalid_request,
                "this PostgreSQL database has a table " + table +
                    " that is not ours: keep the store apart with ?schema=NAME in its URL. "
                    "Nothing was changed",
                "store");
}

Result<std::optional<std::int64_t>> version_of(PgConnection& connection, const std::string& rest) {
    const PgStatement statement{"", "SELECT version::bigint FROM pal_schema WHERE one" + rest};
    const Result<PgTable> found = connection.run(PgCall{statement}, Commits::no);
    const std::string& state = connection.sqlstate();
    if (!found && state == "42P01") return std::nullopt;  // no such table
    // Other columns, or values of other kinds.
    if (!found && state != "42501" && (state.starts_with("42") || state.starts_with("22")))
        return not_ours("pal_schema");
    if (!found) return std::unexpected(found.error());
    if (found->rows() == 0) return std::nullopt;
    return found->integer(0, 0);
}

// Tables or the like under our names where ours would be made.
Result<std::vector<std::string>> taken_names(PgConnection& connection) {
    const PgStatement statement{
        "",
        "SELECT relname::text FROM pg_catalog.pg_class WHERE relnamespace = "
        "pg_catalog.to_regnamespace(quote_ident(current_schema())) AND relname IN ("
        "'pal_name', 'pal_log', 'pal_head', 'pal_entry', 'pal_body', 'pal_once', 'pal_record', "
        "'pal_record_version') ORDER BY relname"};
    PAL_TRY(found, connection.run(PgCall{statement}, Commits::no));
    std::vector<std::string> names;
    for (std::size_t row = 0; row < found.rows(); ++row) names.emplace_back(found.bytes(row, 0));
    return names;
}

// Where there is no version there must be nothing of ours, unless another makes it right now: the
// version is written before the first table.
Result<void> check_names_are_free(PgConnection& connection) {
    constexpr std::size_t all_of_ours = 8;
    PAL_TRY(taken, taken_names(connection));
    if (taken.empty()) return {};
    PAL_TRY(version, version_of(connection, ""));
    if (version) return {};
    if (taken.size() < all_of_ours) return not_ours(taken.front());
    return fail(
        ErrorCode::internal,
        "the store in this PostgreSQL database is damaged: its tables are there, the row of "
        "pal_schema that tells their version is not. Where this program wrote to it last, "
        "make the table pal_schema(one boolean PRIMARY KEY, version bigint NOT NULL) if it "
        "is missing, and put the row back: INSERT INTO pal_schema VALUES(true, " +
            std::to_string(postgres_schema_version) + ")",
        "store");
}

Result<void> migrate(PgConnection& connection) {
    PAL_TRY(version, version_of(connection, " FOR UPDATE"));
    for (std::int64_t step = version.value_or(0); step < postgres_schema_version; ++step)
        for (std::size_t i = 0; i < migrations[step].count; ++i) {
            const Result<void> done = execute(connection, migrations[step].statements[i]);
            if (!done && connection.sqlstate() == "42P07") return not_ours("with one of our names");
            if (!done) return done;
        }
    return execute(connection, "UPDATE pal_schema SET version = greatest(version, " +
                                   std::to_string(postgres_schema_version) + ")");
}

}  // namespace

Result<void> prepare_postgres_schema(PgConnection& connection, const PgOptions& options,
                                     bool create) {
    PAL_TRY(version, version_of(connection, ""));
    if (!version) PAL_CHECK(check_names_are_free(connection));
    if (!version && !create)
        return fail(ErrorCode::not_found,
                    "there is no store in this PostgreSQL database" +
                        (options.schema.empty() ? "" : ", in the schema " + options.schema) +
                        ": `pal append` or `pal serve` makes one; or name another in the setting "
                        "`store`");
    if (version && *version > postgres_schema_version)
        return fail(ErrorCode::invalid_request,
                    "the tables have schema version " + std::to_string(*version) +
                        ", this program knows versions up to " +
                        std::to_string(postgres_schema_version) + "; use a newer program");
    if (version == 1)
        return fail(ErrorCode::invalid_request,
                    "the tables have schema version 1, whose entries have no checksums; copy them "
                    "with the program that made them");
    if (version == postgres_schema_version) return {};
    if (!version) PAL_CHECK(make_version_row(connection, options));
    PAL_CHECK(execute(connection, "BEGIN"));
    const Result<void> done = migrate(connection);
    const Result<void> ended = execute(connection, done ? "COMMIT" : "ROLLBACK");
    return done ? ended : done;
}

}  // namespace palimpsest
