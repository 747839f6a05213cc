// Parameters and results of PostgreSQL in its binary form, as values of ours.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/types.h"

struct pg_result;

namespace palimpsest {

// The parameters of one call, in the order of $1, $2, ... Statements cast each to its type.
class PgParams {
public:
    PgParams& bytes(std::string_view value);  // text and bytea
    PgParams& maybe_bytes(const std::optional<std::string>& value);
    PgParams& integer(std::int64_t value);  // bigint
    PgParams& number(std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); }
    PgParams& maybe(std::optional<std::int64_t> value) { return value ? integer(*value) : null(); }
    PgParams& seq(Seq value) { return number(value.value); }
    PgParams& boolean(bool value);
    PgParams& uid(const LogId& value);  // uuid
    PgParams& null();
    PgParams& integers(std::span<const std::optional<std::int64_t>> values);          // bigint[]
    PgParams& byte_strings(std::span<const std::optional<std::string_view>> values);  // bytea[]
    PgParams& uids(std::span<const LogId> values);                                    // uuid[]

    std::size_t count() const { return values_.size(); }
    const char* value(std::size_t i) const { return values_[i] ? values_[i]->data() : nullptr; }
    int length(std::size_t i) const {
        return values_[i] ? static_cast<int>(values_[i]->size()) : 0;
    }

private:
    std::vector<std::optional<std::string>> values_;
};

// The rows that one call gave.
class PgTable {
public:
    explicit PgTable(pg_result* result);
    std::size_t rows() const;
    bool is_null(std::size_t row, int column) const;
    std::string_view bytes(std::size_t row, int column) const;  // as long as the table lives
    std::int64_t integer(std::size_t row, int column) const;    // of any width, and booleans
    std::uint64_t number(std::size_t row, int column) const {
        return static_cast<std::uint64_t>(integer(row, column));
    }
    std::optional<std::int64_t> maybe(std::size_t row, int column) const;
    LogId uid(std::size_t row, int column) const;
    std::size_t changed() const;  // rows that an INSERT, UPDATE or DELETE touched

private:
    std::shared_ptr<pg_result> result_;
};

}  // namespace palimpsest
