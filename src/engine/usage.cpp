// What the calls of a conversation took, from the notes that finish leaves.
#include "base/json.h"
#include "base/time.h"
#include "engine/call_note.h"
#include "palimpsest/chat.h"

namespace palimpsest {
namespace {

void add_note(const NoteEntry& note, UsageRow& row) {
    const auto usage = read_usage_note(note);
    if (!usage) return;
    ++row.calls;
    row.usage.input += usage->input;
    row.usage.cached += usage->cached;
    row.usage.cache_writes += usage->cache_writes;
    row.usage.output += usage->output;
    row.usage.reasoning += usage->reasoning;
    const auto body = parse_json(view_of(note.body));
    const auto cost = body ? body->root().find("cost") : std::nullopt;
    if (cost) row.cost += cost->number().value_or(0);
}

}  // namespace

Result<std::vector<UsageRow>> usage_by_day(Memory& memory, const ConversationId& name) {
    constexpr std::size_t page = 1000;
    std::vector<UsageRow> rows;
    for (Seq from{1};;) {
        PAL_TRY(notes, memory.log(name, {.range = {from, seq_max},
                                         .kinds = only(EntryKind::note),
                                         .limit = page}));
        for (const Entry& entry : notes) {
            const auto& note = std::get<NoteEntry>(entry.body);
            if (note.kind != "usage") continue;
            const std::string day = format_time(entry.at).substr(0, 10);
            if (rows.empty() || rows.back().day != day) rows.push_back({.day = day});
            add_note(note, rows.back());
        }
        if (notes.size() < page) return rows;
        from = notes.back().seq + 1;
    }
}

}  // namespace palimpsest
