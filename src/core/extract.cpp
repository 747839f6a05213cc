// The deterministic summary: sentences chosen by salience, and the identifiers.
#include <algorithm>

#include "core/identifiers.h"
#include "core/shorten_text.h"
#include "core/summary.h"

namespace palimpsest {

std::string extract_summary(std::span<const Item* const> items, const ExtractOptions& options,
                            const MessageTools& tools) {
    std::string all;
    for (const Item* item : items) all += flatten(*item, tools);
    std::string list;
    for (const std::string_view id : find_identifiers(all, options.identifiers))
        list += (list.empty() ? "identifiers: " : ", ") + std::string(id);
    const auto count = [&](std::string_view text) { return tools.count_text(text); };
    return shorten_text(list + "\n" + all, options.max_tokens, count);
}

}  // namespace palimpsest
