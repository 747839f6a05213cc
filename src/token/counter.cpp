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

// However the text goes on, it changes at most its last three pieces: white space up to a newline
// and the blanks after it become one piece, as do two words and a contraction. One more is kept
// for good measure; appending_counter_test tries every continuation that could tell.
std::uint64_t Counter::closed_plain(const char*& at, const char* end) {
    constexpr std::size_t kept = 4;
    const char* starts[kept] = {};
    std::size_t pieces = 0;
    for (const char* next = at; next != end; ++pieces) {
        starts[pieces % kept] = next;
        next = piece_end(encoding_.family(), next, end);
    }
    if (pieces <= kept) return 0;
    const char* const open = starts[pieces % kept];
    std::uint64_t total = 0;
    while (at != open) {
        const char* const next = piece_end(encoding_.family(), at, end);
        total += count_piece(at, next, end + padding);
        at = next;
    }
    return total;
}

template <Family family>
std::uint64_t Counter::open_pieces(const char* at, const char* end) {
    std::uint64_t total = 0;
    while (at != end) {
        const char* const next = piece_end<family>(at, end);
        total += count_piece(at, next, end + padding);
        at = next;
    }
    return total;
}

std::uint64_t Counter::count_open(const char* at, const char* end) {
    switch (encoding_.family()) {
        case Family::o200k:
            return open_pieces<Family::o200k>(at, end);
        case Family::cl100k:
            return open_pieces<Family::cl100k>(at, end);
        case Family::qwen:
            return open_pieces<Family::qwen>(at, end);
        case Family::r50k:
            break;
    }
    return open_pieces<Family::r50k>(at, end);
}

std::uint64_t Counter::count_closed(const char*& at, const char* end) {
    std::uint64_t total = 0;
    if (wide_ && encoding_.family() == Family::o200k) total = closed_wide<Family::o200k>(at, end);
    if (wide_ && encoding_.family() == Family::cl100k) total = closed_wide<Family::cl100k>(at, end);
    if (end - at > 32) total += closed_plain(at, end);
    return total;
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
