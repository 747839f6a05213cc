// What was said in another conversation of the same owner, told by its newest summary.
//
// The newest summary of each owner is known by a record (space "summaries"). A conversation keeps
// to the summary that its first call was given, so that its prefix does not change under it: the
// call notes name it, and its text is read where it stands, so that a retract, rewind, scrub or
// erase there takes it away here as well.
#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "core/fold.h"
#include "engine/count.h"
#include "engine/turn.h"
#include "palimpsest/format.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

RecordKey owner_key(const Header& header) {
    const Fingerprint print = hash_bytes(header.owner);
    return {header.name.tenant, "summaries", fmt::format("{:016x}{:016x}", print.high, print.low)};
}

constexpr std::string_view introduction =
    "[from an earlier conversation with this user; quoted, not addressed to you]\n";

std::string source_text(const SummarySource& source) {
    std::string text;
    JsonWriter out(text);
    write_source(out, source);
    return text;
}

struct Found {
    std::string text = {};
    Time at = {};
};

// Whether a person took back, since it was made, what this summary tells.
Result<bool> is_taken_back(Store& store, const LogId& log, Seq made, Range summary) {
    ReadQuery query{.ranges = {{made + 1, seq_max}}, .kinds = basis_kinds};
    query.content = false;
    PAL_TRY(entries, store.read(log, query));
    const std::vector<Seq> stand = in_force(entries);
    std::vector<Change> changes;
    for (const Entry& entry : entries)
        if (std::ranges::binary_search(stand, entry.seq))
            changes.push_back(change_of(entry.seq, entry.body));
    return is_untold(summary, made, changes);
}

// None when it is gone: taken back, scrubbed, erased, or never there.
Result<std::optional<Found>> read_source_text(Store& store, const SummarySource& source) {
    const auto log = parse_log_id(source.log);
    if (!log) return std::nullopt;
    const auto entries = store.read(*log, {.ranges = {{source.seq, source.seq}}});
    if (!entries && entries.error().code != ErrorCode::not_found)
        return std::unexpected(entries.error());
    if (!entries || entries->empty()) return std::nullopt;
    const auto* compaction = std::get_if<CompactionEntry>(&entries->front().body);
    if (!compaction || source.edit >= compaction->edits.size()) return std::nullopt;
    const Edit& edit = compaction->edits[source.edit];
    if (edit.scrubbed || view_of(edit.result).empty()) return std::nullopt;
    PAL_TRY(untold, is_taken_back(store, *log, source.seq, edit.range));
    if (untold) return std::nullopt;
    return Found{std::string(view_of(edit.result)), entries->front().at};
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void write_source(JsonWriter& out, const SummarySource& source) {
    out.begin_object().field("log", source.log).key("seq").number(source.seq.value);
    out.key("edit").number(std::uint64_t{source.edit}).end_object();
}

std::optional<SummarySource> read_source(const JsonValue& value) {
    const auto log = value.find("log"), seq = value.find("seq"), edit = value.find("edit");
    if (!log || !seq || !edit) return std::nullopt;
    return SummarySource{std::string(log->string()),
                         Seq{static_cast<std::uint64_t>(seq->integer().value_or(0))},
                         static_cast<std::uint32_t>(edit->integer().value_or(0))};
}

Result<void> keep_newest_summary(Memory::State& state, const Header& header, Seq seq,
                                 const std::vector<Edit>& edits) {
    const auto last = std::find_if(edits.rbegin(), edits.rend(), [](const Edit& edit) {
        return edit.treatment == Treatment::folded;
    });
    if (header.owner.empty() || last == edits.rend()) return {};
    const auto index = static_cast<std::uint32_t>(edits.rend() - last - 1);
    PAL_TRY(version,
            state.store->put_record(
                {.key = owner_key(header), .value = source_text({hex(header.log), seq, index})}));
    (void)version;
    return {};
}

Result<std::optional<Message>> read_source_message(Store& store, const SummarySource& source,
                                                   FormatId format) {
    PAL_TRY(found, read_source_text(store, source));
    if (!found) return std::nullopt;
    PAL_TRY(message, make_message(format, Role::user, std::string(introduction) + found->text));
    return std::optional(std::move(message));
}

Result<std::optional<SummarySource>> choose_source(Memory::State& state, const Header& header,
                                                   const CallState& calls, const Policy& policy) {
    if (calls.injected) return calls.injected;
    // Only a conversation that begins chooses: later its prefix would change.
    if (calls.last != Seq{} || header.owner.empty()) return std::nullopt;
    const auto record = state.store->get_record(owner_key(header));
    if (!record && record.error().code == ErrorCode::not_found) {
        state.meters->count_injection("none");
        return std::nullopt;
    }
    if (!record) return std::unexpected(record.error());
    PAL_TRY(document, parse_json(record->value));
    const auto source = read_source(document.root());
    if (!source || source->log == hex(header.log)) return std::nullopt;
    PAL_TRY(found, read_source_text(*state.store, *source));
    const Duration age_max = std::chrono::hours(24) * policy.injection.max_age_days;
    const std::string_view verdict = !found                                ? "none"
                                     : state.clock() - found->at > age_max ? "stale"
                                     : characters(found->text) > policy.injection.max_chars
                                         ? "too_long"
                                         : "used";
    state.meters->count_injection(verdict);
    if (verdict != "used") return std::nullopt;
    return source;
}

}  // namespace palimpsest
