#include "server/router.h"

#include <algorithm>
#include <charconv>

#include "base/json_write.h"
#include "base/utf8.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

constexpr std::size_t key_bytes_max = 255;
// No id of ours or of a provider is near it; what an id may be made of is for its route to say.
constexpr std::size_t path_id_bytes_max = 4096;

bool is_name(std::string_view segment) {
    return segment.starts_with('{');
}

// The next segment of a pattern, which is taken off it.
std::string_view next_segment(std::string_view& pattern) {
    pattern.remove_prefix(1);  // the slash
    const std::string_view segment = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(segment.size());
    return segment;
}

// How well the pattern fits: 0 not at all, else more for every fixed word. Every request is held
// against every pattern, so nothing is copied here.
std::size_t fit(std::string_view pattern, const std::vector<std::string>& segments) {
    if (pattern == "/") pattern = {};
    std::size_t fixed = 1;
    for (const std::string& segment : segments) {
        if (pattern.empty()) return 0;
        const std::string_view wanted = next_segment(pattern);
        if (is_name(wanted)) continue;
        if (wanted != segment) return 0;
        ++fixed;
    }
    return pattern.empty() ? fixed : 0;
}

// Whether the words before its first name are the path's too: most patterns end here.
bool begins_like(std::string_view pattern, std::string_view path) {
    for (std::size_t i = 0; i < pattern.size() && pattern[i] != '{'; ++i)
        if (i >= path.size() || path[i] != pattern[i]) return false;
    return true;
}

std::vector<std::string> named(std::string_view pattern, const std::vector<std::string>& segments) {
    std::vector<std::string> ids;
    for (const std::string& segment : segments)
        if (is_name(next_segment(pattern))) ids.push_back(segment);
    return ids;
}

std::unexpected<Error> bad(std::string message, std::string param) {
    return fail(ErrorCode::invalid_request, std::move(message), std::move(param));
}

Result<void> check_lengths(const RouteMatch& match) {
    for (const std::string& id : match.ids)
        if (id.size() > path_id_bytes_max)
            return bad("an id in the path has " + std::to_string(id.size()) + " bytes; at most " +
                           std::to_string(path_id_bytes_max) + " are read",
                       "id");
    return {};
}

// ---- query --------------------------------------------------------------------------------------

const Parameter* find_row(const Route& route, std::string_view name) {
    for (const Parameter& row : route.query) {
        if (row.name == name) return &row;
        if (row.name.ends_with('*') && name.starts_with(row.name.substr(0, row.name.size() - 1)))
            return &row;
    }
    return nullptr;
}

std::string known_parameters(const Route& route) {
    std::string names;
    for (const Parameter& row : route.query) {
        if (!names.empty()) names += ", ";
        names += row.name;
    }
    return names.empty() ? "it takes none" : "known are: " + names;
}

// The text of a parameter as JSON, by the type that its schema wants.
std::string as_json(std::string_view value, std::string_view type) {
    if (type == "boolean" && (value == "1" || value == "0")) return value == "1" ? "true" : "false";
    if ((type == "integer" || type == "boolean") && parse_json(value)) return std::string(value);
    return json_string(value);
}

Result<Query> read_query(const Route& route, const SchemaSet& schemas, std::string_view text) {
    PAL_TRY(parameters, parse_query(text));
    for (const auto& [name, value] : parameters) {
        const Parameter* row = find_row(route, name);
        if (!row) return bad("unknown query parameter; " + known_parameters(route), name);
        const auto same = [&](const auto& other) { return other.first == name; };
        const bool listed = name.ends_with("[]");  // How the official clients write lists.
        if (!listed && std::ranges::count_if(parameters, same) > 1)
            return bad("'" + name + "' is given twice", name);
        if (!is_utf8(value)) return bad("'" + name + "' is not valid UTF-8", name);
        const std::string json = as_json(value, schemas.type_of(row->schema));
        PAL_TRY(document, parse_json(json));
        PAL_CHECK(schemas.check_text(row->schema, document.root(), name));
    }
    return Query(std::move(parameters));
}

// ---- headers ------------------------------------------------------------------------------------

Result<std::string> read_key(const Route& route, const HttpRequest& request) {
    const std::optional<std::string_view> key = request.headers.find("Idempotency-Key");
    if (!key || route.method != "POST") return std::string();
    const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
    if (key->empty() || key->size() > key_bytes_max || !std::ranges::all_of(*key, printable))
        return bad("Idempotency-Key must be 1 to 255 visible ASCII characters", "Idempotency-Key");
    return std::string(*key);
}

// 12, "12" or W/"12".
std::optional<Seq> parse_etag(std::string_view text) {
    if (text.starts_with("W/")) text.remove_prefix(2);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    Seq seq;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seq.value);
    const bool whole = fault == std::errc{} && end == text.data() + text.size();
    return whole && seq <= seq_max ? std::optional(seq) : std::nullopt;
}

Result<std::optional<Seq>> read_if_match(const Route& route, const HttpRequest& request) {
    const std::optional<std::string_view> text = request.headers.find("If-Match");
    if (!text) return std::optional<Seq>();
    if (!route.if_match)
        return bad("this route cannot honour If-Match; docs/SERVER.md says which do", "If-Match");
    const std::optional<Seq> seq = parse_etag(*text);
    if (!seq) return bad("If-Match must be the seq that ETag gave, as 12 or \"12\"", "If-Match");
    return seq;
}

// ---- body ---------------------------------------------------------------------------------------

bool is_json_type(std::string_view type) {
    const std::size_t end = type.find_first_of("; \t");
    return equal_without_case(type.substr(0, end), "application/json");
}

constexpr std::string_view empty_body = "{}";

// The lists of a request, and those one level below, in objects or in items: messages, input,
// tools, and their content; what a policy lists.
Result<void> check_items(JsonValue value, std::size_t most, int levels) {
    for (const JsonMember& member : value.members()) {
        if (member.value.is_object() && levels > 1)
            PAL_CHECK(check_items(member.value, most, levels - 1));
        if (!member.value.is_array()) continue;
        if (member.value.size() > most)
            return fail(ErrorCode::too_large,
                        "a list has " + std::to_string(member.value.size()) + " items; at most " +
                            std::to_string(most) + " are read at once",
                        std::string(member.key));
        if (levels == 1) continue;
        for (const JsonValue item : member.value.elements())
            PAL_CHECK(check_items(item, most, levels - 1));
    }
    return {};
}

// Clients that always send JSON send an empty object.
bool says_nothing(const HttpRequest& request) {
    if (request.body.empty()) return true;
    if (request.method != "POST") return false;
    const auto document = parse_json(request.body);
    return document && document->root().is_object() && document->root().size() == 0;
}

Result<std::optional<JsonDocument>> read_body(const Route& route, const SchemaSet& schemas,
                                              const BodyLimits& limits,
                                              const HttpRequest& request) {
    if (route.body == BodyKind::bytes) return std::optional<JsonDocument>();
    if (route.request.empty()) {
        if (!says_nothing(request)) return bad("this route takes no body", "");
        return std::optional<JsonDocument>();
    }
    if (!request.body.empty() && !is_json_type(request.header("Content-Type")))
        return bad("Content-Type must be application/json", "Content-Type");
    const std::string_view text = request.body.empty() ? empty_body : request.body;
    PAL_TRY(document, parse_json(text, {.depth = limits.depth}));
    PAL_CHECK(check_items(document.root(), limits.items, 2));
    PAL_CHECK(schemas.check(route.request, document.root()));
    return std::optional(std::move(document));
}

// Most requests are for a path without an id: no pattern fits it better than the path itself.
const Route* find_exact(std::span<const Route> table, std::string_view method,
                        std::string_view path) {
    const auto found = std::ranges::find_if(
        table, [&](const Route& route) { return route.pattern == path && route.method == method; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace

Result<RouteMatch> match_route(std::span<const Route> table, std::string_view method,
                               std::string_view path) {
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    const bool plain = path.starts_with('/') && path.find_first_of("%{") == path.npos;
    RouteMatch match;
    match.route = plain ? find_exact(table, wanted, path) : nullptr;
    if (match.route) return match;
    PAL_TRY(segments, path_segments(path));
    std::size_t best = 0;
    for (const Route& route : table) {
        if (plain && !begins_like(route.pattern, path)) continue;
        const std::size_t fits = fit(route.pattern, segments);
        if (fits == 0) continue;
        if (!match.allow.empty()) match.allow += ", ";
        match.allow += route.method;
        if (route.method != wanted || fits <= best) continue;
        best = fits;
        match.route = &route;
        match.ids = named(route.pattern, segments);
    }
    return match;
}

HttpResponse no_route(const RouteMatch& match, std::string_view method, std::string_view path) {
    if (match.allow.empty())
        return write_edge_error(
            404, {ErrorCode::not_found, "no such path; /openapi.json lists them all"}, path);
    HttpResponse response = write_edge_error(
        405,
        {ErrorCode::invalid_request,
         "this path does not take " + std::string(method) + "; it takes " + match.allow},
        path);
    response.headers.set("Allow", match.allow);
    return response;
}

Result<Call> read_call(Site& site, const SchemaSet& schemas, const BodyLimits& limits,
                       RouteMatch match, const HttpRequest& request) {
    const Route& route = *match.route;
    PAL_CHECK(check_lengths(match));
    PAL_TRY(query, read_query(route, schemas, request.query));
    PAL_TRY(key, read_key(route, request));
    PAL_TRY(if_match, read_if_match(route, request));
    PAL_TRY(json, read_body(route, schemas, limits, request));
    return Call{.site = site,
                .route = route,
                .request = request,
                .ids = std::move(match.ids),
                .query = std::move(query),
                .json = std::move(json),
                .key = std::move(key),
                .if_match = if_match};
}

}  // namespace palimpsest
