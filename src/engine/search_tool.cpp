// The tool search_memory: a model asks its own conversation for what it does not see any more.
#include <algorithm>

#include "base/json.h"
#include "base/time.h"
#include "engine/recall.h"
#include "palimpsest/memory.h"
#include "palimpsest/search.h"
#include "search/message_text.h"

namespace palimpsest {
namespace {

constexpr std::size_t results_max = 20;
constexpr std::size_t answer_passage_bytes = 600;

}  // namespace

std::string search_tool(FormatId format) {
    constexpr std::string_view about =
        "Searches all of this conversation, also what was left out to save room. Gives the best "
        "places with their positions; the tool recall fetches whole messages by position.";
    constexpr std::string_view schema =
        R"({"type":"object","properties":{"query":{"type":"string","description":"words to )"
        R"(look for"},"limit":{"type":"integer","description":"how many places; 5 unless )"
        R"(given"}},"required":["query"]})";
    return function_tool(format, search_tool_name, about, schema);
}

std::string Memory::answer_search(const ConversationId& name, std::string_view arguments) {
    const auto document = parse_json(arguments);
    if (!document) return "Error: " + document.error().message;
    const auto query = document->root().find("query");
    if (!query || !query->is_string()) return "Error: query must be a string";
    const auto limit = document->root().find("limit");
    const std::int64_t wanted = limit ? limit->integer().value_or(5) : 5;
    SearchRequest request;
    request.tenant = name.tenant;
    request.conversation_id = name.id;
    request.query = query->string();
    request.limit = static_cast<std::size_t>(
        std::clamp<std::int64_t>(wanted, 1, static_cast<std::int64_t>(results_max)));
    request.for_model = true;
    const auto page = search(request);
    if (!page) return "Error: " + page.error().message;
    std::string text;
    for (const std::string& warning : page->warnings) text += "[" + warning + "]\n";
    if (page->hits.empty()) return text + "Nothing was found.";
    for (const SearchHit& hit : page->hits) {
        const std::string said = search_text(hit.message).text;
        text += "[seq " + std::to_string(hit.seq.value) + ", " +
                std::string(role_name(hit.message.shape.role)) + ", " + format_time(hit.at) + "]\n";
        text += said.size() <= answer_passage_bytes ? said : hit.snippet;
        text += "\n";
    }
    return text;
}

}  // namespace palimpsest
