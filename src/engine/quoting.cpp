#include "engine/quoting.h"

#include <algorithm>

#include "core/recollect.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_messages = 500;

std::vector<Seq> origins_of(const Message& message) {
    std::vector<Seq> origins;
    // Most messages are not read any further.
    if (!view_of(message.raw).contains("[seq ")) return origins;
    const auto parts = read_parts(message);
    if (!parts) return origins;
    const auto add = [&](std::string_view text) {
        for (const Seq seq : quoted_seqs(text)) origins.push_back(seq);
    };
    for (const Part& part : parts->parts) {
        const auto* text = std::get_if<Text>(&part);
        const auto* result = std::get_if<ToolResult>(&part);
        if (text && is_recalled(message)) add(text->text);
        if (result && is_quotation(result->text)) add(result->text);
    }
    return origins;
}

}  // namespace

Result<std::vector<Quoting>> read_quoting(const ReadEntries& read, Seq after, Seq end) {
    std::vector<Quoting> all;
    while (after < end) {
        ReadQuery query{.ranges = {{after + 1, end}}, .kinds = only(EntryKind::message)};
        query.limit = page_messages;
        PAL_TRY(entries, read(query));
        for (const Entry& entry : entries) {
            const auto* said = std::get_if<MessageEntry>(&entry.body);
            if (!said) continue;
            std::vector<Seq> origins = origins_of(said->message);
            if (!origins.empty()) all.push_back({entry.seq, std::move(origins)});
        }
        if (entries.size() < page_messages) break;
        after = entries.back().seq;
    }
    return all;
}

bool quotes_any(const Quoting& one, const std::function<bool(Seq seq)>& is_gone) {
    return std::ranges::any_of(one.origins, is_gone);
}

}  // namespace palimpsest
