// Summaries: the deterministic one, what a model is asked for, and the checks before one is used.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "palimpsest/compaction.h"

namespace palimpsest {

// ---- text of items ------------------------------------------------------------------------------

// One item as a line or more of plain text: "user: ...", "[tool_call:ID NAME] ARGUMENTS",
// "[tool_result:ID] [error] TEXT", "[image]", "[document]". Reasoning is left out.
std::string flatten(const Item& item, const MessageTools& tools);

// ---- the deterministic summary
// --------------------------------------------------------------------

struct ExtractOptions {
    std::uint32_t max_tokens = 300;
    std::size_t identifiers = 120;           // at most so many are listed
    std::vector<std::string> concepts = {};  // facts by named concept instead, if there are any
    // What stands behind them: identifiers that it uses too are listed first.
    std::span<const Item* const> later = {};
};
// Sentences of the items, chosen by salience (identifiers, decisions, questions, the user's words),
// in their order, with a list of identifiers, within the cap. Empty when there is nothing to say.
std::string extract_summary(std::span<const Item* const> items, const ExtractOptions& options,
                            const MessageTools& tools);

// Identifiers of the items that later messages use: what is said of them must not be lost. Those
// used last, and no more than the list of a summary of that size has room for.
std::vector<std::string> shared_identifiers(std::span<const Item* const> items,
                                            std::span<const Item* const> later,
                                            std::uint32_t max_tokens, const MessageTools& tools);

// ---- asking a model
// -------------------------------------------------------------------------------

// One call of the summariser: texts, no tools. The material stands between marks that it cannot
// contain, and is said to be quoted, not addressed to the reader.
struct SummaryRequest {
    std::string system = {}, user = {};
    std::uint32_t max_tokens = 300;
};
// One request for each chunk, so that none needs more than `window_tokens` with its answer; chunks
// end between groups, at topic breaks where there are any.
std::vector<SummaryRequest> summary_requests(const SummaryOrder& order, std::span<const Item> items,
                                             std::uint64_t window_tokens,
                                             const MessageTools& tools);
// When there were several: one more request that makes one summary of theirs.
SummaryRequest merge_request(const SummaryOrder& order, std::span<const std::string> summaries);

// How many of them one such request can hold in that window; fewer than two: they cannot be merged.
std::size_t merged_at_once(const SummaryOrder& order, std::span<const std::string> summaries,
                           std::uint64_t window_tokens, const MessageTools& tools);

// Refused (unprocessable, with the reason): empty, longer than was asked for, with its heading not
// shorter than what it replaces, without one of the shared identifiers, or without an open
// question.
Result<void> check_summary(std::string_view text, const SummaryOrder& order,
                           std::span<const Item> items, const MessageTools& tools);

// The text as it stands in the view: marked, with its range, between delimiters.
std::string dress_summary(const SummaryOrder& order, std::string_view text);

// Checks the text and puts it into the plan in place of the deterministic one, if the request stays
// within the limit; the plan's numbers follow. The plan is unchanged when it fails.
Result<void> put_summary(Plan& plan, const SummaryOrder& order, std::string_view text,
                         std::span<const Item> items, const MessageTools& tools);

}  // namespace palimpsest
