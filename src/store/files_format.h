// The bytes of the files store. docs/FORMATS.md has the layout.
//
// Every file is a row of frames: a mark, two lengths, a sum, a body, and after it what people said
// (the payloads, each with a sum of its own in the body, so that it can be left unread). The sum
// covers a salt (the uid of the log; the generation of the journal) and the place of the frame, so
// no frame passes for another. After damage the next whole frame is found by its mark.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"
#include "store/files_disk.h"

namespace palimpsest {

constexpr std::size_t frame_head_bytes = 24;
constexpr std::string_view frame_mark = "PALr";  // Every frame begins with it.

// A frame that was found, and is whole but for its payloads, which were not looked at.
struct Frame {
    std::uint64_t at = 0, end = 0;
    std::uint64_t payload_at = 0;
    std::string_view body = {};  // good until the next call
};

// Appends a frame that will stand at `at` of its file.
void put_frame(std::string& out, const LogId& salt, std::uint64_t at, std::string_view body,
               std::string_view payload = {});

// Walks the frames of the first `length` bytes of a file.
class FrameReader {
public:
    FrameReader(const DiskFile& file, const LogId& salt, std::uint64_t length)
        : file_(file), salt_(salt), length_(length) {}
    // The next whole frame, from `at` on; none at the end.
    Result<std::optional<Frame>> next();
    void go_to(std::uint64_t at) { at_ = at; }
    std::uint64_t at() const { return at_; }                // behind the last whole frame
    std::uint64_t bad_bytes() const { return bad_bytes_; }  // skipped before the last frame
    // Whether what is left could not be read as a frame.
    bool bad_tail() const { return at_ < length_; }

private:
    Result<std::optional<Frame>> frame_at(std::uint64_t at);
    Result<std::uint64_t> next_mark(std::uint64_t from);
    Result<std::string_view> window(std::uint64_t at, std::size_t size);

    const DiskFile& file_;
    const LogId salt_;
    const std::uint64_t length_;
    std::uint64_t at_ = 0, bad_bytes_ = 0;
    std::uint64_t window_at_ = 0;
    std::string window_;
};

// ---- the frames of a log's file -----------------------------------------------------------------

// All that a log is, but for its entries and keys.
struct LogState {
    Header header = {};
    Seq base_basis = {};  // basis and messages at the base: what is left when all else is trimmed
    std::uint64_t base_messages = 0;
    bool lost = false;  // the header is what its entries tell of it: see files_lost.h
};

enum class PayloadPlace : std::uint8_t { none = 0, here = 1, apart = 2 };

// Where an entry lies, and what it must add up to.
struct EntryPlace {
    EntryKind kind = EntryKind::message;
    PayloadPlace payload = PayloadPlace::none;
    std::uint32_t meta_bytes = 0;
    Time at = {};
    std::uint64_t ordinal = 0;
    std::uint64_t sum = 0, payload_sum = 0;
    std::uint64_t meta_at = 0;
    std::uint64_t payload_at = 0;  // apart: the number of the file beside the log's
    std::uint64_t payload_bytes = 0;
    bool missing() const { return meta_bytes == 0; }
};

// What a batch with an idempotency key came to.
struct OnceKey {
    std::string key = {};
    Fingerprint digest = {};
    Seq first = {}, last = {};
    Time at = {};
};

// An entry on its way into a file.
struct FilesEntry {
    EntryKind kind = EntryKind::message;
    Time at = {};
    std::uint64_t ordinal = 0;
    std::string meta = {};
    Bytes payload = {};
    std::uint64_t apart = 0;  // its payload is in this file beside the log's; 0: it is not
    std::uint64_t apart_bytes = 0, apart_sum = 0;  // then these say what is in it
};

struct EntryRun {
    Time now = {};  // when it was written: the log's `updated`
    Seq first = {};
    std::vector<EntryPlace> places = {};
};

// Appends a frame to `out`, which will stand at `at` of the log's file.
void put_state(std::string& out, std::uint64_t at, const LogState& state);
void put_key(std::string& out, std::uint64_t at, const LogId& log, const OnceKey& key);
std::vector<EntryPlace> put_entries(std::string& out, std::uint64_t at, const LogId& log, Time now,
                                    Seq first, const std::vector<FilesEntry>& entries);

// What a frame of a log holds: one of the three.
struct LogFrame {
    std::optional<LogState> state = {};
    std::optional<OnceKey> key = {};
    std::optional<EntryRun> run = {};
};
Result<LogFrame> read_log_frame(const Frame& frame);
// What the frame makes of the state. Doing it twice changes nothing.
void fold_frame(LogState& state, const LogFrame& frame);

std::uint64_t sum_of(std::string_view bytes);
std::uint64_t sum_of_place(const LogId& log, Seq seq, const EntryPlace& place,
                           std::string_view meta);

std::string encode_state(const LogState& state);
Result<LogState> decode_state(std::string_view bytes);

}  // namespace palimpsest
