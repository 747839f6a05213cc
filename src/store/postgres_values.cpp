#include "store/postgres_values.h"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace palimpsest {
namespace {

// Types by their fixed numbers in every PostgreSQL (pg_type.dat).
constexpr std::uint32_t oid_int8 = 20, oid_bytea = 17, oid_uuid = 2950;

void put(std::string& out, std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
}

// The head of a one-dimensional array; elements follow as length and bytes.
std::string array_of(std::uint32_t type, std::size_t count, bool nulls) {
    std::string out;
    put(out, count == 0 ? 0 : 1, 4);
    put(out, nulls ? 1 : 0, 4);
    put(out, type, 4);
    if (count == 0) return out;
    put(out, count, 4);
    put(out, 1, 4);
    return out;
}

void put_element(std::string& out, std::string_view bytes) {
    put(out, bytes.size(), 4);
    out.append(bytes);
}

constexpr std::uint64_t null_length = 0xffffffff;

std::string_view view_of(const LogId& log) {
    return {reinterpret_cast<const char*>(log.bytes.data()), log.bytes.size()};
}

}  // namespace

PgParams& PgParams::bytes(std::string_view value) {
    values_.emplace_back(value);
    return *this;
}

PgParams& PgParams::maybe_bytes(const std::optional<std::string>& value) {
    return value ? bytes(std::string_view(*value)) : null();
}

PgParams& PgParams::integer(std::int64_t value) {
    put(values_.emplace_back(std::in_place).value(), static_cast<std::uint64_t>(value), 8);
    return *this;
}

PgParams& PgParams::boolean(bool value) {
    values_.emplace_back(std::string(1, value ? '\1' : '\0'));
    return *this;
}

PgParams& PgParams::uid(const LogId& value) {
    return bytes(view_of(value));
}

PgParams& PgParams::null() {
    values_.emplace_back(std::nullopt);
    return *this;
}

PgParams& PgParams::integers(std::span<const std::optional<std::int64_t>> values) {
    const bool nulls = std::ranges::any_of(values, [](const auto& value) { return !value; });
    std::string out = array_of(oid_int8, values.size(), nulls);
    for (const auto& value : values) {
        put(out, value ? 8 : null_length, 4);
        if (value) put(out, static_cast<std::uint64_t>(*value), 8);
    }
    values_.emplace_back(std::move(out));
    return *this;
}

PgParams& PgParams::byte_strings(std::span<const std::optional<std::string_view>> values) {
    const bool nulls = std::ranges::any_of(values, [](const auto& value) { return !value; });
    std::string out = array_of(oid_bytea, values.size(), nulls);
    std::size_t size = out.size();
    for (const auto& value : values) size += 4 + (value ? value->size() : 0);
    out.reserve(size);
    for (const auto& value : values) {
        if (!value) put(out, null_length, 4);
        if (value) put_element(out, *value);
    }
    values_.emplace_back(std::move(out));
    return *this;
}

PgParams& PgParams::uids(std::span<const LogId> values) {
    std::string out = array_of(oid_uuid, values.size(), false);
    for (const LogId& value : values) put_element(out, view_of(value));
    values_.emplace_back(std::move(out));
    return *this;
}

PgTable::PgTable(pg_result* result) : result_(result, ::PQclear) {}

std::size_t PgTable::rows() const {
    return static_cast<std::size_t>(::PQntuples(result_.get()));
}

bool PgTable::is_null(std::size_t row, int column) const {
    return ::PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
}

std::string_view PgTable::bytes(std::size_t row, int column) const {
    const int at = static_cast<int>(row);
    return {::PQgetvalue(result_.get(), at, column),
            static_cast<std::size_t>(::PQgetlength(result_.get(), at, column))};
}

std::int64_t PgTable::integer(std::size_t row, int column) const {
    const std::string_view raw = bytes(row, column);
    std::uint64_t value = 0;
    for (const char byte : raw) value = value << 8U | static_cast<unsigned char>(byte);
    if (raw.size() == 2) return static_cast<std::int16_t>(value);
    if (raw.size() == 4) return static_cast<std::int32_t>(value);
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> PgTable::maybe(std::size_t row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return integer(row, column);
}

LogId PgTable::uid(std::size_t row, int column) const {
    LogId log;
    const std::string_view raw = bytes(row, column);
    if (raw.size() == log.bytes.size()) std::memcpy(log.bytes.data(), raw.data(), raw.size());
    return log;
}

std::size_t PgTable::changed() const {
    const std::string_view text = ::PQcmdTuples(result_.get());
    std::size_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

}  // namespace palimpsest
