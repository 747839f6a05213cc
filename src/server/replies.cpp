// replies: what the functions of routes have in common when they read bodies and write answers.
#include <cmath>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/pass_parameters.h"
#include "core/policy.h"
#include "engine/present.h"
#include "palimpsest/format.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

LogId as_log_id(Fingerprint fingerprint) {
    LogId id;
    for (std::size_t i = 0; i < 8; ++i) {
        id.bytes[i] = static_cast<std::uint8_t>(fingerprint.high >> (56 - 8 * i));
        id.bytes[8 + i] = static_cast<std::uint8_t>(fingerprint.low >> (56 - 8 * i));
    }
    return id;
}

std::string generated_id(const Call& call) {
    if (call.key.empty()) return "conv_" + hex(random_log_id());
    Hasher hasher;
    hasher.field(call.site.tenant);
    hasher.field(call.route.pattern);
    hasher.field(call.ids.empty() ? std::string_view() : call.ids[0]);
    hasher.field(call.key);
    return "conv_" + hex(as_log_id(hasher.digest()));
}

// Absent: it stays; null: it is cleared.
std::optional<std::string> text_or_cleared(const Call& call, std::string_view name) {
    const std::optional<JsonValue> value = call.json ? call.json->root().find(name) : std::nullopt;
    if (!value) return {};
    return value->is_null() ? std::string() : std::string(value->string());
}

// null: for ever; a number: seconds; a text: "24h".
Result<std::optional<Duration>> read_ttl(JsonValue value) {
    if (value.is_null()) return std::optional<Duration>();
    if (!value.is_string()) return std::optional(Duration(std::chrono::seconds(*value.integer())));
    Result<Duration> ttl = parse_duration(value.string());
    if (!ttl) return fail(ErrorCode::invalid_request, ttl.error().message, "ttl");
    return std::optional(*ttl);
}

bool is_same(const Error& one, const Error& other) {
    return one.code == other.code && one.param == other.param && one.message == other.message;
}

// What is said of the policy by whoever reads it, of itself.
bool is_of_policy(const Error& error, const Call& call, std::string_view policy) {
    const auto size = check_policy_size(policy);
    if (!size && is_same(size.error(), error)) return true;
    const auto read = parse_policy(policy, call.site.memory.shared_options().extensions);
    return !read && is_same(read.error(), error);
}

// Whether it is the value of that field of the body that was refused, or a member of it.
bool is_about(const Error& error, const Call& call, std::string_view field) {
    const auto value = call.field(field);
    if (!value) return false;
    const bool has_it = value->is_object() && value->find(error.param);
    if (error.code == ErrorCode::budget_unreachable) return has_it;
    if (field == "parameters") return false;
    if (error.code == ErrorCode::forbidden) return has_it;
    return error.code == ErrorCode::invalid_request && is_of_policy(error, call, value->raw());
}

}  // namespace

Result<FormatId> format_of(const Call& call) {
    const std::optional<std::string> name = call.text("format");
    return name ? parse_format_name(*name) : FormatId::openai_chat;
}

Result<ConversationId> new_name(const Call& call, std::string_view field) {
    const std::optional<std::string> given = call.text(field);
    const ConversationId name{call.site.tenant, given ? *given : generated_id(call)};
    PAL_CHECK(check_id(name.id, field));
    return name;
}

std::map<std::string, std::string> labels_of(const Query& query) {
    constexpr std::string_view prefix = "metadata.";
    std::map<std::string, std::string> labels;
    for (const auto& [name, value] : query.all())
        if (name.starts_with(prefix)) labels.emplace(name.substr(prefix.size()), value);
    return labels;
}

Result<HeaderPatch> header_patch_of(const Call& call) {
    HeaderPatch patch{.owner = text_or_cleared(call, "owner"),
                      .title = text_or_cleared(call, "title"),
                      .system_prompt = text_or_cleared(call, "system_prompt")};
    if (const auto metadata = call.field("metadata")) patch.metadata_merge = metadata->raw();
    const std::optional<JsonValue> policy =
        call.json ? call.json->root().find("policy") : std::nullopt;
    if (policy) patch.policy = policy->is_null() ? std::string() : std::string(policy->raw());
    if (const auto ttl = call.json ? call.json->root().find("ttl") : std::nullopt) {
        PAL_TRY(value, read_ttl(*ttl));
        patch.ttl = value;
    }
    return patch;
}

Error blame(Error error, const Call& call, std::string_view param) {
    if (error.code == ErrorCode::unprocessable && error.param == "key" && !call.key.empty())
        error.param = "Idempotency-Key";
    for (const std::string_view field : {"parameters", "memory_strategy", "policy"})
        if (is_about(error, call, field)) {
            if (error.param == "policy") error.param.clear();  // all of it
            error = error_under(field, std::move(error));
            break;
        }
    if (error.code != ErrorCode::conflict || !error.param.empty()) return error;
    if (call.if_match) param = "If-Match";
    error.param = param;
    return error;
}

RouteReply header_reply(const Header& header) {
    RouteReply reply{.etag = header.end};
    JsonWriter out(reply.body);
    write_header(out, header);
    return reply;
}

RouteReply seq_reply(Seq seq) {
    return {.body = "{\"seq\":" + std::to_string(seq.value) + "}", .etag = seq};
}

}  // namespace palimpsest
