#include "store/entry_guard.h"

#include <algorithm>

#include "base/hash.h"
#include "base/wire.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr std::uint8_t guarded = 3;
constexpr std::uint16_t every_kind = (1U << entry_kind_count) - 1;

std::uint64_t sum_of_payload(const Bytes& payload) {
    return payload ? hash_bytes(*payload).low : 0;
}

std::uint64_t sum_of_entry(EntryKind kind, std::uint64_t payload_sum, std::string_view meta) {
    WireWriter out;
    out.byte(static_cast<std::uint8_t>(kind));
    out.fixed64(payload_sum);
    out.bytes(meta);
    return hash_bytes(out.take()).low;
}

// The ranges of the query as far as the log owns them, in the order in which they are read.
std::vector<Range> owned_ranges(const Header& header, const ReadQuery& query) {
    std::vector<Range> ranges = query.ranges;
    if (ranges.empty()) ranges.push_back({Seq{1}, header.end});
    for (Range& range : ranges)
        range = {std::max(range.from, header.base + 1), std::min(range.to, header.end)};
    std::erase_if(ranges, [](const Range& range) { return range.to < range.from; });
    if (query.newest_first) std::ranges::reverse(ranges);
    return ranges;
}

Result<void> check_every_seq(const Header& header, const ReadQuery& query,
                             const std::vector<Entry>& found) {
    std::size_t at = 0;
    for (const Range& range : owned_ranges(header, query)) {
        const std::uint64_t count = range.to.value - range.from.value + 1;
        for (std::uint64_t i = 0; i < count && at < query.limit; ++i, ++at) {
            const Seq seq = query.newest_first ? range.to - i : range.from + i;
            if (at >= found.size() || found[at].seq != seq)
                return entry_trouble(header, seq, "missing");
        }
    }
    return {};
}

// The last entry has counted all messages, and before the first of a log that is no fork there is
// none. Of an end that the query does not reach nothing is known.
Result<void> check_ends(const Header& header, const ReadQuery& query,
                        const std::vector<Entry>& found) {
    std::vector<Range> ranges = owned_ranges(header, query);
    if (ranges.empty() || query.limit == 0) return {};
    if (query.newest_first) std::ranges::reverse(ranges);
    const bool all = found.size() < query.limit, whole = ranges.front().from == Seq{1};
    if (found.empty())
        return whole && ranges.size() == 1 && ranges.front().to == header.end && header.messages > 0
                   ? entry_trouble(header, Seq{1}, "missing")
                   : Result<void>();
    const Entry& high = query.newest_first ? found.front() : found.back();
    const Entry& low = query.newest_first ? found.back() : found.front();
    const bool reaches_end = (all || query.newest_first) && ranges.back().to == header.end;
    if (reaches_end && high.seq >= ranges.back().from && high.ordinal < header.messages)
        return entry_trouble(header, high.seq + 1, "missing");
    const std::uint64_t first = kind_of(low.body) == EntryKind::message ? 1 : 0;
    if (whole && (all || !query.newest_first) && low.seq <= ranges.front().to &&
        low.ordinal != first)
        return entry_trouble(header, Seq{1}, "missing");
    return {};
}

// Messages are counted: the count of one and of the next differ by one.
Result<void> check_counts(const Header& header, const ReadQuery& query,
                          const std::vector<Entry>& found) {
    const std::vector<Range> ranges = owned_ranges(header, query);
    const auto range_of = [&](Seq seq) {
        return std::ranges::find_if(
            ranges, [&](const Range& range) { return range.from <= seq && seq <= range.to; });
    };
    for (std::size_t i = 1; i < found.size(); ++i) {
        const Entry& low = query.newest_first ? found[i] : found[i - 1];
        const Entry& high = query.newest_first ? found[i - 1] : found[i];
        if (range_of(low.seq) != range_of(high.seq)) continue;
        const std::uint64_t step = kind_of(high.body) == EntryKind::message ? 1 : 0;
        if (high.ordinal != low.ordinal + step)
            return entry_trouble(header, low.seq + 1, "missing");
    }
    return check_ends(header, query, found);
}

}  // namespace

EncodedBody encode_guarded(const Body& body) {
    EncodedBody encoded = encode_body(body);
    const std::uint64_t payload_sum = sum_of_payload(encoded.payload);
    WireWriter out;
    out.byte(guarded);
    out.fixed64(sum_of_entry(kind_of(body), payload_sum, encoded.meta));
    out.fixed64(payload_sum);
    out.bytes(encoded.meta);
    encoded.meta = out.take();
    return encoded;
}

Result<Body> decode_guarded(const GuardedEntry& entry) {
    const auto damaged = [&](std::string_view what) {
        return fail(ErrorCode::internal, "entry " + std::to_string(entry.seq.value) +
                                             " is damaged: " + std::string(what));
    };
    WireReader in(entry.meta);
    const bool known = in.byte() == guarded;
    const std::uint64_t sum = in.fixed64(), payload_sum = in.fixed64();
    const std::string_view meta = in.bytes(in.left());
    if (!known || !in.ok() || sum_of_entry(entry.kind, payload_sum, meta) != sum)
        return damaged("its checksum does not match");
    if (entry.content && sum_of_payload(entry.payload) != payload_sum)
        return damaged("the checksum of its content does not match");
    Result<Body> body = decode_body(entry.kind, meta, entry.payload);
    if (!body) return damaged(body.error().message);
    return body;
}

Result<void> check_no_gap(const Header& header, const ReadQuery& query,
                          const std::vector<Entry>& found) {
    if ((query.kinds.bits & every_kind) == every_kind) return check_every_seq(header, query, found);
    if (query.kinds.has(EntryKind::message)) return check_counts(header, query, found);
    return {};
}

}  // namespace palimpsest
