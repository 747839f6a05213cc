// Counts a text that grows at its end, such as a streamed reply. After each append the count is
// that of the whole text so far, at the price of the new bytes and the last piece or two: what is
// before a border that no later byte can move is counted once. A piece that goes on for thousands
// of bytes, and bytes that are not UTF-8, are neither split nor merged anew, so the time is linear
// in the text whatever it holds.
//
// A character that is cut off at the end of the text waits until it is complete.
#pragma once
#include "token/counter.h"
#include "token/growing_piece.h"
#include "token/long_run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

class AppendingCounter {
public:
    // Uses the counter's caches; it must outlive this object.
    explicit AppendingCounter(Counter& counter);

    void append(std::string_view chunk);
    std::uint64_t count() const { return closed_ + open_; }
    std::string_view text() const { return {text_.data(), size_}; }

private:
    static constexpr std::size_t first_bytes = 2048;
    static constexpr std::size_t long_bytes = 128;  // From here on a piece is a LongRun.
    struct Placed {
        const char* at = nullptr;
        std::uint32_t tokens = 0;
    };
    bool recount_ascii();
    void recount();
    void recount_pieces();
    void recount_run();
    void read_characters();
    void know(Placed piece, const char* end);
    bool is_settled(const char* piece, const char* end) const;
    std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text_.data()); }
    std::string_view between(std::size_t from, std::size_t to) const {
        return text().substr(from, to - from);
    }

    Counter* counter_;
    std::string text_;  // With Counter::padding bytes or more behind the text.
    std::size_t size_ = 0;
    std::size_t valid_ = 0;           // So much of it is known to be UTF-8.
    bool is_utf8_ = true;             // The rest is too, or may become so.
    std::size_t open_at_ = 0;         // A border that stays.
    std::uint64_t closed_ = 0;        // Tokens before it,
    std::uint64_t open_ = 0;          // and after it.
    std::size_t known_size_ = 0;      // The piece at open_at_, when it was last counted,
    std::uint32_t known_tokens_ = 0;  // had these; 0 bytes: not known.
    GrowingPiece piece_, second_;
    std::optional<LongRun> run_;  // What starts at open_at_, if it is long.
};

}  // namespace palimpsest
