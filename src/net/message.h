// message: an HTTP request and an HTTP response as plain values, and the decoding of their targets.
//
// Invariant: nothing here trusts its input. Percent-encoding is decoded strictly (a broken escape
// is an error, never passed through), a path is split before it is decoded (so %2F cannot add a
// segment), and header values written by us cannot contain CR, LF or NUL (see wire.h).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

// Header fields in the order of the wire. Names compare without case.
class HttpHeaders {
public:
    struct Field {
        std::string name;
        std::string value;
    };

    // The value of the first field of that name; nothing if there is none.
    std::optional<std::string_view> find(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    void add(std::string name, std::string value);
    // Replaces every field of that name.
    void set(std::string_view name, std::string value);

    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }
    std::size_t size() const { return fields_.size(); }

private:
    std::vector<Field> fields_;
};

struct HttpRequest {
    std::string method;
    std::string target;  // as it came
    std::string path;    // of the target, still percent-encoded; always begins with '/' or is "*"
    std::string query;   // of the target, still percent-encoded, without '?'
    HttpHeaders headers;
    std::string body;
    std::string peer;  // address of the client, without port
    int minor_version = 1;

    std::string_view header(std::string_view name) const {
        return headers.find(name).value_or(std::string_view());
    }
};

// Not an aggregate: g++ 12 destroys aggregate temporaries twice inside co_await expressions.
struct HttpResponse {
    HttpResponse() {}
    explicit HttpResponse(int status_code, std::string content = {}, std::string_view type = {});

    int status = 200;
    HttpHeaders headers;
    std::string body;
};

HttpResponse json_response(int status, std::string body);
// {"error":{"type","code","message","param"}} with the names of the error table.
HttpResponse error_response(const Error& error);
// The same with another status than the table's (400, 408, 431 … are all `invalid_request`).
HttpResponse error_response(int status, const Error& error);

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

// Strict: fails on a broken escape and on an encoded NUL.
Result<std::string> percent_decode(std::string_view text);
std::string percent_encode(std::string_view text);
// name=value&…, '+' is a space. Fails like percent_decode.
Result<QueryParameters> parse_query(std::string_view query);
std::optional<std::string_view> find_parameter(const QueryParameters& parameters,
                                               std::string_view name);
// "/a/b%2Fc" -> {"a", "b/c"}; one trailing slash is ignored.
Result<std::vector<std::string>> path_segments(std::string_view path);

bool same_without_case(const char* a, const char* b, std::size_t size);
// Most names differ in their length already.
inline bool equal_without_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && same_without_case(a.data(), b.data(), a.size());
}

}  // namespace palimpsest
