#include "token/counter.h"

#include "token/encoding.h"
#include "token/utf8_prefix.h"

namespace palimpsest {

Counter::Counter(const Encoding& encoding, const CounterOptions& options)
    : encoding_(encoding),
      merger_(encoding.vocabulary()),
      cache_(options.cache_bits),
      long_cache_(options.cache_bits - 2),
      wide_(options.wide && has_wide()) {}

std::uint32_t Counter::count_new(const char* at, std::uint32_t size, PieceCache::Key key) {
    const std::uint32_t tokens = merger_.count({at, size});
    cache_.add(key, tokens);
    return tokens;
}

std::uint32_t Counter::count_long(std::string_view piece, const char* readable_end) {
    if (piece.size() > LongPieceCache::longest_piece) return merger_.count(piece);
    const auto size = static_cast<std::uint32_t>(piece.size());
    const auto key = readable_end - piece.data() >= 32
                         ? LongPieceCache::key_wide(piece.data(), size)
                         : LongPieceCache::key_exact(piece.data(), size);
    if (const std::uint32_t known = long_cache_.find(key)) return known;
    const std::uint32_t tokens = merger_.count(piece);
    long_cache_.add(key, tokens);
    return tokens;
}

std::uint32_t Counter::count_piece(const char* at, const char* next, const char* readable_end) {
    const auto size = static_cast<std::size_t>(next - at);
    if (size > PieceCache::longest_piece) return count_long({at, size}, readable_end);
    const auto small = static_cast<std::uint32_t>(size);
    const PieceCache::Key key = readable_end - at >= 16 ? PieceCache::key_wide(at, small)
                                                        : PieceCache::key_exact(at, small);
    const std::uint32_t known = cache_.find(key);
    return known != 0 ? known : count_new(at, small, key);
}

std::uint32_t Counter::count_growing(std::string_view piece, const Growth& growth) {
    const auto place = static_cast<std::size_t>(piece.data() - growth.text);
    if (!growth.piece->is_at(place) && merger_.is_token(piece)) return 1;
    const std::uint32_t tokens = growth.piece->count(place, piece);
    if (piece.size() <= PieceCache::longest_piece)
        cache_.add(PieceCache::key_wide(piece.data(), static_cast<std::uint32_t>(piece.size())),
                   tokens);
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
    return count_pieces(text.data(), text.data() + text.size());
}

std::uint64_t Counter::count_pieces(const char* at, const char* end) {
    switch (encoding_.family()) {
        case Family::o200k:
            return wide_ ? count_wide<Family::o200k>(at, end) : count_valid<Family::o200k>(at, end);
        case Family::cl100k:
            return wide_ ? count_wide<Family::cl100k>(at, end)
                         : count_valid<Family::cl100k>(at, end);
        case Family::qwen:
            return count_valid<Family::qwen>(at, end);
        case Family::r50k:
            break;
    }
    return count_valid<Family::r50k>(at, end);
}

template std::uint64_t Counter::count_valid<Family::o200k>(const char*, const char*);
template std::uint64_t Counter::count_valid<Family::cl100k>(const char*, const char*);

}  // namespace palimpsest
