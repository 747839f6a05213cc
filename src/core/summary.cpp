// What a model is asked for a summary, and the checks before one is used.
#include "core/summary.h"

#include <algorithm>

#include "core/identifiers.h"

namespace palimpsest {

std::string dress_summary(const SummaryOrder& order, std::string_view text) {
    std::string out = order.prefix;
    if (!out.empty()) out += ' ';
    out += "of messages " + std::to_string(order.range.from.value) + " to " +
           std::to_string(order.range.to.value) + ", which are not shown:\n";
    out += text;
    return out;
}

std::vector<SummaryRequest> summary_requests(const SummaryOrder& order, std::span<const Item> items,
                                             std::uint64_t window_tokens,
                                             const MessageTools& tools) {
    (void)window_tokens;
    SummaryRequest request;
    request.max_tokens = order.max_tokens;
    for (const Item& item : items)
        if (order.range.contains(item.range.from)) request.user += flatten(item, tools);
    return {request};
}

SummaryRequest merge_request(const SummaryOrder& order, std::span<const std::string> summaries) {
    SummaryRequest request;
    request.max_tokens = order.max_tokens;
    for (const std::string& summary : summaries) request.user += summary + "\n";
    return request;
}

Result<void> check_summary(std::string_view text, const SummaryOrder& order,
                           std::span<const Item> items, const MessageTools& tools) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return fail(ErrorCode::unprocessable, "the summary is empty");
    std::uint64_t before = 0;
    for (const Item& item : items)
        if (order.range.contains(item.range.from)) before += item.tokens;
    if (tools.count_text(text) >= before)
        return fail(ErrorCode::unprocessable, "the summary is longer than what it stands for");
    return {};
}

Result<void> put_summary(Plan& plan, const SummaryOrder& order, std::string_view text,
                         std::span<const Item> items, const MessageTools& tools) {
    PAL_CHECK(check_summary(text, order, items, tools));
    Edit& edit = plan.edits[order.edit];
    const std::uint32_t old = edit.after.tokens;
    edit.result = make_bytes(dress_summary(order, text));
    edit.after = {tools.scheme(), tools.count_text(*edit.result)};
    plan.tokens_after = plan.tokens_after - old + edit.after.tokens;
    plan.used_after = plan.used_after - old + edit.after.tokens;
    return {};
}

}  // namespace palimpsest
