// A small keyed table in one append-only file: the newest value of a key counts. The files store
// keeps two, written at checkpoints only: `index` (a log's state by its uid) and `records`.
//
// What is in memory is the owner's; this is the file. A value that was replaced stays in the file
// until wipe() writes over it or compact() writes the file anew. Every write ends with a mark that
// carries a sum of all values that count, so that a damaged value is never taken for an absent one.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/files_disk.h"

namespace palimpsest {

// What the bytes of the file say about the values that were written to it.
enum class KeyedLoss : std::uint8_t {
    none,        // every value that counts is there, whatever else is damaged
    last_write,  // all but those of one last write, which did not reach its end
    values,      // some that count are gone, or the file is not what it was
};

class KeyedFile {
public:
    using Each = std::function<Result<void>(std::string_view key, std::string_view value)>;

    // Hands over every value that counts and is whole. Changes nothing in a file that is there.
    static Result<KeyedFile> open(const std::string& path, bool syncs, const Each& each);

    bool whole() const { return whole_; }  // all bytes of the file
    KeyedLoss loss() const { return loss_; }
    bool was_there() const { return was_there_; }
    std::uint64_t mark() const { return mark_; }

    void put(std::string_view key, std::string_view value);  // in memory, until write()
    void remove(std::string_view key);
    // Writes what was put and removed, with a mark (a number that the owner gives a meaning), and
    // syncs it. With `wipe`, no earlier value of the keys given to it stays in the file.
    Result<void> write(std::uint64_t mark, const std::vector<std::string>& wipe = {});
    bool wants_compaction() const;
    // Writes the file anew with what the owner has.
    Result<void> compact(
        std::uint64_t mark,
        const std::function<
            void(const std::function<void(std::string_view key, std::string_view value)>&)>& all);

private:
    struct Kept {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> places = {};  // at, size of the body
        std::uint64_t live = 0;                                            // bytes that count
        std::uint64_t sum = 0;                                             // of the value; 0: none
    };
    KeyedFile(std::string path, bool syncs) : path_(std::move(path)), syncs_(syncs) {}
    void put_row(std::string_view key, const std::string* value);
    void note(std::string_view key, std::uint64_t at, std::string_view body);
    Result<void> read_all(const Each& each);
    void read_mark(std::string_view body, bool& unsure);
    Result<void> wipe_key(const std::string& key, std::uint64_t before);

    std::string path_;
    bool syncs_ = true;
    DiskFile file_;
    std::uint64_t end_ = 0, live_ = 0, mark_ = 0;
    std::uint64_t sum_ = 0;  // of all values that count
    bool whole_ = true, was_there_ = false;
    KeyedLoss loss_ = KeyedLoss::values;  // until a mark says otherwise
    std::string pending_;
    std::map<std::string, Kept, std::less<>> keys_;
};

}  // namespace palimpsest
