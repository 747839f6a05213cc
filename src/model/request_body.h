// request_body: the bytes that a model's server is sent.
//
// Invariant: what comes out passes the validity rules of the format, or there is an error. The same
// request gives the same bytes, and unchanged messages keep theirs, so a provider's cache hits.
#pragma once
#include <string>
#include <string_view>

#include "model/dialects.h"
#include "palimpsest/model.h"

namespace palimpsest {

struct RequestBody {
    std::string json = {};
    std::vector<std::string> lost = {};  // what has no place in the format, one line each
    // What is sent otherwise than it is stored: what would have been refused, and what the format
    // has no place for, but for what every format loses (thoughts, marks).
    std::vector<std::string> repairs = {};
};

// Of a line "NAME: why" that conversion tells: whether it is what every other format loses, a
// model's own thoughts and what stands beside words. Not worth saying at each turn.
bool is_lost_by_nature(std::string_view line);

// `defaults` is a JSON object in the dialect's own format: fields that the request does not set.
// `output_tokens`: for a format that insists on a limit, if neither names one.
Result<RequestBody> write_model_request(const Dialect& dialect, std::string_view model,
                                        const ModelRequest& request, std::string_view defaults,
                                        std::uint32_t output_tokens, bool stream);

// What mending the request for a model of that format changes, in the words of `repairs`; nothing
// where it cannot be sent at all.
std::vector<std::string> repairs_of(FormatId format, std::string_view model,
                                    const ModelRequest& request);

// `body`, a whole request, with the fields of `defaults` that it does not have.
Result<std::string> with_defaults(std::string_view body, std::string_view defaults);

// `body`, an object with the messages in it, with what the provider's cache wants to know: a key or
// marks, by the dialect; left alone where it says so itself.
Result<std::string> with_cache_hints(const Dialect& dialect, std::string body,
                                     std::string_view cache_key, std::size_t behind_edit);

}  // namespace palimpsest
