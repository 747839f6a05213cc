#include "server/reply_name.h"

#include "base/ids.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr Duration kept_for = std::chrono::hours(24);

RecordKey key_of(const Site& site, const Begun& begun) {
    return {.tenant = site.tenant,
            .space = "reply_names",
            .key = hex(begun.log) + "/" + std::to_string(begun.turn.value)};
}

}  // namespace

void keep_reply_name(Site& site, const Begun& begun, std::string_view body) {
    const auto reply = parse_json(body);
    if (!reply) return;
    std::string name;
    JsonWriter out(name);
    out.begin_object();
    for (const std::string_view field : {"id", "model", "created"})
        if (const auto value = reply->root().find(field)) out.key(field).raw(value->raw());
    out.end_object();
    (void)site.memory.store().put_record(
        {.key = key_of(site, begun), .value = std::move(name), .ttl = kept_for});
}

std::string kept_reply_name(Site& site, const Begun& begun) {
    auto record = site.memory.store().get_record(key_of(site, begun));
    return record ? std::move(record->value) : std::string();
}

}  // namespace palimpsest
