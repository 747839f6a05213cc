#include "store/copy_log.h"

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "store/copy_compare.h"

namespace palimpsest {
namespace {

constexpr std::size_t batch_entries = 256;
// A header that nobody has changed since a copy made it.
constexpr std::uint64_t first_revision = 1;

std::unexpected<Error> in_target(Error error) {
    error.message = "in the target: " + error.message;
    return std::unexpected(std::move(error));
}

std::string joined(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names)
        text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

RecordKey copy_record(const Header& header) {
    return {header.name.tenant, std::string(copy_space), hex(header.log)};
}

const Entry* entry_at(const std::vector<Entry>& entries, Seq seq) {
    const auto at = std::ranges::lower_bound(entries, seq, {}, &Entry::seq);
    return at != entries.end() && at->seq == seq ? &*at : nullptr;
}

void remember(LogOutcome& out, const Error& error) {
    if (!out.error) out.error = error;
}

}  // namespace

bool is_of_one(const Error& error) {
    return error.code != ErrorCode::unavailable && error.code != ErrorCode::no_space &&
           error.code != ErrorCode::outcome_unknown && error.code != ErrorCode::unauthorized;
}

ConversationId name_in_copy(const Header& header) {
    const bool nameless = header.name.id.empty();
    return {header.name.tenant, nameless ? "pal.copy." + hex(header.log) : header.name.id};
}

Result<LogOutcome> LogCopy::run(const Header& header, const LogOutcome* parent) {
    LogOutcome out;
    const Result<void> done = copy(header, parent, out);
    if (!done && !is_of_one(done.error())) return std::unexpected(done.error());
    if (!done) out.error = done.error();
    if (out.error) out.alike = false;
    return out;
}

Result<void> LogCopy::copy(const Header& header, const LogOutcome* parent, LogOutcome& out) {
    const auto there = to_.head(header.log);
    if (there) return join(header, *there, out);
    if (there.error().code != ErrorCode::not_found) return in_target(there.error());
    if (header.parent && (!parent || parent->same < header.base))
        return fail(parent && parent->error ? parent->error->code : ErrorCode::internal,
                    "it was forked at entry " + std::to_string(header.base.value) +
                        " of a conversation that could not be copied so far" +
                        (parent && parent->error ? ": " + parent->error->message : ""));
    Target target{.name = name_in_copy(header), .next = header.base + 1};
    target.updated = header.updated;
    target.accessed = header.accessed;
    if (to_.head(target.name))
        return fail(ErrorCode::conflict,
                    "the target has another conversation of this name, which was left as it is");
    return add_rest(header, target, out);
}

Result<void> LogCopy::join(const Header& header, const Header& there, LogOutcome& out) {
    out.there = true;
    if (there.name.id.empty() && !header.name.id.empty())
        return fail(ErrorCode::conflict,
                    std::string(header.ttl ? "it has expired in the target, or was erased there,"
                                           : "it was erased in the target,") +
                        " and is kept there for its forks alone: erase those there, or copy into "
                        "another store");
    PAL_TRY(found, compare(header, there, out));
    if (found.other)
        return fail(ErrorCode::conflict,
                    "entry " + std::to_string(found.other->value) +
                        " is another one in the target, which was left as it is: erase that one "
                        "there, or copy into another store");
    PAL_CHECK(scrub(header, there.name, found.to_scrub));
    out.alike = there.end <= header.end && found.only_target_scrubbed == 0;
    if (found.only_target_scrubbed > 0)
        report_.notes.push_back(there.name.id + ": " + std::to_string(found.only_target_scrubbed) +
                                " entries are scrubbed in the target alone, and stay so");
    Target target{.name = there.name,
                  .exists = true,
                  .next = there.end + 1,
                  .messages = there.messages,
                  .updated = std::max(header.updated, there.updated),
                  .accessed = std::max(header.accessed, there.accessed)};
    PAL_CHECK(add_rest(header, target, out));
    return header.name.id.empty() ? Result<void>{} : bring_fields(header, there.name);
}

// ---- what is there ------------------------------------------------------------------------------

Result<LogCopy::Comparison> LogCopy::compare(const Header& header, const Header& there,
                                             LogOutcome& out) {
    Comparison found;
    out.same = header.base;
    const Seq end = std::min(header.end, there.end);
    for (Seq at = header.base + 1; at <= end && !found.other; at = at + batch_entries)
        PAL_CHECK(compare_page(header, {at, std::min(end, at + (batch_entries - 1))}, found, out));
    return found;
}

Result<void> LogCopy::compare_page(const Header& header, Range range, Comparison& found,
                                   LogOutcome& out) {
    PAL_TRY(ours, read_around(from_, header, range, false));
    const auto theirs = to_.read(header.log, {.ranges = {range}, .content = false});
    if (!theirs) return in_target(theirs.error());
    for (Seq seq = range.from; seq <= range.to && !found.other; seq = seq + 1) {
        const Entry* target = entry_at(*theirs, seq);
        if (!target)
            return fail(ErrorCode::internal, "in the target: entry " + std::to_string(seq.value) +
                                                 " is missing; `pal doctor` tells more");
        if (const Entry* source = entry_at(ours.entries, seq)) {
            PAL_CHECK(compare_one(header, *source, *target, found, out));
        } else if (may_stand_in(target->body)) {
            out.lost.push_back(seq);
            remember(out, *ours.error);
        }
        if (!found.other) out.same = seq;
    }
    return {};
}

Result<void> LogCopy::compare_one(const Header& header, const Entry& ours, const Entry& theirs,
                                  Comparison& found, LogOutcome& out) {
    const Match match = match_entries(ours, theirs);
    if (match == Match::other) found.other = ours.seq;
    if (match == Match::source_scrubbed) found.to_scrub.push_back(ours.seq);
    if (match != Match::target_scrubbed) return {};
    PAL_TRY(whole, read_around(from_, header, {ours.seq, ours.seq}, true));
    if (whole.lost.empty()) {
        ++found.only_target_scrubbed;
    } else {
        out.lost.push_back(ours.seq);
        remember(out, *whole.error);
    }
    return {};
}

Result<void> LogCopy::scrub(const Header& header, const ConversationId& name,
                            const std::vector<Seq>& seqs) {
    if (seqs.empty()) return {};
    report_.scrubbed += seqs.size();
    if (options_.scrub && !name.id.empty()) return options_.scrub(name, seqs);
    std::vector<Replacement> replacements;
    for (const Seq seq : seqs) {
        PAL_TRY(found, from_.read(header.log, {.ranges = {{seq, seq}}}));
        for (Entry& entry : found) replacements.push_back({header.log, seq, std::move(entry.body)});
    }
    return to_.scrub(replacements);
}

// The revision tells whether the target's fields are as a copy left them.
Result<void> LogCopy::bring_fields(const Header& header, const ConversationId& name) {
    PAL_TRY(there, to_.head(name));
    const auto fields = differing_fields(header, there);
    if (fields.empty()) return {};
    const auto record = to_.get_record(copy_record(header));
    if (!record && record.error().code != ErrorCode::not_found) return in_target(record.error());
    const std::string left = record ? record->value : std::to_string(first_revision);
    if (std::to_string(there.revision) != left) {
        report_.notes.push_back(name.id + ": " + joined(fields) +
                                " differ and stay as the target has them: they were changed there");
        return {};
    }
    Batch batch{.expected_log = header.log,
                .expected_revision = there.revision,
                .if_absent = IfAbsent::fail,
                .patch = patch_towards(header, there)};
    batch.stamp = Stamp{header.created, std::max(header.updated, there.updated),
                        std::max(header.accessed, there.accessed)};
    if (batch.patch.ttl && options_.forget_words)
        PAL_CHECK(options_.forget_words(name.tenant, header.log));
    PAL_TRY(changed, to_.append(name, batch));
    ++report_.headers;
    PAL_CHECK(to_.put_record(
        {.key = copy_record(header), .value = std::to_string(changed.header.revision)}));
    return {};
}

// ---- what is not there --------------------------------------------------------------------------

Result<void> LogCopy::add_rest(const Header& header, Target& target, LogOutcome& out) {
    if (header.end == header.base && !target.exists) {
        PAL_CHECK(create(header, target));
        out.wrote = out.there = true;
    }
    std::vector<LostEntry> pending;
    std::uint64_t ordinal = target.messages;
    bool counted = target.exists;
    for (Seq at = target.next; at <= header.end;) {
        const Seq last = std::min(header.end, at + (batch_entries - 1));
        PAL_TRY(read, read_around(from_, header, {at, last}, true));
        for (const LostEntry& lost : read.lost) out.lost.push_back(lost.seq);
        if (read.error) remember(out, *read.error);
        if (!read.entries.empty() && !target.exists) PAL_CHECK(create(header, target));
        if (target.exists && !counted) ordinal = target.messages;
        counted = target.exists;
        const std::size_t whole = read.entries.size();
        PAL_TRY(drafts, drafts_of(std::move(read), pending, ordinal, header.created));
        if (!drafts.empty()) PAL_CHECK(write(header, target, drafts, out));
        report_.entries -= drafts.size() - whole;
        at = last + 1;
    }
    out.there = target.exists;
    out.same = std::min(header.end, target.next - 1);
    return {};
}

// What is lost at the end stays in `pending`: it may be followed by something on the next page.
Result<std::vector<Draft>> LogCopy::drafts_of(ReadAround read, std::vector<LostEntry>& pending,
                                              std::uint64_t& ordinal, Time created) {
    std::vector<Draft> drafts;
    auto lost = read.lost.begin();
    Time at = created;
    for (Entry& entry : read.entries) {
        for (; lost != read.lost.end() && lost->seq < entry.seq; ++lost)
            pending.push_back(std::move(*lost));
        const std::uint64_t own = kind_of(entry.body) == EntryKind::message ? 1 : 0;
        const std::uint64_t before = entry.ordinal - std::min(entry.ordinal, own + ordinal);
        const auto messages = std::min<std::uint64_t>(before, pending.size());
        PAL_TRY(filled, stand_ins(pending, messages, at));
        std::ranges::move(filled, std::back_inserter(drafts));
        pending.clear();
        ordinal = entry.ordinal;
        at = entry.at;
        drafts.push_back({std::move(entry.body), entry.at});
    }
    for (; lost != read.lost.end(); ++lost) pending.push_back(std::move(*lost));
    return drafts;
}

Result<void> LogCopy::create(const Header& header, Target& target) {
    Batch batch{.new_log = header.log};
    batch.patch = {.owner = header.owner,
                   .title = header.title,
                   .system_prompt = header.system_prompt,
                   .policy = header.policy,
                   .metadata_merge = header.metadata,
                   .ttl = header.ttl};
    batch.stamp = Stamp{header.created, header.updated, header.accessed};
    if (header.parent) {
        PAL_TRY(point, to_.read(*header.parent,
                                {.ranges = {{header.base, header.base}}, .content = false}));
        ForkPoint fork{.parent = *header.parent, .at = header.base, .epoch = header.epoch};
        if (!point.empty()) fork.messages = point.front().ordinal;
        PAL_TRY(basis, basis_at(header));
        fork.basis = basis;
        batch.fork = fork;
    }
    PAL_TRY(made, to_.append(target.name, batch));
    target.exists = true;
    target.messages = made.header.messages;
    return {};
}

// The newest basis at or below the fork point, along the chain.
Result<Seq> LogCopy::basis_at(Header header) {
    while (header.parent) {
        const Seq at = header.base;
        PAL_TRY(parent, to_.head(*header.parent));
        PAL_TRY(found, to_.read(parent.log, {.ranges = {{Seq{1}, at}},
                                             .kinds = basis_kinds,
                                             .limit = 1,
                                             .newest_first = true,
                                             .content = false}));
        if (!found.empty()) return found.front().seq;
        header = parent;
    }
    return Seq{};
}

// One by one, up to the entry that is to blame, where they do not go together.
Result<void> LogCopy::write(const Header& header, Target& target, const std::vector<Draft>& drafts,
                            LogOutcome& out) {
    out.wrote = out.there = true;
    auto done = append(header, target, drafts);
    if (!done && is_of_one(done.error())) {
        done = {};
        for (auto draft = drafts.begin(); done && draft != drafts.end(); ++draft)
            done = append(header, target, {*draft});
    }
    out.same = target.next - 1;
    return done;
}

Result<void> LogCopy::append(const Header& header, Target& target, std::vector<Draft> drafts) {
    const std::size_t count = drafts.size();
    Batch batch{.expected_log = header.log,
                .expected_end = target.next - 1,
                .if_absent = IfAbsent::fail,
                .entries = std::move(drafts),
                .stamp = Stamp{header.created, target.updated, target.accessed}};
    const auto written = to_.append(target.name, batch);
    if (!written) return std::unexpected(written.error());
    report_.entries += count;
    target.next = target.next + count;
    return {};
}

}  // namespace palimpsest
