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

// One key space for each tenant and route.
RecordKey record_key(const Call& call) {
    return {.tenant = call.site.tenant,
            .space = "idempotency",
            .key = hash_of({call.route.method, call.route.pattern, call.key})};
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

// {"digest","seq"}
std::string write_kept(const Call& call, Seq seq) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("digest", digest_of(call)).key("seq");
    out.number(seq.value).end_object();
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

// The seq of the first time; none: this is the first time.
Result<std::optional<Seq>> find_kept(Call& call) {
    const Result<Record> kept = call.site.memory.store().get_record(record_key(call));
    if (kept) {
        PAL_TRY(seq, read_kept(call, kept->value));
        return std::optional(seq);
    }
    if (kept.error().code != ErrorCode::not_found) return std::unexpected(kept.error());
    return std::optional<Seq>();
}

}  // namespace

// The write is done: that its outcome could not be kept, or that a twin of this request was
// quicker, changes nothing for the client.
void keep_request(Call& call, Seq seq) {
    (void)call.site.memory.store().put_record(
        {.key = record_key(call), .value = write_kept(call, seq), .expected = 0, .ttl = kept_for});
}

Result<RouteReply> answer_once(Call& call) {
    PAL_TRY(kept, find_kept(call));
    const bool replay = kept && call.route.again;
    PAL_TRY(reply, replay ? call.route.again(call, *kept) : call.route.function(call));
    // A turn that was begun before may get its answer only now: chat itself says which.
    if (kept && !call.route.streams) reply.again = true;
    if (!kept) keep_request(call, reply.etag.value_or(Seq{}));
    return std::move(reply);
}

}  // namespace palimpsest
