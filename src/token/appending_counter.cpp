#include "token/appending_counter.h"

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

// Moves valid_ to the end of the last whole character, if all is well.
std::size_t AppendingCounter::valid_end() {
    const std::string_view fresh = text().substr(valid_);
    const std::size_t good = utf8_prefix(fresh);
    is_utf8_ = good == fresh.size() || is_cut_char(fresh.substr(good));
    valid_ += good;
    return valid_;
}

void AppendingCounter::append(std::string_view chunk) {
    if (text_.size() < size_ + chunk.size() + Counter::padding)
        text_.resize(2 * (size_ + chunk.size()) + Counter::padding);
    chunk.copy(text_.data() + size_, chunk.size());
    size_ += chunk.size();
    const std::size_t known = counted_ - open_at_;
    const bool is_due = size_ - open_at_ <= exact_bytes || size_ - counted_ > known / 8;
    if (is_due) recount();
}

void AppendingCounter::settle() {
    if (counted_ != size_) recount();
}

void AppendingCounter::recount() {
    counted_ = size_;
    const std::size_t end = is_utf8_ ? valid_end() : valid_;
    if (!is_utf8_) {
        open_at_ = 0;
        closed_ = 0;
        open_ = counter_->count(text());
        return;
    }
    const char* const start = text_.data() + open_at_;
    const char* at = start;
    closed_ += counter_->count_closed(at, text_.data() + end);
    open_ = counter_->count_open(at, text_.data() + end);
    open_at_ += static_cast<std::size_t>(at - start);
}

}  // namespace palimpsest
