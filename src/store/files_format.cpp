#include "store/files_format.h"

#include <cstring>

#include "base/hash.h"
#include "base/wire.h"
#include "store/port_fields.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr std::size_t window_bytes = 256 << 10;
constexpr std::uint8_t state_frame = 'H', lost_frame = 'L', key_frame = 'K', entries_frame = 'B';
constexpr std::uint8_t version = 1;

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + i])} << (8 * i);
    return value;
}

void put_number(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string_view bytes_of(const LogId& log) {
    return {reinterpret_cast<const char*>(log.bytes.data()), log.bytes.size()};
}

std::uint64_t sum_of_frame(const LogId& salt, std::uint64_t at, std::uint64_t payload_bytes,
                           std::string_view body) {
    Hasher hasher;
    hasher.add(bytes_of(salt));
    WireWriter numbers;
    numbers.fixed64(at);
    numbers.fixed64(payload_bytes);
    hasher.add(numbers.take());
    hasher.add(body);
    return hasher.digest().low;
}

std::unexpected<Error> damaged() {
    return fail(ErrorCode::internal, "a record of the store is damaged: its bytes do not decode");
}

template <class... T>
std::string encode_fields(std::uint8_t type, const T&... values) {
    WireWriter out;
    out.byte(version);
    out.byte(type);
    FieldWriter write(out);
    write(values...);
    return out.take();
}

EntryPlace read_place(WireReader& in) {
    EntryPlace place;
    place.kind = static_cast<EntryKind>(in.byte());
    place.payload = static_cast<PayloadPlace>(in.byte());
    place.at = Time(Duration(static_cast<std::int64_t>(in.fixed64())));
    place.ordinal = in.varint();
    place.meta_bytes = static_cast<std::uint32_t>(in.varint());
    place.sum = in.fixed64();
    if (place.payload == PayloadPlace::none) return place;
    place.payload_bytes = in.varint();
    place.payload_sum = in.fixed64();
    if (place.payload == PayloadPlace::apart) place.payload_at = in.varint();
    return place;
}

void write_place(WireWriter& out, const EntryPlace& place) {
    out.byte(static_cast<std::uint8_t>(place.kind));
    out.byte(static_cast<std::uint8_t>(place.payload));
    out.fixed64(static_cast<std::uint64_t>(place.at.time_since_epoch().count()));
    out.varint(place.ordinal);
    out.varint(place.meta_bytes);
    out.fixed64(place.sum);
    if (place.payload == PayloadPlace::none) return;
    out.varint(place.payload_bytes);
    out.fixed64(place.payload_sum);
    if (place.payload == PayloadPlace::apart) out.varint(place.payload_at);
}

// Metas stand at the end of the body, one after the other; payloads behind it likewise.
void locate(std::vector<EntryPlace>& places, std::uint64_t metas_at, std::uint64_t payloads_at) {
    for (EntryPlace& place : places) {
        place.meta_at = metas_at;
        metas_at += place.meta_bytes;
        if (place.payload != PayloadPlace::here) continue;
        place.payload_at = payloads_at;
        payloads_at += place.payload_bytes;
    }
}

std::optional<EntryRun> read_run(WireReader& in, const Frame& frame) {
    EntryRun run;
    run.now = Time(Duration(static_cast<std::int64_t>(in.fixed64())));
    run.first = Seq{in.varint()};
    run.places.resize(in.count(20));
    std::uint64_t metas = 0;
    for (EntryPlace& place : run.places) {
        place = read_place(in);
        metas += place.meta_bytes;
        if (place.missing() || static_cast<std::size_t>(place.kind) >= entry_kind_count) return {};
    }
    if (!in.ok() || in.left() != metas || run.places.empty()) return {};
    locate(run.places, frame.payload_at - metas, frame.payload_at);
    return run;
}

}  // namespace

std::uint64_t sum_of(std::string_view bytes) {
    return hash_bytes(bytes).low;
}

std::uint64_t sum_of_place(const LogId& log, Seq seq, const EntryPlace& place,
                           std::string_view meta) {
    WireWriter numbers;
    numbers.bytes(bytes_of(log));
    numbers.fixed64(seq.value);
    numbers.byte(static_cast<std::uint8_t>(place.kind));
    numbers.fixed64(static_cast<std::uint64_t>(place.at.time_since_epoch().count()));
    numbers.fixed64(place.ordinal);
    numbers.fixed64(place.payload_sum);
    Hasher hasher;
    hasher.add(numbers.take());
    hasher.add(meta);
    return hasher.digest().low;
}

void put_frame(std::string& out, const LogId& salt, std::uint64_t at, std::string_view body,
               std::string_view payload) {
    out.append(frame_mark);
    put_number(out, body.size(), 4);
    put_number(out, payload.size(), 8);
    put_number(out, sum_of_frame(salt, at, payload.size(), body), 8);
    out.append(body);
    out.append(payload);
}

// ---- walking ------------------------------------------------------------------------------------

Result<std::string_view> FrameReader::window(std::uint64_t at, std::size_t size) {
    const bool inside = at >= window_at_ && at + size <= window_at_ + window_.size();
    if (!inside) {
        const std::uint64_t left = at < length_ ? length_ - at : 0;
        const std::size_t want =
            static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(size, window_bytes)));
        PAL_TRY(bytes, file_.read(at, want));
        window_ = std::move(bytes);
        window_at_ = at;
    }
    return std::string_view(window_).substr(static_cast<std::size_t>(at - window_at_), size);
}

Result<std::optional<Frame>> FrameReader::frame_at(std::uint64_t at) {
    PAL_TRY(head, window(at, frame_head_bytes));
    if (head.size() < frame_head_bytes || !head.starts_with(frame_mark)) return std::nullopt;
    const std::uint64_t body_bytes = number_at(head, 4, 4), payload_bytes = number_at(head, 8, 8);
    const std::uint64_t sum = number_at(head, 16, 8);
    const std::uint64_t room = length_ - at - frame_head_bytes;
    if (body_bytes > room || payload_bytes > room - body_bytes) return std::nullopt;
    PAL_TRY(body, window(at + frame_head_bytes, static_cast<std::size_t>(body_bytes)));
    if (body.size() < body_bytes || sum_of_frame(salt_, at, payload_bytes, body) != sum)
        return std::nullopt;
    const std::uint64_t payload_at = at + frame_head_bytes + body_bytes;
    return Frame{at, payload_at + payload_bytes, payload_at, body};
}

// Where the next mark stands, from `from` on; the end when there is none.
Result<std::uint64_t> FrameReader::next_mark(std::uint64_t from) {
    while (from + frame_head_bytes <= length_) {
        PAL_TRY(view, window(from, static_cast<std::size_t>(
                                       std::min<std::uint64_t>(length_ - from, window_bytes))));
        const std::size_t found = view.find(frame_mark);
        if (found != view.npos) return from + found;
        if (view.size() < frame_head_bytes) break;
        from += view.size() - frame_mark.size() + 1;
    }
    return length_;
}

Result<std::optional<Frame>> FrameReader::next() {
    bad_bytes_ = 0;
    std::uint64_t at = at_;
    while (at < length_) {
        PAL_TRY(frame, frame_at(at));
        if (frame) {
            bad_bytes_ = at - at_;
            at_ = frame->end;
            return frame;
        }
        PAL_TRY(found, next_mark(at + 1));
        at = found;
    }
    return std::nullopt;
}

// ---- the frames of a log ------------------------------------------------------------------------

std::string encode_state(const LogState& state) {
    return encode_fields(state.lost ? lost_frame : state_frame, state.header, state.base_basis,
                         state.base_messages);
}

Result<LogState> decode_state(std::string_view bytes) {
    WireReader in(bytes);
    if (in.byte() != version) return damaged();
    const std::uint8_t type = in.byte();
    if (type != state_frame && type != lost_frame) return damaged();
    LogState state{.lost = type == lost_frame};
    FieldReader read(in);
    read(state.header, state.base_basis, state.base_messages);
    if (!read.done()) return damaged();
    return state;
}

void put_state(std::string& out, std::uint64_t at, const LogState& state) {
    put_frame(out, state.header.log, at, encode_state(state));
}

void put_key(std::string& out, std::uint64_t at, const LogId& log, const OnceKey& key) {
    put_frame(out, log, at,
              encode_fields(key_frame, key.key, key.digest, key.first, key.last, key.at));
}

std::vector<EntryPlace> put_entries(std::string& out, std::uint64_t at, const LogId& log, Time now,
                                    Seq first, const std::vector<FilesEntry>& entries) {
    WireWriter body;
    body.byte(version);
    body.byte(entries_frame);
    body.fixed64(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    body.varint(first.value);
    body.varint(entries.size());
    std::vector<EntryPlace> places;
    std::string metas, payloads;
    Seq seq = first;
    for (const FilesEntry& entry : entries) {
        EntryPlace place{.kind = entry.kind,
                         .meta_bytes = static_cast<std::uint32_t>(entry.meta.size()),
                         .at = entry.at,
                         .ordinal = entry.ordinal};
        if (entry.apart != 0) {
            place.payload = PayloadPlace::apart;
            place.payload_at = entry.apart;
            place.payload_bytes = entry.apart_bytes;
            place.payload_sum = entry.apart_sum;
        } else if (entry.payload) {
            place.payload = PayloadPlace::here;
            place.payload_bytes = entry.payload->size();
            place.payload_sum = sum_of(*entry.payload);
            payloads += *entry.payload;
        }
        place.sum = sum_of_place(log, seq, place, entry.meta);
        write_place(body, place);
        metas += entry.meta;
        places.push_back(place);
        seq = seq + 1;
    }
    body.bytes(metas);
    const std::string text = body.take();
    const std::uint64_t payloads_at = at + frame_head_bytes + text.size();
    locate(places, payloads_at - metas.size(), payloads_at);
    put_frame(out, log, at, text, payloads);
    return places;
}

Result<LogFrame> read_log_frame(const Frame& frame) {
    WireReader in(frame.body);
    LogFrame found;
    if (in.byte() != version) return damaged();
    const std::uint8_t type = in.byte();
    if (type == state_frame || type == lost_frame) {
        PAL_TRY(state, decode_state(frame.body));
        found.state = std::move(state);
        return found;
    }
    if (type == entries_frame) {
        found.run = read_run(in, frame);
        if (!found.run) return damaged();
        return found;
    }
    if (type != key_frame) return damaged();
    OnceKey& key = found.key.emplace();
    FieldReader read(in);
    read(key.key, key.digest, key.first, key.last, key.at);
    if (!read.done()) return damaged();
    return found;
}

void fold_frame(LogState& state, const LogFrame& frame) {
    if (frame.state) state = *frame.state;
    if (!frame.run) return;
    Header& header = state.header;
    Seq seq = frame.run->first;
    for (const EntryPlace& place : frame.run->places) {
        if (basis_kinds.has(place.kind)) header.basis = seq;
        header.messages = place.ordinal;
        header.end = seq;
        seq = seq + 1;
    }
    header.updated = header.accessed = frame.run->now;
    put_off_expiry(header, frame.run->now);
}

}  // namespace palimpsest
