#include "store/files_journal.h"

#include <algorithm>
#include <cstring>

#include "base/wire.h"

namespace palimpsest {
namespace {

constexpr std::string_view head_mark = "PALJ0002";
// Zeros are written ahead in steps that grow with the journal, so that a short life stays cheap.
constexpr std::uint64_t fill_least = 64 << 10, fill_most = 1 << 20;
constexpr std::uint64_t generations_looked_at = 4;

LogId salt_of(std::uint64_t generation) {
    LogId salt;
    for (std::size_t i = 0; i < 8; ++i)
        salt.bytes[i] = static_cast<std::uint8_t>(generation >> (8 * i));
    return salt;
}

std::string head_of(std::uint64_t generation) {
    WireWriter head;
    head.bytes(head_mark);
    head.fixed64(generation);
    std::string bytes = head.take();
    WireWriter sum;
    sum.fixed64(sum_of(bytes));
    bytes += sum.take();
    return bytes;
}

struct Group {
    std::uint64_t synced = 0;
    std::string_view bytes = {};
};

Group group_of(const Frame& frame) {
    WireReader in(frame.body);
    const std::uint64_t synced = in.fixed64();
    return {synced, in.bytes(in.left())};
}

}  // namespace

Result<FilesJournal> FilesJournal::open(const std::string& path, bool syncs) {
    FilesJournal journal(path, syncs);
    auto file = DiskFile::open(path, DiskFile::Mode::write, syncs);
    if (!file && file.error().code != ErrorCode::not_found) return std::unexpected(file.error());
    if (!file) {
        PAL_CHECK(journal.renew());
        return journal;
    }
    journal.file_ = std::move(*file);
    journal.was_there_ = true;
    PAL_CHECK(journal.read_head());
    return journal;
}

Result<void> FilesJournal::read_head() {
    PAL_TRY(head, file_.read(0, head_of(0).size()));
    WireReader in(head);
    in.bytes(head_mark.size());
    generation_ = in.fixed64();
    head_damaged_ = !in.ok() || head != head_of(generation_);
    PAL_TRY(size, file_.size());
    filled_ = used_ = size;
    was_busy_ = size > first_group_at;
    return {};
}

Result<void> FilesJournal::prepare(std::uint64_t group_bytes) {
    return make_room(group_bytes + frame_head_bytes + sizeof(synced_));
}

Result<void> FilesJournal::write_head(DiskFile& file, std::uint64_t generation) {
    return file.write(0, head_of(generation));
}

Result<bool> FilesJournal::replay_found(const Each& each) {
    FrameReader frames(file_, salt_of(generation_), filled_);
    frames.go_to(first_group_at);
    for (bool gap = false;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) {
            PAL_TRY(torn, begins_torn_group());
            torn_ = torn;
            return false;
        }
        gap = gap || frames.bad_bytes() > 0;
        const Group group = group_of(*frame);
        if (gap && group.synced > end_) return true;
        if (gap) continue;
        PAL_CHECK(each(group.bytes));
        end_ = frame->end;
    }
}

// What lies behind the last group is nothing, what is left of older generations, or a group that a
// crash cut short.
Result<bool> FilesJournal::begins_torn_group() const {
    PAL_TRY(mark, file_.read(end_, frame_mark.size()));
    if (mark != frame_mark) return false;
    for (std::uint64_t age = 1; age <= std::min(generation_, generations_looked_at); ++age) {
        FrameReader frames(file_, salt_of(generation_ - age), filled_);
        frames.go_to(end_);
        PAL_TRY(frame, frames.next());
        if (frame && frame->at == end_) return false;
    }
    return true;
}

Result<void> FilesJournal::replay_acknowledged(const Each& each) {
    FrameReader frames(file_, salt_of(generation_), end_);
    frames.go_to(first_group_at);
    while (frames.at() < end_) {
        PAL_TRY(frame, frames.next());
        if (!frame || frames.bad_bytes() > 0)
            return fail(ErrorCode::unavailable,
                        path_ + ": the journal cannot be read back after a fault of the disk");
        PAL_CHECK(each(group_of(*frame).bytes));
    }
    return {};
}

Result<void> FilesJournal::make_room(std::uint64_t size) {
    if (end_ + size <= filled_) return {};
    const std::uint64_t step = std::clamp<std::uint64_t>(filled_, fill_least, fill_most);
    const std::string zeros(fill_least, '\0');
    const std::uint64_t want = end_ + size + step;
    for (std::uint64_t at = filled_; at < want; at += zeros.size())
        PAL_CHECK(file_.write(at, zeros));
    PAL_TRY(have, file_.size());
    filled_ = have;
    return {};
}

JournalOutcome FilesJournal::append(std::string_view group, bool sync, Error& error) {
    buffer_.clear();
    WireWriter body;
    body.fixed64(synced_);
    body.bytes(group);
    put_frame(buffer_, salt_of(generation_), end_, body.take());
    if (const auto room = make_room(buffer_.size()); !room) {
        error = room.error();
        return JournalOutcome::failed;
    }
    used_ = std::max(used_, end_ + buffer_.size());
    if (const auto written = file_.write(end_, buffer_); !written) {
        error = written.error();
        // Without its mark it is no group, however much of it went to the disk.
        const bool undone = file_.write(end_, std::string(frame_head_bytes, '\0')).has_value();
        return undone ? JournalOutcome::failed : JournalOutcome::unknown;
    }
    if (sync) {
        if (const auto synced = file_.sync(); !synced) {
            error = synced.error();
            return JournalOutcome::unknown;
        }
    }
    end_ += buffer_.size();
    if (sync && syncs_) synced_ = end_;
    return JournalOutcome::done;
}

Result<void> FilesJournal::sync() {
    PAL_CHECK(file_.sync());
    if (syncs_) synced_ = end_;
    return {};
}

Result<void> FilesJournal::reset(bool wipe) {
    if (wipe) {
        const std::string zeros(fill_least, '\0');
        for (std::uint64_t at = first_group_at; at < used_; at += zeros.size()) {
            const std::uint64_t size = std::min<std::uint64_t>(zeros.size(), used_ - at);
            PAL_CHECK(file_.write(at, std::string_view(zeros).substr(0, size)));
        }
    }
    PAL_CHECK(write_head(file_, generation_ + 1));
    if (wipe) {
        PAL_CHECK(file_.sync());
        used_ = first_group_at;
    }
    ++generation_;
    end_ = first_group_at;
    synced_ = 0;
    return {};
}

Result<void> FilesJournal::renew() {
    const std::string fresh = path_ + ".new";
    PAL_TRY(file, DiskFile::open(fresh, DiskFile::Mode::create, syncs_));
    PAL_CHECK(file.cut(0));
    PAL_CHECK(write_head(file, generation_ + 1));
    PAL_CHECK(file.sync());
    PAL_CHECK(rename_file(fresh, path_));
    if (syncs_) PAL_CHECK(sync_folder(path_.substr(0, path_.rfind('/') + 1)));
    file_ = std::move(file);
    ++generation_;
    end_ = first_group_at;
    synced_ = 0;
    PAL_TRY(size, file_.size());
    filled_ = used_ = size;
    return {};
}

Result<void> FilesJournal::shrink() {
    PAL_CHECK(file_.cut(first_group_at));
    filled_ = used_ = first_group_at;
    return {};
}

}  // namespace palimpsest
