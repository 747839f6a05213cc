// A new version of a log's file: without what was scrubbed, or without what no fork needs.
//
// Nothing of the old version is touched; the change that names the new one makes it count.
#include <algorithm>

#include "core/codec.h"
#include "store/files_read.h"
#include "store/files_writer.h"

namespace palimpsest {
namespace {

constexpr std::size_t run_entries_max = 256;
constexpr std::uint64_t run_bytes_max = 1 << 20;

// Writes frames to the end of a new file.
class VersionWriter {
public:
    VersionWriter(FilesFolder& folder, LogFileId id) : folder_(folder), id_(id) {}
    Result<void> state(const LogState& state) {
        std::string bytes;
        put_state(bytes, end_, state);
        return add(bytes);
    }
    Result<void> key(const OnceKey& key) {
        std::string bytes;
        put_key(bytes, end_, id_.log, key);
        places_->once[key.key] = key;
        return add(bytes);
    }
    // Entries come in order; a hole between them stays one.
    Result<void> entry(Seq base, Seq seq, FilesEntry entry) {
        const bool follows = seq == first_ + run_.size() && run_.size() < run_entries_max &&
                             run_bytes_ < run_bytes_max;
        if (!follows) PAL_CHECK(flush());
        if (run_.empty()) first_ = seq;
        base_ = base;
        run_bytes_ += entry.meta.size() + view_of(entry.payload).size();
        run_.push_back(std::move(entry));
        return {};
    }
    Result<void> flush() {
        if (run_.empty()) return {};
        std::string bytes;
        const auto places = put_entries(bytes, end_, id_.log, run_.back().at, first_, run_);
        places_->entries.resize(first_.value - base_.value - 1);
        places_->entries.insert(places_->entries.end(), places.begin(), places.end());
        run_.clear();
        run_bytes_ = 0;
        return add(bytes);
    }
    std::shared_ptr<LogPlaces> places() { return places_; }
    std::uint64_t end() const { return end_; }

private:
    Result<void> add(std::string_view bytes) {
        PAL_CHECK(folder_.write(id_, end_, bytes));
        end_ += bytes.size();
        return {};
    }
    FilesFolder& folder_;
    const LogFileId id_;
    std::uint64_t end_ = 0;
    std::shared_ptr<LogPlaces> places_ = std::make_shared<LogPlaces>();
    std::vector<FilesEntry> run_;
    std::uint64_t run_bytes_ = 0;
    Seq first_ = {}, base_ = {};
};

FilesEntry replaced_entry(const EntryPlace& old, const Body& body) {
    EncodedBody encoded = encode_body(body);
    return {.kind = old.kind,
            .at = old.at,
            .ordinal = old.ordinal,
            .meta = std::move(encoded.meta),
            .payload = std::move(encoded.payload)};
}

// As it is; none when it is damaged: what is lost stays lost, and is said to be.
Result<std::optional<FilesEntry>> kept_entry(const FilesFolder& folder, const DiskFile& file,
                                             const Header& header, const WantedEntry& wanted) {
    const EntryPlace& place = wanted.place;
    FilesEntry entry{.kind = place.kind, .at = place.at, .ordinal = place.ordinal};
    PAL_TRY(meta, file.read(place.meta_at, place.meta_bytes));
    if (sum_of_place(header.log, wanted.seq, place, meta) != place.sum) return std::nullopt;
    entry.meta = std::move(meta);
    if (place.payload == PayloadPlace::apart) {
        entry.apart = place.payload_at;
        entry.apart_bytes = place.payload_bytes;
        entry.apart_sum = place.payload_sum;
    } else if (place.payload == PayloadPlace::here) {
        auto payload = fetch_payload(folder, file, header, wanted);
        if (!payload && payload.error().code == ErrorCode::internal) return std::nullopt;
        if (!payload) return std::unexpected(payload.error());
        entry.payload = *payload;
    }
    return entry;
}

std::vector<std::uint64_t> parts_of(const LogPlaces& places) {
    std::vector<std::uint64_t> parts;
    for (const EntryPlace& place : places.entries)
        if (place.payload == PayloadPlace::apart) parts.push_back(place.payload_at);
    std::ranges::sort(parts);
    parts.erase(std::ranges::unique(parts).begin(), parts.end());
    return parts;
}

Result<SwappedLog> write_version(FilesFolder& folder, FilesLog& log, LogState state,
                                 const FilesWriter::Replacements& with, bool keep_keys) {
    const LogId uid = log.header().log;
    PAL_TRY(file, folder.open_known({uid, log.version}));
    VersionWriter out(folder, {uid, log.version + 1});
    PAL_CHECK(out.state(state));
    const Seq base = log.header().base;
    for (Seq seq = base + 1; seq <= state.header.end; seq = seq + 1) {
        const EntryPlace& place = log.places->entries[seq.value - base.value - 1];
        if (place.missing()) continue;
        const auto replacement = with.find(seq);
        if (replacement != with.end()) {
            PAL_CHECK(out.entry(base, seq, replaced_entry(place, replacement->second)));
            continue;
        }
        PAL_TRY(entry, kept_entry(folder, *file, log.header(), {seq, place}));
        if (entry) PAL_CHECK(out.entry(base, seq, std::move(*entry)));
    }
    PAL_CHECK(out.flush());
    if (keep_keys)
        for (const auto& [key, once] : log.places->once) PAL_CHECK(out.key(once));
    PAL_CHECK(out.state(state));
    SwappedLog swapped{.log = &log,
                       .state = std::move(state),
                       .version = log.version + 1,
                       .length = out.end(),
                       .places = out.places()};
    LogPlaces& places = *swapped.places;
    places.entries.resize(swapped.state.header.end.value - base.value);
    for (std::size_t i = 0; i < places.entries.size(); ++i)
        if (places.entries[i].kind != EntryKind::message) places.marks.push_back(i);
    const std::vector<std::uint64_t> before = parts_of(*log.places), after = parts_of(places);
    std::ranges::set_difference(before, after, std::back_inserter(swapped.parts_gone));
    places.apart_next = log.places->apart_next;
    return swapped;
}

}  // namespace

Result<SwappedLog> FilesWriter::rewrite(FilesLog& log, LogState state, const Replacements& with,
                                        bool keep_keys) {
    PAL_CHECK(begin());
    PAL_CHECK(load(log));
    FilesFolder& folder = *disk_.folder;
    auto swapped = write_version(folder, log, std::move(state), with, keep_keys);
    // The journal names the new version only: it must be on the disk before that.
    const Result<void> synced =
        swapped ? folder.sync() : Result<void>(std::unexpected(swapped.error()));
    if (synced) return swapped;
    folder.remove({log.header().log, log.version + 1});
    distrusted_ = distrusted_ || swapped.has_value();
    return std::unexpected(synced.error());
}

}  // namespace palimpsest
