// The store port as bytes: each operation's arguments and its result, for RemoteStore and the
// server's internal route. Versioned: another version is refused, never guessed.
//
// A request is `version, arguments`; a reply is `version, 0, result` or `version, 1, error`. Entry
// bodies are as in core/codec.h, so a body that is stored and one that travels are the same bytes.
// Both sides are the same program on one machine; the layout is no promise to anybody else.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

constexpr std::uint8_t port_wire_version = 2;

// One name for each operation of the port, as it stands in the route.
enum class StoreOperation : std::uint8_t {
    head,
    head_of_log,
    append,
    read,
    list,
    scrub,
    erase,
    get_record,
    put_record,
    list_records,
    sweep,
    check,
    durability,
    contents,
    backup,
    repair,
};
constexpr std::size_t store_operation_count = 16;
std::string_view operation_name(StoreOperation operation);
std::optional<StoreOperation> operation_by_name(std::string_view name);

// Performs the operation that `request` holds and gives the reply's bytes. A request that cannot
// be read is invalid_request, as a reply: nothing was done.
std::string serve_operation(Store& store, StoreOperation operation, std::string_view request);

// For each operation: its arguments to bytes, and its reply from bytes. A reply that cannot be
// read is `internal`.
std::string encode_request(const ConversationId& name);
std::string encode_request(const LogId& log);
std::string encode_request(const ConversationId& name, const Batch& batch);
std::string encode_request(const LogId& log, const ReadQuery& query);
std::string encode_request(const ListQuery& query);
std::string encode_request(const std::vector<Replacement>& replacements);
std::string encode_request(const RecordKey& key);
std::string encode_request(const RecordWrite& write);
std::string encode_request(const RecordQuery& query);
std::string encode_request(std::uint64_t limit);
std::string encode_request(const std::string& path);
std::string encode_request(const std::vector<std::string>& tenants);
std::string encode_request();

// T is one of the port's result types: Header, Appended, std::vector<Entry>, Page, Receipt,
// Record, std::vector<Record>, std::uint64_t, CheckReport, Durability, Contents; or void.
template <class T>
Result<T> decode_reply(std::string_view reply);

}  // namespace palimpsest
