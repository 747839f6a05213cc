#include "server/replay.h"

#include "base/hash.h"
#include "base/ids.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr Duration kept_for = std::chrono::hours(24);

std::string hex_of(Fingerprint fingerprint) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const std::uint64_t half : {fingerprint.high, fingerprint.low})
        for (int shift = 60; shift >= 0; shift -= 4) out += digits[(half >> shift) & 15U];
    return out;
}

std::string hash_of(std::initializer_list<std::string_view> fields) {
    Hasher hasher;
    for (const std::string_view field : fields) hasher.field(field);
    return hex_of(hasher.digest());
}

// One key space for each tenant and route; for each conversation where the keys are of its turns.
RecordKey record_key(const Call& call, std::string_view conversation = {}) {
    const std::string_view own = call.route.own_key ? conversation : std::string_view();
    return {.tenant = call.site.tenant,
            .space = "idempotency",
            .key = own.empty() ? hash_of({call.route.method, call.route.pattern, call.key})
                               : hash_of({call.route.method, call.route.pattern, call.key, own})};
}

// Of all that the request says: what its path names, its query, and every field of its body but
// `stream`, which says how the answer comes and not what is done.
std::string digest_of(const Call& call) {
    Hasher hasher;
    for (const std::string& id : call.ids) hasher.field(id);
    hasher.field(call.request.query);
    if (call.json)
        for (const JsonMember member : call.json->root().members()) {
            if (member.key == "stream") continue;
            hasher.field(member.key);
            hasher.field(member.value.raw());
        }
    return hex_of(hasher.digest());
}

// {"digest","seq","log"}; "log" only where the request wrote in a conversation.
std::string write_kept(const Call& call, Seq seq, const std::optional<LogId>& log) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("digest", digest_of(call)).key("seq").number(seq.value);
    if (log) out.field("log", hex(*log));
    out.end_object();
    return text;
}

// What is known of the first time.
struct First {
    std::string digest = {};
    Seq seq = {};
    std::optional<LogId> log = {};
};

Result<First> read_kept(const std::string& text) {
    PAL_TRY(document, parse_json(text));
    const std::optional<JsonValue> digest = document.root().find("digest");
    const std::optional<JsonValue> seq = document.root().find("seq");
    const std::optional<JsonValue> log = document.root().find("log");
    if (!digest || !seq || !seq->integer())
        return fail(ErrorCode::internal, "what was kept of an idempotency key is unreadable");
    First first{.digest = std::string(digest->string()),
                .seq = Seq{static_cast<std::uint64_t>(*seq->integer())}};
    if (log) first.log = parse_log_id(log->string());
    return first;
}

// None: this is the first time.
Result<std::optional<First>> find_kept(const Call& call, std::string_view conversation = {}) {
    const Result<Record> kept = call.site.memory.store().get_record(record_key(call, conversation));
    if (kept) {
        PAL_TRY(first, read_kept(kept->value));
        return std::optional(std::move(first));
    }
    if (kept.error().code != ErrorCode::not_found) return std::unexpected(kept.error());
    return std::optional<First>();
}

Result<void> check_same(const Call& call, const First& first) {
    if (first.digest == digest_of(call)) return {};
    return fail(ErrorCode::unprocessable,
                "this Idempotency-Key came with another request before; use a new one",
                "Idempotency-Key");
}

// The store's key went with the log: carried out again, a repeat would bring it back.
Result<void> check_still_there(const Call& call, const First& first) {
    if (!first.log) return {};
    const Result<Header> header = call.site.memory.store().head(*first.log);
    const bool absent = !header && header.error().code == ErrorCode::not_found;
    if (!header && !absent) return std::unexpected(header.error());
    if (header && !header->name.id.empty()) return {};
    return fail(ErrorCode::not_found,
                "the conversation that the first request with this Idempotency-Key wrote in was "
                "erased or has expired since, and a repeat does not bring it back; say it anew "
                "with a new key",
                "Idempotency-Key");
}

// The log that a request without `again` wrote in, where its path names the conversation. A
// conversation that is gone already has none, as after any erase.
std::optional<LogId> log_written(const Call& call) {
    if (call.route.again || !call.route.tells_end || call.ids.empty()) return {};
    const Result<Header> header = call.site.memory.head(call.name());
    return header ? header->log : LogId{};
}

}  // namespace

// The write is done: that its outcome could not be kept, or that a twin of this request was
// quicker, changes nothing for the client.
void keep_request(const Call& call, Seq seq, const std::optional<LogId>& log,
                  std::string_view conversation) {
    (void)call.site.memory.store().put_record({.key = record_key(call, conversation),
                                               .value = write_kept(call, seq, log),
                                               .expected = 0,
                                               .ttl = kept_for});
}

Result<void> check_not_erased(const Call& call, std::string_view conversation) {
    PAL_TRY(first, find_kept(call, conversation));
    return first ? check_still_there(call, *first) : Result<void>();
}

Result<RouteReply> answer_once(Call& call) {
    PAL_TRY(first, find_kept(call));
    if (first) PAL_CHECK(check_same(call, *first));
    const bool replay = first && call.route.again;
    if (first && !replay) PAL_CHECK(check_still_there(call, *first));
    PAL_TRY(reply, replay ? call.route.again(call, first->seq) : call.route.function(call));
    // Without an end of a conversation no key of the store held anything back: it was done again.
    // A turn that was begun before may get its answer only now: chat itself says which.
    const bool held = replay || reply.etag;
    if (first && held && !call.route.streams) reply.again = true;
    if (!first) keep_request(call, reply.etag.value_or(Seq{}), log_written(call));
    return std::move(reply);
}

}  // namespace palimpsest
