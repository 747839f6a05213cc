// Records on Redis: those of one tenant and space lie under one tag, and a write is one script. The
// version is drawn before it from a counter of the whole store; one that comes too late to be newer
// than what is there is drawn again.
#include <charconv>

#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/redis_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr int attempts_most = 200;
constexpr std::int64_t minute_ms = 60'000;
// Taken while memory is full, too: an erasure, which makes room, is written down in such a record
// before it happens.
constexpr std::size_t small_record_bytes = 4096;

std::string space_tag(const std::string& tenant, const std::string& space) {
    return "r/" + escaped(tenant) + "/" + escaped(space);
}

// "VERSION:EXPIRES:" and the value.
std::optional<Record> parse_record(RecordKey key, std::string_view text) {
    Record record{.key = std::move(key)};
    const std::size_t first = text.find(':');
    const std::size_t second = first == text.npos ? first : text.find(':', first + 1);
    if (second == text.npos) return std::nullopt;
    std::from_chars(text.data(), text.data() + first, record.version);
    std::int64_t expires = 0;
    if (second > first + 1) {
        std::from_chars(text.data() + first + 1, text.data() + second, expires);
        record.expires = time_of(expires);
    }
    record.value = text.substr(second + 1);
    return record;
}

}  // namespace

Result<Record> RedisStore::get_record(const RecordKey& key_) {
    PAL_CHECK(check_record(key_));
    const std::string r = key(space_tag(key_.tenant, key_.space), "r");
    PAL_TRY(reply, client_->run({.key = r, .words = {"HGET", r, key_.key}}));
    if (!reply.is_nil()) {
        PAL_TRY(now, server_time());
        auto record = parse_record(key_, reply.text);
        if (record && !(record->expires && *record->expires <= now)) return std::move(*record);
    }
    return fail(ErrorCode::not_found, "no record \"" + key_.key + "\" in " + key_.space);
}

Result<std::string> RedisStore::draw_version(bool also_when_full) {
    if (also_when_full) {
        static const std::string tag = "v";
        PAL_TRY(drawn, call({scripts_.draw, tag, {"v"}, {}, Effect::writes}));
        return drawn.at(1);
    }
    const std::string v = key("v", "v");
    PAL_TRY(drawn, client_->run({.key = v, .words = {"INCR", v}, .effect = Effect::writes}));
    return std::to_string(drawn.number);
}

Result<std::uint64_t> RedisStore::put_record(const RecordWrite& write) {
    PAL_CHECK(check_record(write));
    const std::string tag = space_tag(write.key.tenant, write.key.space);
    const bool small = !write.value || write.value->size() <= small_record_bytes;
    const RedisScript& script = small ? scripts_.put_small_record : scripts_.put_record;
    for (int i = 0; i < attempts_most; ++i) {
        PAL_TRY(version, draw_version(small));
        PAL_TRY(reply, call({script,
                             tag,
                             {"r", "z"},
                             {write.key.key, version,
                              write.expected ? std::to_string(*write.expected) : "",
                              write.ttl ? std::to_string(write.ttl->count()) : "",
                              write.value ? "set" : "remove", write.value.value_or("")},
                             Effect::writes}));
        if (reply.at(1) == "late") continue;
        if (reply.at(1) == "conflict")
            return fail(ErrorCode::conflict,
                        "record \"" + write.key.key + "\" has version " + reply.at(2) + ", not " +
                            std::to_string(write.expected.value_or(0)) + " as expected");
        if (write.value && write.ttl) {
            const std::int64_t now = std::strtoll(reply.at(2).c_str(), nullptr, 10);
            const std::string x = expiry_key(tag);
            const std::string minute = std::to_string((now + write.ttl->count()) / minute_ms + 1);
            (void)client_->run({.key = x,
                                .words = {"ZADD", x, "LT", minute, "r " + tag},
                                .effect = Effect::writes});
        }
        return std::strtoull(version.c_str(), nullptr, 10);
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

Result<std::vector<Record>> RedisStore::list_records(const RecordQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    PAL_CHECK(check_id(query.space, "space"));
    const std::string tag = space_tag(query.tenant, query.space);
    const bool resumed = !query.after.empty() && query.after >= query.prefix;
    const std::string from = resumed ? "(" + query.after : "[" + query.prefix;
    PAL_TRY(reply, call({scripts_.list_records,
                         tag,
                         {"r", "z"},
                         {query.prefix, from,
                          std::to_string(std::min<std::size_t>(query.limit, INT32_MAX))}}));
    std::vector<Record> found;
    for (std::size_t i = 2; i + 1 < reply.items.size(); i += 2)
        if (auto record = parse_record({query.tenant, query.space, reply.at(i)}, reply.at(i + 1)))
            found.push_back(std::move(*record));
    return found;
}

// Removes what has expired in one space and notes when to come back.
Result<void> RedisStore::prune(const std::string& in, const std::string& member, Time now) {
    const std::string tag = member.substr(2);
    PAL_TRY(reply, call({scripts_.prune_records, tag, {"r", "z"}, {}, Effect::writes}));
    if (!reply.at(2).empty()) {
        const std::int64_t next = std::strtoll(reply.at(2).c_str(), nullptr, 10) / minute_ms;
        return come_back_at(in, member, std::max(next, ms_of(now) / minute_ms) + 1);
    }
    PAL_CHECK(client_->run({.key = in, .words = {"ZREM", in, member}, .effect = Effect::writes}));
    return {};
}

}  // namespace palimpsest
