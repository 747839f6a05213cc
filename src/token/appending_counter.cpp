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

void AppendingCounter::append(std::string_view chunk) {
    if (text_.size() < size_ + chunk.size() + Counter::padding)
        text_.resize(2 * (size_ + chunk.size()) + Counter::padding);
    chunk.copy(text_.data() + size_, chunk.size());
    size_ += chunk.size();
    const std::string_view open = text().substr(open_at_);
    const std::size_t valid = utf8_prefix(open);
    if (valid != open.size() && !is_cut_char(open.substr(valid))) {
        open_at_ = 0;
        closed_ = 0;
        open_ = counter_->count(text());
        return;
    }
    const char* const start = open.data();
    const char* at = start;
    closed_ += counter_->count_closed(at, start + valid);
    open_ = counter_->count_open(at, start + valid);
    open_at_ += static_cast<std::size_t>(at - start);
}

}  // namespace palimpsest
