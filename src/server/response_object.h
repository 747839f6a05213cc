// response_object: the response object of OpenAI's Responses, as it is given, streamed and read
// again. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/error.h"
#include "palimpsest/stream.h"

namespace palimpsest {

struct ResponseState {
    std::string id = {};
    std::string conversation = {};  // empty: it is in none
    std::string model = {};
    std::int64_t created = 0, completed = 0;  // seconds
    std::string status = "in_progress";       // queued, completed, incomplete, failed, cancelled
    std::string reason = {};                  // why it is incomplete
    std::optional<Error> error = {};          // why it failed
    std::string fields = "{}";                // JSON object: what the request said, see echo_fields
    std::string instructions = {};            // JSON; empty: none
    std::string tools = "[]";                 // JSON
    std::vector<std::string> output = {};
    std::optional<ReplyUsage> usage = {};

    bool is_open() const { return status == "in_progress" || status == "queued"; }
};

// The fields of a request that its response shows again, but instructions and tools, which are kept
// elsewhere.
std::string echo_fields(JsonValue request);

std::string write_response(const ResponseState& response);

// An item of its output as it is shown: the last one of an answer that was cut is not whole.
std::string output_item(const ResponseState& response, std::size_t index);
// The item as one that is not whole, where its kind tells.
std::string incomplete_item(const std::string& item);

// How a reply's end is told.
struct ResponseEnd {
    std::string_view status = "completed", reason = {};
};
ResponseEnd response_end(const Reply& reply);

}  // namespace palimpsest
