#include "server/replay.h"

#include "base/hash.h"
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

// One key space for each tenant, route and conversation.
RecordKey record_key(const Call& call) {
    const std::string_view id = call.ids.empty() ? std::string_view() : call.ids[0];
    return {.tenant = call.site.tenant,
            .space = "idempotency",
            .key = hash_of({call.route.method, call.route.pattern, id, call.key})};
}

std::string digest_of(const Call& call) {
    return hash_of({call.request.query, call.request.body});
}

// {"digest","seq"}
std::string write_kept(const Call& call, const Reply& reply) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("digest", digest_of(call)).key("seq");
    out.number(reply.etag.value_or(Seq{}).value).end_object();
    return text;
}

Result<Seq> read_kept(const Call& call, const std::string& text) {
    PAL_TRY(document, parse_json(text));
    const std::optional<JsonValue> digest = document.root().find("digest");
    const std::optional<JsonValue> seq = document.root().find("seq");
    if (!digest || !seq || !seq->integer())
        return fail(ErrorCode::internal, "what was kept of an idempotency key is unreadable");
    if (digest->string() != digest_of(call))
        return fail(ErrorCode::unprocessable,
                    "this Idempotency-Key came with another request before; use a new one",
                    "Idempotency-Key");
    return Seq{static_cast<std::uint64_t>(*seq->integer())};
}

}  // namespace

Result<Reply> answer_once(Call& call) {
    Store& store = call.site.memory.store();
    const Result<Record> kept = store.get_record(record_key(call));
    if (kept) {
        PAL_TRY(seq, read_kept(call, kept->value));
        PAL_TRY(reply, call.route.again(call, seq));
        reply.again = true;
        return std::move(reply);
    }
    if (kept.error().code != ErrorCode::not_found) return std::unexpected(kept.error());
    PAL_TRY(reply, call.route.function(call));
    // The write is done: that its outcome could not be kept, or that a twin of this request was
    // quicker, changes nothing for the client.
    (void)store.put_record({.key = record_key(call),
                            .value = write_kept(call, reply),
                            .expected = 0,
                            .ttl = kept_for});
    return reply;
}

}  // namespace palimpsest
