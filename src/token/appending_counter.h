// Counts a text that grows at its end, such as a streamed reply. After each append the count is
// that of the whole text so far, at the price of the new bytes and the last few pieces: what is
// before a border that no later byte can move is counted once.
//
// A character that is cut off at the end of the text waits until it is complete. Text that has no
// border for thousands of bytes (one endless word, or bytes that are not UTF-8) would be counted
// anew each time. There the count is refreshed when the text has grown by an eighth, and what came
// since counts as one token for four bytes until then, or until settle(): the time stays linear.
#pragma once
#include "token/counter.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

class AppendingCounter {
public:
    // Uses the counter's caches; it must outlive this object.
    explicit AppendingCounter(Counter& counter) : counter_(&counter), text_(first_bytes, 0) {}

    void append(std::string_view chunk);
    std::uint64_t count() const { return closed_ + open_ + (size_ - counted_ + 3) / 4; }
    // Makes the count exact, which it almost always is.
    void settle();
    std::string_view text() const { return {text_.data(), size_}; }

private:
    static constexpr std::size_t first_bytes = 2048;
    static constexpr std::size_t exact_bytes = 4096;  // A stretch without borders up to this size.
    void recount();
    std::size_t valid_end();

    Counter* counter_;
    std::string text_;  // With Counter::padding bytes or more behind the text.
    std::size_t size_ = 0;
    std::size_t counted_ = 0;   // So much of it is in the count.
    std::size_t valid_ = 0;     // So much of it is known to be UTF-8.
    bool is_utf8_ = true;       // The rest is too, or may become so.
    std::size_t open_at_ = 0;   // A border that stays.
    std::uint64_t closed_ = 0;  // Tokens before it,
    std::uint64_t open_ = 0;    // and after it.
};

}  // namespace palimpsest
