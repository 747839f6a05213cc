#include "core/metadata.h"

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

Result<JsonDocument> read_object(std::string_view text, std::string_view what) {
    auto document = parse_json(text);
    if (!document)
        return fail(ErrorCode::invalid_request,
                    std::string(what) + " is not JSON: " + document.error().message, "metadata");
    if (!document->root().is_object())
        return fail(ErrorCode::invalid_request, std::string(what) + " must be a JSON object",
                    "metadata");
    return document;
}

}  // namespace

Result<std::string> merge_metadata(std::string_view old, std::string_view patch) {
    PAL_TRY(before, read_object(old, "the stored metadata"));
    PAL_TRY(changes, read_object(patch, "metadata"));
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    for (const JsonMember member : before.root().members())
        if (!changes.root().find(member.key)) writer.key(member.key).raw(member.value.raw());
    for (const JsonMember member : changes.root().members())
        if (!member.value.is_null()) writer.key(member.key).raw(member.value.raw());
    writer.end_object();
    if (out.size() > metadata_bytes_max)
        return fail(ErrorCode::too_large,
                    "the metadata would have " + std::to_string(out.size()) + " bytes, at most " +
                        std::to_string(metadata_bytes_max) +
                        " are kept; store large values as messages",
                    "metadata");
    return out;
}

std::map<std::string, std::string> labels_of(std::string_view metadata) {
    std::map<std::string, std::string> labels;
    const auto document = parse_json(metadata);
    if (!document) return labels;
    for (const JsonMember member : document->root().members()) {
        const JsonValue value = member.value;
        if (value.is_object() || value.is_array() || value.is_null()) continue;
        labels.emplace(member.key, value.is_string() ? value.string() : value.raw());
    }
    return labels;
}

Result<void> apply_patch(Header& header, const HeaderPatch& patch) {
    if (patch.empty()) return {};
    std::string metadata = header.metadata;
    if (patch.metadata_merge) {
        PAL_TRY(merged, merge_metadata(header.metadata, *patch.metadata_merge));
        metadata = std::move(merged);
    }
    header.metadata = std::move(metadata);
    if (patch.owner) header.owner = *patch.owner;
    if (patch.title) header.title = *patch.title;
    if (patch.system_prompt) header.system_prompt = *patch.system_prompt;
    if (patch.policy) header.policy = *patch.policy;
    if (patch.ttl) header.ttl = *patch.ttl;
    ++header.revision;
    return {};
}

}  // namespace palimpsest
