// A piece of hundreds of bytes that still grows (one endless word, line of signs or stretch of
// white space): its end is looked for in the new bytes only. The rules are those of split.h, in a
// form that can be stopped at the end of the text and taken up again there.
#pragma once
#include "token/split.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace palimpsest {

class LongRun {
public:
    explicit LongRun(Family family) : family_(family) {}

    // `text` begins with the piece and goes to the end of what there is; it is what was given
    // before and more of it.
    void grow(std::string_view text);

    // If the text ended here, it would be one piece up to first_end() and, where that is not the
    // end of the text, another one. Once has_ended(), first_end() is the end of the piece, however
    // the text goes on, unless takes_contraction() and one follows.
    bool has_ended() const { return ended_; }
    std::size_t first_end() const;
    bool takes_contraction() const;

private:
    enum class State : std::uint8_t { unread, first_letters, set, signs, sign_lines, spaces };
    void begin(const char* at, const char* end);
    void begin_gpt2(const char* at, const char* end);
    void begin_run(State state, std::uint32_t set);
    bool is_cased() const { return family_ == Family::o200k; }

    Family family_;
    State state_ = State::unread;
    bool ended_ = false;
    std::uint32_t set_ = 0;    // What a `set` is made of.
    std::size_t at_ = 0;       // So much is read.
    std::size_t mark_ = 0;     // After the last letter without case, or the last newline; or 0.
    std::size_t last_at_ = 0;  // Where the last white-space character starts.
};

}  // namespace palimpsest
