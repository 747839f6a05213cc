#include "store/files_read.h"

#include <algorithm>

#include "core/codec.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// Entries that lie near each other are read in one go.
constexpr std::uint64_t gap_bytes_max = 4096, span_bytes_max = 4 << 20;

void add_run(LogPlaces& places, const EntryRun& run, const Header& header) {
    if (run.first <= header.base) return;
    const std::size_t first = run.first.value - header.base.value - 1;
    if (places.entries.size() < first + run.places.size())
        places.entries.resize(first + run.places.size());
    std::ranges::copy(run.places, places.entries.begin() + static_cast<std::ptrdiff_t>(first));
    for (const EntryPlace& place : run.places)
        if (place.payload == PayloadPlace::apart)
            places.apart_next = std::max(places.apart_next, place.payload_at + 1);
}

// Bytes of the file, read ahead in spans.
class SpanReader {
public:
    explicit SpanReader(const DiskFile& file) : file_(file) {}
    // `until`: how far it is worth to read on.
    Result<std::string_view> bytes(std::uint64_t at, std::uint64_t size, std::uint64_t until) {
        if (at < at_ || at + size > at_ + span_.size()) {
            const std::uint64_t want = std::max(size, std::min(until - at, span_bytes_max));
            PAL_TRY(read, file_.read(at, static_cast<std::size_t>(want)));
            span_ = std::move(read);
            at_ = at;
        }
        if (at + size > at_ + span_.size()) return std::string_view();
        return std::string_view(span_).substr(static_cast<std::size_t>(at - at_),
                                              static_cast<std::size_t>(size));
    }

private:
    const DiskFile& file_;
    std::uint64_t at_ = 0;
    std::string span_;
};

std::uint64_t end_of(const EntryPlace& place, bool content) {
    const bool payload = content && place.payload == PayloadPlace::here;
    return payload ? place.payload_at + place.payload_bytes : place.meta_at + place.meta_bytes;
}

// The end of the span of entries that begins with the i-th and has no wide gaps.
std::uint64_t span_end(const std::vector<WantedEntry>& wanted, std::size_t i, bool content) {
    const std::uint64_t start = wanted[i].place.meta_at;
    std::uint64_t end = end_of(wanted[i].place, content);
    for (++i; i < wanted.size(); ++i) {
        const EntryPlace& next = wanted[i].place;
        const bool near = next.meta_at >= start && next.meta_at <= end + gap_bytes_max;
        const std::uint64_t longer = std::max(end, end_of(next, content));
        if (!near || longer - start > span_bytes_max) break;
        end = longer;
    }
    return end;
}

}  // namespace

Result<std::shared_ptr<LogPlaces>> read_places(const DiskFile& file, const FilesLog& log,
                                               LogState* state) {
    auto places = std::make_shared<LogPlaces>();
    const Header& header = log.header();
    FrameReader frames(file, header.log, log.length);
    for (;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) break;
        places->damaged_bytes += frames.bad_bytes();
        auto found = read_log_frame(*frame);
        if (!found) {
            places->damaged_bytes += frame->end - frame->at;
            continue;
        }
        if (found->run) add_run(*places, *found->run, header);
        if (state) fold_frame(*state, *found);
        if (found->key) places->once[found->key->key] = std::move(*found->key);
    }
    if (frames.bad_tail()) places->damaged_bytes += log.length - frames.at();
    places->entries.resize(header.end.value - std::min(header.end, header.base).value);
    for (std::size_t i = 0; i < places->entries.size(); ++i)
        if (places->entries[i].kind != EntryKind::message) places->marks.push_back(i);
    return places;
}

Result<std::vector<WantedEntry>> wanted_entries(const FilesLog& log, const ReadQuery& query) {
    std::vector<Range> ranges = query.ranges;
    if (ranges.empty()) ranges.push_back({Seq{1}, seq_max});
    if (query.newest_first) std::ranges::reverse(ranges);
    const LogPlaces& places = *log.places;
    const Seq base = log.header().base;
    std::vector<WantedEntry> wanted;
    bool whole = true;
    Seq missing;
    const auto add = [&](std::size_t i) {
        const EntryPlace& place = places.entries[i];
        const Seq seq = base + 1 + i;
        if (place.missing()) {
            whole = false;
            missing = seq;
        }
        if (!place.missing() && query.kinds.has(place.kind)) wanted.push_back({seq, place});
        return whole && wanted.size() < query.limit;
    };
    for (const Range& range : ranges) {
        const Seq from = std::max(range.from, base + 1);
        const Seq to = std::min(range.to, base + places.entries.size());
        if (to < from || wanted.size() >= query.limit) continue;
        const std::size_t first = from.value - base.value - 1, last = to.value - base.value;
        if (query.kinds.has(EntryKind::message)) {
            for (std::size_t i = first; i < last; ++i)
                if (!add(query.newest_first ? last - 1 - (i - first) : i)) break;
        } else {
            const auto low = std::ranges::lower_bound(places.marks, first);
            const auto high = std::ranges::lower_bound(places.marks, last);
            for (std::ptrdiff_t i = 0; i < high - low; ++i)
                if (!add(query.newest_first ? *(high - 1 - i) : *(low + i))) break;
        }
        if (!whole) return entry_trouble(log.header(), missing, "damaged");
    }
    return wanted;
}

Result<Bytes> fetch_payload(const FilesFolder& folder, const DiskFile& file, const Header& header,
                            const WantedEntry& wanted) {
    const EntryPlace& place = wanted.place;
    if (place.payload == PayloadPlace::none) return Bytes();
    auto bytes = place.payload == PayloadPlace::apart
                     ? folder.read_part(header.log, place.payload_at)
                     : file.read(place.payload_at, static_cast<std::size_t>(place.payload_bytes));
    if (!bytes && bytes.error().code != ErrorCode::not_found) return std::unexpected(bytes.error());
    if (!bytes || bytes->size() != place.payload_bytes || sum_of(*bytes) != place.payload_sum)
        return entry_trouble(header, wanted.seq, "damaged");
    return make_bytes(std::move(*bytes));
}

Result<std::vector<Entry>> fetch_entries(const FilesFolder& folder, const DiskFile& file,
                                         const Header& header,
                                         const std::vector<WantedEntry>& wanted, bool content) {
    std::vector<Entry> entries;
    entries.reserve(wanted.size());
    SpanReader span(file);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& [seq, place] = wanted[i];
        const std::uint64_t until = span_end(wanted, i, content);
        PAL_TRY(meta, span.bytes(place.meta_at, place.meta_bytes, until));
        if (meta.size() != place.meta_bytes ||
            sum_of_place(header.log, seq, place, meta) != place.sum)
            return entry_trouble(header, seq, "damaged");
        const std::string meta_copy(meta);
        Bytes payload;
        if (content && place.payload == PayloadPlace::here) {
            PAL_TRY(bytes, span.bytes(place.payload_at, place.payload_bytes, until));
            if (bytes.size() != place.payload_bytes || sum_of(bytes) != place.payload_sum)
                return entry_trouble(header, seq, "damaged");
            payload = make_bytes(std::string(bytes));
        } else if (content) {
            PAL_TRY(apart, fetch_payload(folder, file, header, wanted[i]));
            payload = apart;
        }
        PAL_TRY(body, decode_body(place.kind, meta_copy, payload));
        entries.push_back({seq, place.at, place.ordinal, std::move(body)});
    }
    return entries;
}

}  // namespace palimpsest
