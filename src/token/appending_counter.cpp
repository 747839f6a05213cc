#include "token/appending_counter.h"

#include "token/chars.h"
#include "token/encoding.h"
#include "token/utf8_prefix.h"

namespace palimpsest {
namespace {

// Could `bytes` be the beginning of one character?
bool is_cut_char(std::string_view bytes) {
    const auto lead = static_cast<std::uint8_t>(bytes.front());
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || bytes.size() >= size) return false;
    std::string whole(bytes);
    for (const char second : {'\x80', '\x90', '\xA0'}) {
        whole.resize(bytes.size());
        whole.resize(size, '\x80');
        if (bytes.size() == 1) whole[1] = second;
        if (utf8_prefix(whole) == size) return true;
    }
    return false;
}

}  // namespace

AppendingCounter::AppendingCounter(Counter& counter)
    : counter_(&counter),
      text_(first_bytes, 0),
      piece_(counter.encoding().vocabulary()),
      second_(counter.encoding().vocabulary()) {}

void AppendingCounter::append(std::string_view chunk) {
    if (text_.size() < size_ + chunk.size() + Counter::padding)
        text_.resize(2 * (size_ + chunk.size()) + Counter::padding);
    const bool was_whole = valid_ == size_;
    chunk.copy(text_.data() + size_, chunk.size());
    size_ += chunk.size();
    if (was_whole && !run_ && recount_ascii()) return;
    if (is_utf8_) read_characters();
    if (is_utf8_)
        recount();
    else
        open_ = piece_.count(open_at_, text().substr(open_at_));
}

bool AppendingCounter::recount_ascii() {
    const char* at = text_.data() + open_at_;
    Counter::Growth growth{text_.data(), &piece_, known_size_, known_tokens_};
    const bool is_ascii = counter_->grow(at, text_.data() + size_, growth);
    known_size_ = growth.known_size;
    known_tokens_ = growth.known_tokens;
    closed_ += growth.closed;
    open_ = growth.open;
    open_at_ = offset(at);
    if (is_ascii) valid_ = size_;
    return is_ascii;
}

void AppendingCounter::recount() {
    for (;;) {
        if (run_) recount_run();
        if (run_) return;
        recount_pieces();
        if (valid_ - open_at_ <= long_bytes) return;
        run_.emplace(counter_->encoding().family());
    }
}

// Moves valid_ to the end of the last whole character, if all is well.
void AppendingCounter::read_characters() {
    const std::string_view fresh = text().substr(valid_);
    const std::size_t good = utf8_prefix(fresh);
    is_utf8_ = good == fresh.size() || is_cut_char(fresh.substr(good));
    valid_ += good;
    if (is_utf8_) return;
    const Encoding::BrokenTail tail = counter_->encoding().broken_tail(text());
    closed_ = tail.tokens_before;
    open_at_ = tail.at;
}

// Whatever follows, the border before the last piece stays, except: white space may join the white
// space before it, a quote (or, for r50k, one letter after it) may become a contraction, and
// capitals may turn out to begin a word that letters without case belong to. No border before that
// one can move.
bool AppendingCounter::is_settled(const char* piece, const char* end) const {
    const Family family = counter_->encoding().family();
    const chars::Char first = chars::char_at(piece, end);
    if (*piece == '\'') return end - piece > 3;
    if (family == Family::r50k && piece[-1] == '\'' && end - piece == 1) return false;
    if (first.kind == CharClass::upper) return family != Family::o200k;
    if (!chars::is_in(first, chars::spaces)) return true;
    const char* last = end - 1;
    while ((*last & 0xC0) == 0x80) --last;
    return !chars::is_in(chars::char_at(last, end), chars::spaces);
}

void AppendingCounter::recount_pieces() {
    const char* const end = text_.data() + valid_;
    const Family family = counter_->encoding().family();
    const Counter::Growth growth{text_.data(), &piece_};
    Placed before, last;
    for (const char* at = text_.data() + open_at_; at != end;) {
        const char* const next = piece_end(family, at, end);
        closed_ += before.tokens;
        before = last;
        const std::string_view piece(at, static_cast<std::size_t>(next - at));
        const bool is_first = before.at == nullptr;
        if (is_first && piece.size() == known_size_)
            last = {at, known_tokens_};
        else if (next == end)
            last = {at, counter_->count_last(piece, growth)};
        else
            last = {at, counter_->count_finished(piece, growth)};
        at = next;
    }
    open_ = last.tokens;
    if (last.at == nullptr) return;
    if (before.at == nullptr || is_settled(last.at, end)) {
        closed_ += before.tokens;
        know(last, end);
    } else {
        open_ += before.tokens;
        know(before, last.at);
    }
}

// The open part starts with this piece.
void AppendingCounter::know(Placed piece, const char* end) {
    open_at_ = offset(piece.at);
    known_size_ = static_cast<std::size_t>(end - piece.at);
    known_tokens_ = piece.tokens;
}

void AppendingCounter::recount_run() {
    const char* const end = text_.data() + valid_;
    run_->grow(between(open_at_, valid_));
    const char* border = text_.data() + open_at_ + run_->first_end();
    if (!run_->has_ended()) {
        open_ = piece_.count(open_at_, between(open_at_, offset(border)));
        if (border != end) open_ += second_.count(offset(border), between(offset(border), valid_));
        return;
    }
    const std::uint32_t more = run_->takes_contraction() ? contraction(border, end) : 0;
    const bool may_come = run_->takes_contraction() && more == 0 && *border == '\'';
    border += more;
    const std::uint64_t tokens = piece_.count(open_at_, between(open_at_, offset(border)));
    if (may_come && end - border < 3) {
        open_ = tokens + counter_->encoding().count({border, end});
        return;
    }
    closed_ += tokens;
    open_at_ = offset(border);
    known_size_ = 0;
    run_.reset();
}

}  // namespace palimpsest
