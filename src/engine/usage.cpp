// What calls took: of a conversation, from the notes that finish leaves; of a tenant, from the
// totals of usage_totals.h.
#include "base/json.h"
#include "base/time.h"
#include "engine/call_note.h"
#include "engine/usage_totals.h"
#include "palimpsest/chat.h"

namespace palimpsest {
namespace {

void add_note(const NoteEntry& note, UsageRow& row) {
    const auto usage = read_usage_note(note);
    if (!usage) return;
    const auto body = parse_json(view_of(note.body));
    const auto cost = body ? body->root().find("cost") : std::nullopt;
    add_usage(row, {.calls = 1, .usage = *usage, .cost = cost ? cost->number().value_or(0) : 0});
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
