// Counts a text that grows at its end, such as a streamed reply. After each append the count is
// that of the whole text so far, at the price of the new bytes and the last few pieces: what is
// before a border that no later byte can move is counted once.
//
// A character that is cut off at the end of the text waits until it is complete. Text that is not
// UTF-8 is counted anew each time.
#pragma once
#include "token/counter.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest {

class AppendingCounter {
public:
    // Uses the counter's caches; it must outlive this object.
    explicit AppendingCounter(Counter& counter) : counter_(&counter), text_(Counter::padding, 0) {}

    void append(std::string_view chunk);
    std::uint64_t count() const { return closed_ + open_; }
    std::string_view text() const { return {text_.data(), size_}; }

private:
    Counter* counter_;
    std::string text_;  // With Counter::padding bytes or more behind the text.
    std::size_t size_ = 0;
    std::size_t open_at_ = 0;   // A border that stays.
    std::uint64_t closed_ = 0;  // Tokens before it,
    std::uint64_t open_ = 0;    // and after it.
};

}  // namespace palimpsest
