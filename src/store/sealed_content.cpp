#include "store/sealed_content.h"

#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "core/codec.h"
#include "core/metadata.h"

namespace palimpsest {
namespace {

// Fields of the inner metadata: the sealed whole, and one for each label, under a digest.
constexpr std::string_view sealed_field = "pal.sealed";

std::string bound_to(const SealedPlace& place, std::string_view part) {
    return "entry " + hex(place.log) + " " + std::to_string(place.seq.value) + " " +
           std::to_string(static_cast<int>(place.kind)) + " " + std::string(part);
}

std::string bound_to(const LogId& log, std::string_view field) {
    return "header " + hex(log) + " " + std::string(field);
}

std::string bound_to(const RecordKey& key) {
    return "record " + key.tenant + "\x1f" + key.space + "\x1f" + key.key;
}

std::string label_name(const SealKey& store_key, const std::string& tenant,
                       const std::string& name) {
    return "k" + keyed_digest(store_key, "label of " + tenant, name);
}

std::string label_value(const SealKey& store_key, const std::string& tenant,
                        const std::string& name, const std::string& value) {
    return keyed_digest(store_key, "value of " + tenant + "\x1f" + name, value);
}

std::string owner_digest(const SealKey& store_key, const std::string& tenant,
                         const std::string& owner) {
    return owner.empty() ? "" : keyed_digest(store_key, "owner of " + tenant, owner);
}

// An empty text stays one: that nothing was written is no secret.
std::string seal_text(const SealKey& key, const LogId& log, std::string_view field,
                      const std::string& text) {
    return text.empty() ? "" : to_base64(seal(key, text, bound_to(log, field)));
}

Result<std::string> unseal_text(const SealKey& key, const LogId& log, std::string_view field,
                                std::string_view text) {
    if (text.empty()) return std::string();
    const auto bytes = from_base64(text);
    if (!bytes)
        return fail(ErrorCode::forbidden, "a sealed header was changed: it is not base64 any more");
    return unseal(key, *bytes, bound_to(log, field));
}

// Owner and metadata as one text: a JSON string, then the object.
std::string private_part(const Header& header) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("owner", header.owner).key("metadata").raw(header.metadata);
    json.end_object();
    return out;
}

Result<void> read_private_part(std::string_view text, Header& header) {
    PAL_TRY(document, parse_json(text));
    const auto owner = document.root().find("owner");
    const auto metadata = document.root().find("metadata");
    if (!owner || !metadata) return fail(ErrorCode::internal, "a sealed header does not decode");
    header.owner = owner->string();
    header.metadata = metadata->raw();
    return {};
}

}  // namespace

SealedEntry seal_body(const SealKey& key, const SealedPlace& place, const Body& body) {
    const EncodedBody encoded = encode_body(body);
    SealedEntry sealed{.kind = place.kind,
                       .meta = seal(key, encoded.meta, bound_to(place, "meta"))};
    if (encoded.payload)
        sealed.payload = make_bytes(seal(key, *encoded.payload, bound_to(place, "payload")));
    return sealed;
}

Result<Body> unseal_body(const SealKey& key, const SealedPlace& place, const Body& body) {
    const auto* sealed = std::get_if<SealedEntry>(&body);
    if (!sealed)
        return fail(ErrorCode::internal, "entry " + std::to_string(place.seq.value) + " of log " +
                                             hex(place.log) + " is not sealed");
    const auto name_it = [&](Error error) {
        error.message +=
            " (entry " + std::to_string(place.seq.value) + " of log " + hex(place.log) + ")";
        return std::unexpected(std::move(error));
    };
    auto meta = unseal(key, sealed->meta, bound_to(place, "meta"));
    if (!meta) return name_it(meta.error());
    Bytes payload;
    if (sealed->payload) {
        auto plain = unseal(key, *sealed->payload, bound_to(place, "payload"));
        if (!plain) return name_it(plain.error());
        payload = make_bytes(std::move(*plain));
    }
    return decode_body(place.kind, *meta, payload);
}

HeaderPatch seal_header(const SealKey& key, const SealKey& store_key, const Header& before,
                        const Header& after) {
    const std::string& tenant = after.name.tenant;
    HeaderPatch patch;
    patch.owner = owner_digest(store_key, tenant, after.owner);
    patch.title = seal_text(key, after.log, "title", after.title);
    patch.system_prompt = seal_text(key, after.log, "system_prompt", after.system_prompt);
    patch.policy = seal_text(key, after.log, "policy", after.policy);
    std::map<std::string, std::string> labels;
    for (const auto& [name, value] : labels_of(after.metadata))
        labels[label_name(store_key, tenant, name)] = label_value(store_key, tenant, name, value);
    std::string merge;
    JsonWriter json(merge);
    json.begin_object();
    for (const auto& [name, value] : labels_of(before.metadata))
        if (name != sealed_field && !labels.contains(name)) json.key(name).null();
    for (const auto& [name, value] : labels) json.field(name, value);
    json.field(sealed_field,
               to_base64(seal(key, private_part(after), bound_to(after.log, "metadata"))));
    json.end_object();
    patch.metadata_merge = merge;
    return patch;
}

bool is_blank(const Header& header) {
    return header.metadata == "{}" && header.title.empty() && header.system_prompt.empty() &&
           header.policy.empty() && header.owner.empty();
}

Result<Header> unseal_header(const SealKey& key, Header header) {
    PAL_TRY(title, unseal_text(key, header.log, "title", header.title));
    PAL_TRY(prompt, unseal_text(key, header.log, "system_prompt", header.system_prompt));
    PAL_TRY(policy, unseal_text(key, header.log, "policy", header.policy));
    header.title = title;
    header.system_prompt = prompt;
    header.policy = policy;
    header.owner.clear();
    const auto labels = labels_of(header.metadata);
    const auto sealed = labels.find(std::string(sealed_field));
    header.metadata = "{}";
    if (sealed == labels.end()) return header;
    PAL_TRY(text, unseal_text(key, header.log, "metadata", sealed->second));
    PAL_CHECK(read_private_part(text, header));
    return header;
}

ListQuery seal_query(const SealKey& store_key, ListQuery query) {
    if (query.owner) query.owner = owner_digest(store_key, query.tenant, *query.owner);
    std::map<std::string, std::string> filters;
    for (const auto& [name, value] : query.metadata)
        filters[label_name(store_key, query.tenant, name)] =
            label_value(store_key, query.tenant, name, value);
    query.metadata = std::move(filters);
    return query;
}

std::string seal_record(const SealKey& store_key, const RecordKey& key, std::string_view value) {
    return seal(store_key, value, bound_to(key));
}

Result<std::string> unseal_record(const SealKey& store_key, const RecordKey& key,
                                  std::string_view value) {
    return unseal(store_key, value, bound_to(key));
}

}  // namespace palimpsest
