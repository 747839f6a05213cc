// The journal of the files store: what is acknowledged is here first, whatever file it belongs to,
// so that one sync serves many conversations.
//
// One file, written over from its start after every checkpoint. A group is one frame: it is there
// whole or not at all. Frames are salted with the generation, which grows at every checkpoint, so
// what is left of earlier ones is never taken for new. A group says how far the journal was synced
// when it was written, so that damage is told from what a power cut left undone. The file is filled
// with zeros ahead of the writing: a sync of bytes that are already there is cheaper than one that
// makes a file longer.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/files_disk.h"
#include "store/files_format.h"

namespace palimpsest {

enum class JournalOutcome : std::uint8_t { done, failed, unknown };

class FilesJournal {
public:
    // Makes the file when it is not there. One whose head is damaged opens, and is good for nothing
    // before take_generation().
    static Result<FilesJournal> open(const std::string& path, bool syncs);

    std::uint64_t generation() const { return generation_; }
    std::uint64_t bytes() const { return end_ - first_group_at; }
    bool was_there() const { return was_there_; }
    bool head_damaged() const { return head_damaged_; }
    void take_generation(std::uint64_t generation) { generation_ = generation; }
    const std::string& path() const { return path_; }
    // Whoever had it before did not close it.
    bool was_busy() const { return was_busy_; }
    // A group was cut short behind the last whole one: nobody was told that it is there. After
    // replay_found().
    bool was_torn() const { return torn_; }

    // Each whole group, in order. At opening, whatever is there up to the first that is not whole;
    // gives whether that one had been synced. Later, what was acknowledged.
    using Each = std::function<Result<void>(std::string_view group)>;
    Result<bool> replay_found(const Each& each);
    Result<void> replay_acknowledged(const Each& each);

    // Room for a group of this size. Called before any other file is touched for it, so that a
    // journal that is closed well tells that nothing was under way.
    Result<void> prepare(std::uint64_t group_bytes);
    // Writes the group behind the last one. `failed`: it is not there and never will be. `unknown`:
    // nothing more may be written before renew().
    JournalOutcome append(std::string_view group, bool sync, Error& error);
    Result<void> sync();
    // Forgets every group: they are elsewhere, and durable. With `wipe` no byte of them stays.
    Result<void> reset(bool wipe);
    // A new file in place of this one, which cannot be trusted any more.
    Result<void> renew();
    // Leaves nothing but the head.
    Result<void> shrink();

private:
    FilesJournal(std::string path, bool syncs) : path_(std::move(path)), syncs_(syncs) {}
    Result<void> write_head(DiskFile& file, std::uint64_t generation);
    Result<void> read_head();
    Result<bool> begins_torn_group() const;
    Result<void> make_room(std::uint64_t size);
    static constexpr std::uint64_t first_group_at = 64;

    std::string path_;
    bool syncs_ = true;
    DiskFile file_;
    std::uint64_t generation_ = 0;
    std::uint64_t end_ = first_group_at;  // behind the last group
    std::uint64_t filled_ = 0;            // how far the file goes
    std::uint64_t used_ = 0;              // how far groups were ever written
    std::uint64_t synced_ = 0;            // groups before this were synced
    bool was_there_ = false, was_busy_ = false, head_damaged_ = false, torn_ = false;
    std::string buffer_;
};

}  // namespace palimpsest
