#include "store/files_keyed.h"

#include "base/wire.h"
#include "store/files_format.h"

namespace palimpsest {
namespace {

constexpr std::uint8_t row_of_value = 'V', row_of_removal = 'D', row_of_mark = 'M', hole = 0;
constexpr std::uint64_t compaction_least = 1 << 20;
const LogId no_salt{};

std::string row(std::uint8_t type, std::string_view key, std::string_view value) {
    WireWriter out;
    out.byte(type);
    out.text(key);
    out.bytes(value);
    return out.take();
}

std::string mark_row(std::uint64_t mark, std::uint64_t sum) {
    WireWriter out;
    out.byte(row_of_mark);
    out.fixed64(mark);
    out.fixed64(sum);
    return out.take();
}

}  // namespace

Result<KeyedFile> KeyedFile::open(const std::string& path, bool syncs, const Each& each) {
    KeyedFile table(path, syncs);
    auto file = DiskFile::open(path, DiskFile::Mode::write, syncs);
    table.was_there_ = file.has_value();
    if (!file && file.error().code != ErrorCode::not_found) return std::unexpected(file.error());
    if (!file) file = DiskFile::open(path, DiskFile::Mode::create, syncs);
    if (!file) return std::unexpected(file.error());
    table.file_ = std::move(*file);
    PAL_CHECK(table.read_all(each));
    return table;
}

Result<void> KeyedFile::read_all(const Each& each) {
    PAL_TRY(size, file_.size());
    FrameReader frames(file_, no_salt, size);
    std::map<std::string, std::string, std::less<>> values;
    bool unsure = false;  // something stands behind the last mark that was right
    for (;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) break;
        whole_ = whole_ && frames.bad_bytes() == 0;
        WireReader in(frame->body);
        const std::uint8_t type = in.byte();
        if (type == row_of_mark) read_mark(frame->body, unsure);
        if (type == row_of_mark) continue;
        unsure = true;
        if (type == hole) continue;
        const std::string key(in.text());
        const std::string_view value = in.bytes(in.left());
        note(key, frame->at, frame->body);
        if (type == row_of_value)
            values.insert_or_assign(key, std::string(value));
        else
            values.erase(key);
    }
    whole_ = whole_ && !frames.bad_tail();
    end_ = frames.at();
    if (loss_ == KeyedLoss::none && (unsure || frames.bad_tail())) loss_ = KeyedLoss::last_write;
    for (const auto& [key, value] : values) PAL_CHECK(each(key, value));
    return {};
}

// One mark that is wrong may be of a write whose beginning did not reach the disk; what comes after
// it was written later.
void KeyedFile::read_mark(std::string_view body, bool& unsure) {
    WireReader in(body);
    in.byte();
    mark_ = in.fixed64();
    const bool right = in.fixed64() == sum_ && in.ok();
    if (right)
        loss_ = KeyedLoss::none;
    else
        loss_ = loss_ == KeyedLoss::none ? KeyedLoss::last_write : KeyedLoss::values;
    unsure = false;
}

void KeyedFile::note(std::string_view key, std::uint64_t at, std::string_view body) {
    const bool live = body.front() == row_of_value;
    auto found = keys_.find(key);
    if (found == keys_.end()) found = keys_.emplace(std::string(key), Kept{}).first;
    Kept& kept = found->second;
    kept.places.emplace_back(at, body.size());
    live_ -= kept.live;
    kept.live = live ? frame_head_bytes + body.size() : 0;
    live_ += kept.live;
    sum_ ^= kept.sum;
    kept.sum = live ? sum_of(body) : 0;
    sum_ ^= kept.sum;
}

void KeyedFile::put_row(std::string_view key, const std::string* value) {
    const std::string body =
        row(value ? row_of_value : row_of_removal, key, value ? *value : std::string());
    const std::uint64_t at = end_ + pending_.size();
    put_frame(pending_, no_salt, at, body);
    note(key, at, body);
}

void KeyedFile::put(std::string_view key, std::string_view value) {
    const std::string text(value);
    put_row(key, &text);
}

void KeyedFile::remove(std::string_view key) {
    put_row(key, nullptr);
}

// What is written over keeps its place and length, as a frame that says nothing.
Result<void> KeyedFile::wipe_key(const std::string& key, std::uint64_t before) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return {};
    Kept& kept = found->second;
    while (!kept.places.empty() && kept.places.front().first < before) {
        const auto [at, size] = kept.places.front();
        std::string bytes;
        put_frame(bytes, no_salt, at, std::string(size, static_cast<char>(hole)));
        PAL_CHECK(file_.write(at, bytes));
        kept.places.erase(kept.places.begin());
    }
    return {};
}

Result<void> KeyedFile::write(std::uint64_t mark, const std::vector<std::string>& wipe) {
    const std::uint64_t before = end_;
    std::string bytes = pending_;
    put_frame(bytes, no_salt, end_ + bytes.size(), mark_row(mark, sum_));
    PAL_CHECK(file_.write(end_, bytes));
    PAL_CHECK(file_.sync());
    end_ += bytes.size();
    mark_ = mark;
    loss_ = KeyedLoss::none;
    pending_.clear();
    if (wipe.empty()) return {};
    for (const std::string& key : wipe) PAL_CHECK(wipe_key(key, before));
    return file_.sync();
}

bool KeyedFile::wants_compaction() const {
    return end_ > compaction_least && end_ > 2 * live_;
}

Result<void> KeyedFile::compact(
    std::uint64_t mark,
    const std::function<
        void(const std::function<void(std::string_view key, std::string_view value)>&)>& all) {
    KeyedFile fresh(path_ + ".new", syncs_);
    PAL_TRY(file, DiskFile::open(fresh.path_, DiskFile::Mode::create, syncs_));
    fresh.file_ = std::move(file);
    PAL_CHECK(fresh.file_.cut(0));
    all([&](std::string_view key, std::string_view value) { fresh.put(key, value); });
    PAL_CHECK(fresh.write(mark));
    PAL_CHECK(rename_file(fresh.path_, path_));
    if (syncs_) PAL_CHECK(sync_folder(path_.substr(0, path_.rfind('/') + 1)));
    fresh.path_ = path_;
    fresh.was_there_ = was_there_;
    *this = std::move(fresh);
    return {};
}

}  // namespace palimpsest
