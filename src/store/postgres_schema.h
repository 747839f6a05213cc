// The tables of the PostgreSQL store, and how they come to be. docs/FORMATS.md describes them.
#pragma once
#include "palimpsest/error.h"
#include "store/postgres_connection.h"

namespace palimpsest {

constexpr std::int64_t postgres_schema_version = 4;

// Brings the tables to this program's version, one process at a time: the row of pal_schema is
// locked meanwhile. not_found when there are none and `create` is false; invalid_request when they
// are newer; internal when the tables are there and their version is lost.
Result<void> prepare_postgres_schema(PgConnection& connection, const PgOptions& options,
                                     bool create);

}  // namespace palimpsest
