// log: the entries of a conversation, in the order in which they were written.
#include <algorithm>

#include "base/time.h"
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_entries = 256;  // Held in memory at once.

constexpr std::uint64_t entries_around = 3;

constexpr Flag flags[] = {
    {"from", "SEQ", "The first entry to show."},
    {"to", "SEQ", "The last entry to show."},
    {"last", "N", "Only the newest N of them."},
    {"at", "SEQ", "This entry and what stands around it."},
    {"kind", "KIND", "Only entries of this kind; may be given several times.", true},
};

Result<Kinds> parse_kinds(const std::vector<std::string>& names) {
    if (names.empty()) return all_kinds;
    Kinds kinds{0};
    std::string known;
    for (std::size_t i = 0; i < entry_kind_count; ++i)
        known += (i ? ", " : "") + std::string(entry_kind_name(static_cast<EntryKind>(i)));
    for (const std::string& name : names) {
        const std::uint16_t before = kinds.bits;
        for (std::size_t i = 0; i < entry_kind_count; ++i)
            if (entry_kind_name(static_cast<EntryKind>(i)) == name)
                kinds.bits = static_cast<std::uint16_t>(kinds.bits | (1U << i));
        if (kinds.bits == before && std::ranges::count(names, name) == 1)
            return fail(ErrorCode::invalid_request,
                        "--kind \"" + clipped(name, 40) + "\" is not one of: " + known, "--kind");
    }
    return kinds;
}

std::string seqs(const std::vector<Seq>& list) {
    std::string text;
    for (const Seq seq : list) text += (text.empty() ? "" : ", ") + std::to_string(seq.value);
    return text;
}

struct Describe {
    std::string operator()(const MessageEntry& body) const {
        return std::string(role_name(body.message.shape.role)) +
               (body.interrupted ? " (interrupted): " : ": ") + describe(body.message);
    }
    std::string operator()(const CompactionEntry& body) const {
        return std::to_string(body.edits.size()) + " edits, " + std::to_string(body.tokens_before) +
               " to " + std::to_string(body.tokens_after) + " tokens, by " +
               std::string(cause_name(body.cause));
    }
    std::string operator()(const PinEntry& body) const {
        return (body.on ? "pinned " : "unpinned ") + seqs(body.targets);
    }
    std::string operator()(const RetractEntry& body) const {
        return std::to_string(body.range.from.value) + ".." + std::to_string(body.range.to.value) +
               (body.reason.empty() ? "" : ": " + body.reason);
    }
    std::string operator()(const RewindEntry& body) const {
        return "to " + std::to_string(body.to.value) +
               (body.reason.empty() ? "" : ": " + body.reason);
    }
    std::string operator()(const UndoEntry& body) const {
        return "of entry " + std::to_string(body.target.value);
    }
    std::string operator()(const CheckpointEntry& body) const {
        return body.name + (body.metadata == "{}" ? "" : " " + body.metadata);
    }
    std::string operator()(const SealedEntry&) const { return "sealed"; }
    std::string operator()(const NoteEntry& body) const {
        return body.kind + " " + std::string(view_of(body.body));
    }
};

void print_entries(Invocation& call, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        if (call.json()) {
            print_json(call.out, write_entry, entry);
            continue;
        }
        std::string head = std::to_string(entry.seq.value);
        head.resize(std::max<std::size_t>(head.size(), 6), ' ');
        std::string kind(entry_kind_name(kind_of(entry.body)));
        kind.resize(std::max<std::size_t>(kind.size(), 10), ' ');
        head += "  " + format_time(entry.at) + "  " + kind + "  ";
        const std::size_t room =
            call.out.width() > head.size() ? call.out.width() - head.size() : 1;
        const std::string words = std::visit(Describe{}, entry.body);
        call.out.line(call.out.styled(Style::dim, head) +
                      (call.out.is_terminal() ? clipped(words, room) : printable(words)));
    }
}

void print_unreadable(Invocation& call, Seq seq, const Error& error) {
    if (!call.json()) {
        std::string head = std::to_string(seq.value);
        head.resize(std::max<std::size_t>(head.size(), 6), ' ');
        return call.out.line(head + "  unreadable: " + printable(error.message));
    }
    std::string line;
    JsonWriter writer(line);
    writer.begin_object().key("seq").number(seq.value).field("error", error.message).end_object();
    call.out.json_line(std::move(line));
}

// One damaged entry hides no other: halves are tried until it is alone. Gives the first error.
std::optional<Error> print_readable(Invocation& call, LogQuery query) {
    query.limit = query.range.to.value - query.range.from.value + 1;
    const auto entries = call.memory->log(call.name(), query);
    if (entries) {
        print_entries(call, *entries);
        return {};
    }
    if (entries.error().code != ErrorCode::internal || call.out.closed()) return entries.error();
    if (query.limit == 1) {
        print_unreadable(call, query.range.from, entries.error());
        return entries.error();
    }
    LogQuery low = query, high = query;
    low.range.to = query.range.from + (query.limit / 2 - 1);
    high.range.from = low.range.to + 1;
    const std::optional<Error> first = print_readable(call, low);
    const std::optional<Error> second = print_readable(call, high);
    return first ? first : second;
}

Result<int> print_around_damage(Invocation& call, LogQuery query, Error error) {
    if (error.code != ErrorCode::internal) return std::unexpected(std::move(error));
    PAL_TRY(header, call.memory->head(call.name()));
    const Seq end = std::min(query.range.to, header.end);
    std::optional<Error> found;
    for (Seq from = query.range.from; from <= end; from = from + page_entries) {
        query.range = {from, std::min(end, from + (page_entries - 1))};
        const std::optional<Error> now = print_readable(call, query);
        if (!found) found = now;
        if (now && now->code != ErrorCode::internal) break;
    }
    return std::unexpected(found.value_or(std::move(error)));
}

Result<int> print_newest(Invocation& call, LogQuery query, std::uint64_t count) {
    query.newest_first = true;
    query.limit = count;
    PAL_TRY(entries, call.memory->log(call.name(), query));
    std::ranges::reverse(entries);
    print_entries(call, entries);
    return 0;
}

}  // namespace

extern const Flags log_flags;
const Flags log_flags = flags;

Result<int> run_log(Invocation& call) {
    PAL_TRY(from, call.arguments.number("from"));
    PAL_TRY(to, call.arguments.number("to"));
    PAL_TRY(last, call.arguments.number("last"));
    PAL_TRY(kinds, parse_kinds(call.arguments.all("kind")));
    PAL_TRY(at, call.arguments.number("at"));
    LogQuery query{.range = {Seq{from.value_or(1)}, to ? Seq{*to} : seq_max}, .kinds = kinds};
    if (at) query.range = {std::max(Seq{*at} - entries_around, Seq{1}), Seq{*at} + entries_around};
    if (last) return print_newest(call, query, *last);
    query.limit = page_entries;
    for (;;) {
        auto entries = call.memory->log(call.name(), query);
        if (!entries) return print_around_damage(call, query, std::move(entries).error());
        print_entries(call, *entries);
        if (entries->size() < page_entries || call.out.closed()) return 0;
        query.range.from = entries->back().seq + 1;
    }
}

}  // namespace palimpsest
