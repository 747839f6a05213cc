#include "store/port_wire.h"

#include <iterator>

#include "store/port_fields.h"

namespace palimpsest {
namespace {

constexpr std::string_view names[] = {
    "head",       "head_of_log", "append",     "read",         "list",  "scrub",
    "erase",      "get_record",  "put_record", "list_records", "sweep", "check",
    "durability", "contents",    "backup",     "repair",
};
static_assert(std::size(names) == store_operation_count);

enum class Outcome : std::uint8_t { value = 0, error = 1 };

template <class... T>
std::string encode(const T&... values) {
    WireWriter out;
    out.byte(port_wire_version);
    FieldWriter write(out);
    write(values...);
    return out.take();
}

std::string error_reply(const Error& error) {
    return encode(Outcome::error, error);
}

template <class T>
std::string reply(const Result<T>& result) {
    return result ? encode(Outcome::value, *result) : error_reply(result.error());
}
std::string reply(const Result<void>& result) {
    return result ? encode(Outcome::value) : error_reply(result.error());
}

// Reads the arguments, then calls `perform` with them.
template <class... T, class Perform>
std::string serve(std::string_view request, Perform perform) {
    WireReader in(request);
    std::tuple<T...> arguments;
    const bool known = in.byte() == port_wire_version;
    FieldReader read(in);
    if (known) std::apply([&](T&... values) { read(values...); }, arguments);
    if (!known || !read.done())
        return error_reply({ErrorCode::invalid_request,
                            "this request to the store cannot be read; is another version of the "
                            "program running?"});
    return reply(std::apply(perform, arguments));
}

}  // namespace

std::string_view operation_name(StoreOperation operation) {
    return names[static_cast<std::size_t>(operation)];
}

std::optional<StoreOperation> operation_by_name(std::string_view name) {
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (names[i] == name) return static_cast<StoreOperation>(i);
    return std::nullopt;
}

std::string serve_operation(Store& store, StoreOperation operation, std::string_view request) {
    switch (operation) {
        case StoreOperation::head:
            return serve<ConversationId>(request, [&](auto& name) { return store.head(name); });
        case StoreOperation::head_of_log:
            return serve<LogId>(request, [&](auto& log) { return store.head(log); });
        case StoreOperation::append:
            return serve<ConversationId, Batch>(
                request, [&](auto& name, auto& batch) { return store.append(name, batch); });
        case StoreOperation::read:
            return serve<LogId, ReadQuery>(
                request, [&](auto& log, auto& query) { return store.read(log, query); });
        case StoreOperation::list:
            return serve<ListQuery>(request, [&](auto& query) { return store.list(query); });
        case StoreOperation::scrub:
            return serve<std::vector<Replacement>>(request,
                                                   [&](auto& all) { return store.scrub(all); });
        case StoreOperation::erase:
            return serve<ConversationId>(request, [&](auto& name) { return store.erase(name); });
        case StoreOperation::get_record:
            return serve<RecordKey>(request, [&](auto& key) { return store.get_record(key); });
        case StoreOperation::put_record:
            return serve<RecordWrite>(request,
                                      [&](auto& write) { return store.put_record(write); });
        case StoreOperation::list_records:
            return serve<RecordQuery>(request,
                                      [&](auto& query) { return store.list_records(query); });
        case StoreOperation::sweep:
            return serve<std::uint64_t>(request, [&](auto limit) { return store.sweep(limit); });
        case StoreOperation::check:
            return serve<std::vector<std::string>>(
                request, [&](auto& tenants) { return store.check(tenants); });
        case StoreOperation::durability:
            return serve<>(request, [&] { return Result<Durability>(store.durability()); });
        case StoreOperation::contents:
            return serve<>(request, [&] { return store.contents(); });
        case StoreOperation::backup:
            return serve<std::string>(request, [&](auto& path) { return store.backup(path); });
        case StoreOperation::repair:
            return serve<std::vector<std::string>>(
                request, [&](auto& tenants) { return store.repair(tenants); });
    }
    return error_reply({ErrorCode::invalid_request, "the store has no such operation"});
}

std::string encode_request(const std::string& path) {
    return encode(path);
}
std::string encode_request(const ConversationId& name) {
    return encode(name);
}
std::string encode_request(const LogId& log) {
    return encode(log);
}
std::string encode_request(const ConversationId& name, const Batch& batch) {
    return encode(name, batch);
}
std::string encode_request(const LogId& log, const ReadQuery& query) {
    return encode(log, query);
}
std::string encode_request(const ListQuery& query) {
    return encode(query);
}
std::string encode_request(const std::vector<Replacement>& replacements) {
    return encode(replacements);
}
std::string encode_request(const RecordKey& key) {
    return encode(key);
}
std::string encode_request(const RecordWrite& write) {
    return encode(write);
}
std::string encode_request(const RecordQuery& query) {
    return encode(query);
}
std::string encode_request(std::uint64_t limit) {
    return encode(limit);
}
std::string encode_request(const std::vector<std::string>& tenants) {
    return encode(tenants);
}
std::string encode_request() {
    return encode();
}

template <class T>
Result<T> decode_reply(std::string_view reply) {
    WireReader in(reply);
    FieldReader read(in);
    const bool known = in.byte() == port_wire_version;
    Outcome outcome = Outcome::value;
    read(outcome);
    if (known && outcome == Outcome::error) {
        Error error;
        read(error);
        if (read.done() && static_cast<std::size_t>(error.code) < error_table().size())
            return std::unexpected(std::move(error));
    } else if (known && outcome == Outcome::value) {
        if constexpr (std::is_void_v<T>) {
            if (read.done()) return {};
        } else {
            T value{};
            read(value);
            if (read.done()) return value;
        }
    }
    return fail(ErrorCode::internal,
                "the running server's answer cannot be read; is it another version of the program? "
                "Restart it");
}

template Result<void> decode_reply(std::string_view);
template Result<Header> decode_reply(std::string_view);
template Result<Appended> decode_reply(std::string_view);
template Result<std::vector<Entry>> decode_reply(std::string_view);
template Result<Page> decode_reply(std::string_view);
template Result<Receipt> decode_reply(std::string_view);
template Result<Record> decode_reply(std::string_view);
template Result<std::vector<Record>> decode_reply(std::string_view);
template Result<std::uint64_t> decode_reply(std::string_view);
template Result<CheckReport> decode_reply(std::string_view);
template Result<Durability> decode_reply(std::string_view);
template Result<Contents> decode_reply(std::string_view);

}  // namespace palimpsest
