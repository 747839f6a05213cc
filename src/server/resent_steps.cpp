#include "server/resent_steps.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace palimpsest {
namespace {

constexpr std::size_t resent_max = 1000;  // a bound for those who say the same over and over

bool is_models(const Message& message) {
    return message.shape.role == Role::assistant;
}

// What the model did not say.
std::vector<const Item*> others_of(std::span<const Item> has) {
    std::vector<const Item*> others;
    for (const Item& item : has)
        if (item.kind != ItemKind::recalled && !is_models(item.message)) others.push_back(&item);
    return others;
}

using Ids = std::set<std::string, std::less<>>;

Ids calls_of(std::span<const Item> has) {
    Ids calls;
    for (const Item& item : has)
        calls.insert(item.message.shape.calls.begin(), item.message.shape.calls.end());
    return calls;
}

// Those of the newest answer.
Ids open_calls(std::span<const Item> has) {
    std::size_t first = has.size();
    while (first > 0 && is_models(has[first - 1].message)) --first;
    return calls_of(has.subspan(first));
}

Ids results_of(std::span<const Message> said) {
    Ids results;
    for (const Message& one : said)
        results.insert(one.shape.results.begin(), one.shape.results.end());
    return results;
}

bool is_result_of(const Message& message, const Ids& calls) {
    return std::ranges::any_of(message.shape.results,
                               [&](const std::string& id) { return calls.contains(id); });
}

bool ends_with(std::span<const Item* const> others, std::span<const Message> said) {
    return std::ranges::equal(others.last(said.size()), said,
                              [](const Item* item, const Message& one) {
                                  return item->message.fingerprint == one.fingerprint;
                              });
}

}  // namespace

std::size_t count_resent(std::span<const Item> has, std::span<const Message> said) {
    const Ids calls = calls_of(has);
    const auto first_result =
        std::ranges::find_if(said, [&](const Message& one) { return is_result_of(one, calls); });
    if (first_result == said.end() || std::ranges::any_of(said, is_models)) return 0;
    // Results, or what stands right before the first of them.
    const auto least =
        std::max<std::size_t>(1, static_cast<std::size_t>(first_result - said.begin()));
    const std::vector<const Item*> others = others_of(has);
    const Ids open = open_calls(has);
    // All of it again means something only where no answer has come.
    const bool answered = !has.empty() && is_models(has.back().message);
    const std::size_t most = answered ? said.size() - 1 : said.size();
    for (std::size_t count = std::min({others.size(), most, resent_max}); count >= least; --count) {
        if (!ends_with(others, said.first(count))) continue;
        // Some models give the same ids to their calls at each step.
        return std::ranges::includes(results_of(said.subspan(count)), open) ? count : 0;
    }
    return 0;
}

}  // namespace palimpsest
