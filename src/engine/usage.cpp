// What calls took: of a conversation, from the notes that finish leaves; of a tenant, from the
// totals of usage_totals.h.
#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/time.h"
#include "engine/call_note.h"
#include "engine/compactor.h"
#include "engine/usage_totals.h"
#include "palimpsest/chat.h"

namespace palimpsest {
namespace {

// What the note says that calls took: of one that was answered, or of the summaries of a
// compaction. None: it tells of no call.
std::optional<UsageRow> row_of(const NoteEntry& note) {
    if (note.kind == "compaction") {
        const CompactionReport report = read_report_note(note);
        // Older notes do not say how many they were.
        if (report.summary_calls == 0 && report.summary_input == 0) return std::nullopt;
        return UsageRow{.calls = std::max<std::size_t>(report.summary_calls, 1),
                        .usage = {.input = report.summary_input, .output = report.summary_output},
                        .cost = report.summary_cost};
    }
    const auto usage = read_usage_note(note);
    if (!usage) return std::nullopt;
    const auto body = parse_json(view_of(note.body));
    const auto cost = body ? body->root().find("cost") : std::nullopt;
    return UsageRow{.calls = 1, .usage = *usage, .cost = cost ? cost->number().value_or(0) : 0};
}

}  // namespace

Result<std::vector<UsageRow>> usage_by_day(Memory& memory, const ConversationId& name) {
    constexpr std::size_t page = 1000;
    std::map<std::string, UsageRow> days;  // Clocks go back, and an import keeps its times.
    for (Seq from{1};;) {
        PAL_TRY(notes, memory.log(name, {.range = {from, seq_max},
                                         .kinds = only(EntryKind::note),
                                         .limit = page}));
        for (const Entry& entry : notes) {
            const auto row = row_of(std::get<NoteEntry>(entry.body));
            if (!row) continue;
            const std::string day = format_time(entry.at).substr(0, 10);
            add_usage(days.try_emplace(day, UsageRow{.day = day}).first->second, *row);
        }
        if (notes.size() < page) break;
        from = notes.back().seq + 1;
    }
    std::vector<UsageRow> rows;
    for (auto& [day, row] : days) rows.push_back(std::move(row));
    return rows;
}

Result<std::vector<UsageRow>> tenant_usage_by_day(Memory& memory, const std::string& tenant) {
    constexpr std::size_t page = 1000;
    memory.write_usage();
    std::vector<UsageRow> rows;
    for (RecordKey key = usage_key(tenant, "");;) {
        PAL_TRY(records,
                memory.store().list_records(
                    {.tenant = tenant, .space = key.space, .after = key.key, .limit = page}));
        for (const Record& record : records)
            rows.push_back(read_usage_row(record.key.key, record.value));
        if (records.size() < page) return rows;
        key.key = records.back().key.key;
    }
}

}  // namespace palimpsest
