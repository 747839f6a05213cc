#include "token/counter.h"

#include "token/encoding.h"
#include "token/utf8_prefix.h"

namespace palimpsest {

Counter::Counter(const Encoding& encoding, const CounterOptions& options)
    : encoding_(encoding), merger_(encoding.vocabulary()) {
    if (options.cache_bits != 0) cache_.emplace(options.cache_bits);
}

std::uint32_t Counter::count_piece(const char* at, const char* next, const char* readable_end) {
    const auto size = static_cast<std::size_t>(next - at);
    if (size > PieceCache::longest_piece || !cache_) return merger_.count({at, size});
    const auto small = static_cast<std::uint32_t>(size);
    const PieceCache::Key key = readable_end - at >= 16 ? PieceCache::key_wide(at, small)
                                                        : PieceCache::key_exact(at, small);
    if (const std::uint32_t known = cache_->find(key)) return known;
    const std::uint32_t tokens = merger_.count({at, size});
    cache_->add(key, tokens);
    return tokens;
}

template <Family family>
std::uint64_t Counter::count_valid(const char* at, const char* end) {
    std::uint64_t total = 0;
    while (at != end) {
        const char* const next = piece_end<family>(at, end);
        total += count_piece(at, next, end);
        at = next;
    }
    return total;
}

std::uint64_t Counter::count(std::string_view text) {
    if (utf8_prefix(text) != text.size()) return encoding_.encode(text).size();
    const char* const at = text.data();
    const char* const end = at + text.size();
    switch (encoding_.family()) {
        case Family::o200k:
            return count_valid<Family::o200k>(at, end);
        case Family::cl100k:
            return count_valid<Family::cl100k>(at, end);
        case Family::qwen:
            return count_valid<Family::qwen>(at, end);
        case Family::r50k:
            break;
    }
    return count_valid<Family::r50k>(at, end);
}

}  // namespace palimpsest
