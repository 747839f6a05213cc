#include "server/openapi.h"

#include <algorithm>
#include <vector>

#include "base/json_write.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

constexpr std::string_view key_about =
    "makes a repeat harmless for 24 h: it gets the first answer, of a conversation its header as "
    "it "
    "is now, and 404 once that was erased; another body is refused with 422";
constexpr std::string_view turn_key_about =
    "makes a repeat of a turn harmless for 24 h: it gets the first answer, and 404 once the "
    "conversation was erased; without a conversation the model is asked again";
constexpr std::string_view passed_key_about =
    "passed on to the model's server; a repeat asks it again";
constexpr std::string_view checked_key_about =
    "nothing is stored, so a repeat is carried out again; another body is refused with 422";
constexpr std::string_view conversation_about =
    "the conversation that this is a turn of; without it nothing is stored";
constexpr std::string_view if_match_about =
    "the seq that ETag gave: 409 when the conversation has moved";
constexpr std::string_view json_type = "application/json";
constexpr std::string_view stream_type = "text/event-stream";
constexpr std::string_view text_schema = R"({"type":"string"})";

constexpr std::string_view warnings_about =
    "what was lost, cut or left out to make the answer, where its body does not say so";
constexpr std::string_view etag_about =
    "the seq that the conversation ends with, for If-Match; not of a stream";
constexpr std::string_view request_id_about = "names this request in logs and traces";
constexpr std::string_view replayed_about =
    "true: told again to a repeat with the same Idempotency-Key, nothing was done anew";
constexpr std::string_view retry_about = "false: repeating this request as it is cannot help";
constexpr std::string_view named_about = "the conversation that this was a turn of, if any";
constexpr std::string_view search_mode = "mode";  // may need an embedder, which may fail

// See replay.h.
std::string_view key_about_of(const Route& route) {
    if (route.own_key) return route.named_by_header ? turn_key_about : passed_key_about;
    return route.again || route.tells_end || route.streams ? key_about : checked_key_about;
}

const Schema& find_schema(std::span<const Schema> schemas, std::string_view name) {
    return *std::ranges::find(schemas, name, &Schema::name);
}

std::string reference(std::string_view name, std::string_view kind = "schemas") {
    return R"({"$ref":"#/components/)" + std::string(kind) + "/" + std::string(name) + R"("})";
}

// "/a/{id}/b" -> post_a_id_b
std::string operation_id(const Route& route) {
    std::string id;
    for (const char c : route.method) id += static_cast<char>(c - 'A' + 'a');
    for (const char c : route.pattern) {
        if (c == '/' || c == '.') id += '_';
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') id += c;
    }
    return id;
}

struct OneParameter {
    std::string_view name, in, schema, about;
    bool required = false;
};

void write_parameter(JsonWriter& out, const OneParameter& row) {
    out.begin_object().field("name", row.name).field("in", row.in);
    out.key("required").boolean(row.required).field("description", row.about);
    out.key("schema").raw(row.schema).end_object();
}

void write_path_parameters(JsonWriter& out, std::string_view pattern) {
    for (std::size_t at = pattern.find('{'); at != pattern.npos; at = pattern.find('{', at + 1)) {
        const std::string_view name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
        write_parameter(out, {.name = name,
                              .in = "path",
                              .schema = text_schema,
                              .about = "percent-encoded; a slash in it as %2F",
                              .required = true});
    }
}

void write_parameters(JsonWriter& out, const Route& route) {
    out.key("parameters").begin_array();
    write_path_parameters(out, route.pattern);
    for (const Parameter& row : route.query)
        write_parameter(
            out, {.name = row.name, .in = "query", .schema = row.schema, .about = row.about});
    if (route.method == "POST")
        write_parameter(out, {.name = "Idempotency-Key",
                              .in = "header",
                              .schema = text_schema,
                              .about = key_about_of(route)});
    if (route.if_match)
        write_parameter(
            out,
            {.name = "If-Match", .in = "header", .schema = text_schema, .about = if_match_about});
    if (route.named_by_header)
        write_parameter(out, {.name = "X-Conversation-Id",
                              .in = "header",
                              .schema = text_schema,
                              .about = conversation_about});
    out.end_array();
}

void write_content(JsonWriter& out, const Route& route, std::string_view name,
                   std::span<const Schema> schemas) {
    const bool answer = name == route.reply;
    out.key("content").begin_object().key(answer ? route.type : json_type).begin_object();
    out.key("schema").raw(reference(name));
    out.key("example").raw(find_schema(schemas, name).example).end_object();
    if (route.streams && answer) {
        out.key(stream_type).begin_object().key("schema").raw(reference(route.events));
        out.key("example").raw(find_schema(schemas, route.events).example).end_object();
    }
    out.end_object();
}

void write_header(JsonWriter& out, std::string_view name, std::string_view about) {
    out.key(name).begin_object().field("description", about);
    out.key("schema").raw(text_schema).end_object();
}

// ---- errors -------------------------------------------------------------------------------------

std::string_view error_schema(ErrorShape shape) {
    return shape == ErrorShape::anthropic ? "AnthropicError" : "Error";
}

// "Error404", "AnthropicError404"
std::string error_name(ErrorShape shape, int status) {
    return std::string(error_schema(shape)) + std::to_string(status);
}

// By status, each once, in the order of the table.
std::vector<int> error_statuses() {
    std::vector<int> all;
    for (const ErrorInfo& row : error_table())
        if (std::ranges::find(all, row.http_status) == all.end()) all.push_back(row.http_status);
    return all;
}

bool takes(const Route& route, std::string_view parameter) {
    return std::ranges::find(route.query, parameter, &Parameter::name) != route.query.end();
}

// Whether a route can answer with that status.
bool can_fail_with(const Route& route, int status) {
    const bool open = route.scope == Scope::open, writes = route.method != "GET";
    switch (status) {
        case 401:
        case 403:
        case 429:
            return !open;
        case 404:
            return route.pattern.find('{') != route.pattern.npos || route.lane != Lane::quick ||
                   takes(route, "conversation_id");
        case 422:
            return writes || takes(route, search_mode) || route.reply == "View" ||
                   route.reply == "PastCall";
        case 409:
        case 507:
            return writes;
        case 502:
            return route.lane != Lane::quick || takes(route, search_mode);
        case 504:
            return writes || route.lane != Lane::quick;
        default:
            return true;
    }
}

std::string error_example(ErrorShape shape, const ErrorInfo& row) {
    return shape == ErrorShape::anthropic
               ? anthropic_error(row.http_status, row.meaning)
               : error_response({row.code, std::string(row.meaning)}).body;
}

void write_error_reply(JsonWriter& out, ErrorShape shape, int status) {
    std::string about, example;
    for (const ErrorInfo& row : error_table()) {
        if (row.http_status != status) continue;
        about +=
            (about.empty() ? "" : "; ") + std::string(row.name) + ": " + std::string(row.meaning);
        if (example.empty()) example = error_example(shape, row);
    }
    out.key(error_name(shape, status)).begin_object().field("description", about);
    out.key("headers").begin_object();
    write_header(out, "x-request-id", request_id_about);
    write_header(out, "x-should-retry", retry_about);
    if (status == 429 || status == 503)
        write_header(out, "Retry-After", "seconds until it may come again, where that is known");
    out.end_object();
    out.key("content").begin_object().key(json_type).begin_object();
    out.key("schema").raw(reference(error_schema(shape))).key("example").raw(example);
    out.end_object().end_object().end_object();
}

void write_error_replies(JsonWriter& out) {
    out.key("responses").begin_object();
    for (const ErrorShape shape : {ErrorShape::openai, ErrorShape::anthropic})
        for (const int status : error_statuses()) write_error_reply(out, shape, status);
    out.end_object();
}

// ---- routes -------------------------------------------------------------------------------------

void write_reply_headers(JsonWriter& out, const Route& route) {
    out.key("headers").begin_object();
    write_header(out, "x-request-id", request_id_about);
    if (route.scope == Scope::open) {
        out.end_object();
        return;
    }
    write_header(out, "x-warnings", warnings_about);
    if (route.method == "POST") write_header(out, "Idempotent-Replayed", replayed_about);
    if (route.tells_end) write_header(out, "ETag", etag_about);
    if (route.named_by_header) write_header(out, "X-Conversation-Id", named_about);
    out.end_object();
}

void write_responses(JsonWriter& out, const Route& route, std::span<const Schema> schemas) {
    out.key("responses").begin_object().key(std::to_string(route.status)).begin_object();
    out.field("description", route.summary);
    write_reply_headers(out, route);
    if (!route.reply.empty()) {
        write_content(out, route, route.reply, schemas);
    } else {
        out.key("content").begin_object().key(route.type).begin_object();
        out.end_object().end_object();
    }
    out.end_object();
    for (const int status : error_statuses())
        if (can_fail_with(route, status))
            out.key(std::to_string(status))
                .raw(reference(error_name(route.errors, status), "responses"));
    out.key("default").begin_object();
    out.field("description", "an error; its code is one of the error table's");
    write_content(out, route, error_schema(route.errors), schemas);
    out.end_object().end_object();
}

// Requests without a key are taken while the store has none.
constexpr std::string_view any_key = R"([{"bearer":[]},{"api_key":[]},{}])";
constexpr std::string_view key_schemes =
    R"({"bearer":{"type":"http","scheme":"bearer",)"
    R"("description":"a key that pal keys create made"},"api_key":{"type":"apiKey","in":"header",)"
    R"("name":"x-api-key","description":"the same, as Anthropic's clients send it"}})";

// The part of the path that says whose routes these are.
std::string_view tag_of(std::string_view pattern) {
    for (const std::string_view tag : {"api", "v1"})
        if (pattern.substr(1).starts_with(tag)) return tag;
    return "probes";
}

void write_route(JsonWriter& out, const Route& route, std::span<const Schema> schemas) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    out.key(method).begin_object().field("operationId", operation_id(route));
    out.field("summary", route.summary);
    out.key("tags").begin_array().string(tag_of(route.pattern)).end_array();
    if (route.scope == Scope::open) out.key("security").begin_array().end_array();
    write_parameters(out, route);
    if (!route.request.empty()) {
        out.key("requestBody").begin_object();
        write_content(out, route, route.request, schemas);
        out.end_object();
    } else if (route.body == BodyKind::bytes) {
        out.key("requestBody").begin_object().key("content").begin_object();
        out.key("application/octet-stream").begin_object().end_object().end_object().end_object();
    }
    write_responses(out, route, schemas);
    out.end_object();
}

// Every path that is for clients once, in the order in which the table names it first.
std::vector<std::string_view> paths_of(std::span<const Route> routes) {
    std::vector<std::string_view> paths;
    for (const Route& route : routes)
        if (!route.internal && std::ranges::find(paths, route.pattern) == paths.end())
            paths.push_back(route.pattern);
    return paths;
}

// The tables wrap long schemas; no string in them holds a line break.
std::string unwrapped(std::string_view json) {
    std::string out;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] == '\n')
            while (i + 1 < json.size() && json[i + 1] == ' ') ++i;
        else
            out += json[i];
    }
    return out;
}

}  // namespace

std::string write_openapi(std::span<const Route> routes, std::span<const Schema> schemas) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("openapi", "3.1.0").key("info").begin_object();
    out.field("title", "Palimpsest").field("version", "1");
    out.field("description", "Conversations that remember: keep every word, send what matters.");
    out.end_object().key("security").raw(any_key);
    out.key("paths").begin_object();
    for (const std::string_view path : paths_of(routes)) {
        out.key(path).begin_object();
        for (const Route& route : routes)
            if (route.pattern == path) write_route(out, route, schemas);
        out.end_object();
    }
    out.end_object().key("components").begin_object().key("schemas").begin_object();
    for (const Schema& schema : schemas) out.key(schema.name).raw(schema.json);
    out.end_object();
    write_error_replies(out);
    out.key("securitySchemes").raw(key_schemes).end_object().end_object();
    return unwrapped(body);
}

}  // namespace palimpsest
