// dialects: what a format needs of HTTP. One row for each format.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "palimpsest/format.h"

namespace palimpsest {

struct Dialect {
    FormatId format = {};
    std::string_view path;        // behind the endpoint's URL
    std::string_view usual_url;   // of the format's own provider
    std::string_view usual_key;   // the environment variable that holds its key
    std::string_view key_header;  // and what stands there in front of the key
    std::string_view key_prefix;
    std::string_view version_header;  // "": none
    std::string_view version;
    std::string_view list_field;     // of the request's body
    std::string_view limit_field;    // that a request must have; "": it may go without
    std::string_view cap_field;      // how many tokens an answer may take at most
    std::string_view stream_fields;  // what asks for a stream, with usage
    // Where a request names those that begin alike, for the provider's cache; "": nowhere.
    std::string_view cache_key_field = {};
    std::string_view embeddings_path = {};  // "": its servers have none
    std::string_view provider = "openai";   // whose format it is, in OpenTelemetry's words
    bool calls_need_tools = false;  // a request with calls in its messages must define tools
    bool cache_marks = false;  // a request says how far the cache reaches (format/cache_marks.h)
};
std::span<const Dialect> dialect_table();
const Dialect& dialect_of(FormatId format);

}  // namespace palimpsest
