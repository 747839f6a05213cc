// The tool search_memory: a model asks its own conversation for what it does not see any more.
#include <algorithm>

#include "base/json.h"
#include "base/time.h"
#include "core/recollect.h"
#include "engine/recall.h"
#include "engine/state.h"
#include "palimpsest/memory.h"
#include "palimpsest/search.h"
#include "search/message_text.h"

namespace palimpsest {
namespace {

constexpr std::size_t results_max = 20;
constexpr std::int64_t results = 5;  // unless a number is given
constexpr std::size_t answer_passage_bytes = 600;
constexpr ToolArgument search_arguments[] = {{"query"}, {"limit", true}};
constexpr std::string_view search_usage =
    R"(search_memory takes {"query": text, "limit": number from 1 to 20})";

std::string warnings_of(const SearchPage& page) {
    std::string text;
    for (const std::string& warning : page.warnings) text += "[" + warning + "]\n";
    return text;
}

}  // namespace

std::string search_tool(FormatId format) {
    constexpr std::string_view about =
        "Searches what was said earlier in this conversation and was left out to save room. Gives "
        "the best places with their positions; the tool recall fetches whole messages by position.";
    constexpr std::string_view schema =
        R"({"type":"object","properties":{"query":{"type":"string","description":"words to )"
        R"(look for"},"limit":{"type":"integer","description":"how many places; 5 unless )"
        R"(given"}},"required":["query"]})";
    return function_tool(format, search_tool_name, about, schema);
}

std::string Memory::answer_search(const ConversationId& name, std::string_view arguments) {
    const auto document = read_arguments(arguments, search_arguments, search_usage);
    if (!document) return "Error: " + document.error().message;
    const auto query = document->root().find("query");
    if (!query || !query->is_string() || query->string().empty())
        return "Error: 'query' is missing; " + std::string(search_usage);
    const auto limit = document->root().find("limit");
    const std::int64_t wanted = limit ? limit->integer().value_or(results) : results;
    if (wanted < 1) return "Error: 'limit' is below 1; " + std::string(search_usage);
    SearchRequest request;
    request.tenant = name.tenant;
    request.conversation_id = name.id;
    request.query = query->string();
    request.limit = static_cast<std::size_t>(
        std::min<std::int64_t>(wanted, static_cast<std::int64_t>(results_max)));
    request.for_model = true;
    std::vector<Seq> seen;
    const auto page = search_memory(*state_, request, &seen);
    if (!page) return "Error: " + page.error().message;
    if (page->hits.empty())
        return warnings_of(*page) + std::string(nothing_found) +
               (seen.empty() ? "." : " but what you have before you in this conversation.");
    std::string text(quotation_opening);
    text += warnings_of(*page);
    for (const SearchHit& hit : page->hits) {
        const std::string said = search_text(hit.message).text;
        text += quoted_piece(hit.seq, hit.message.shape.role,
                             said.size() <= answer_passage_bytes ? said : hit.snippet,
                             format_time(hit.at));
    }
    return text + std::string(quotation_closing);
}

}  // namespace palimpsest
