#include "token/vocabulary.h"

namespace palimpsest {

Vocabulary::Vocabulary(const std::byte* table) {
    const auto* header = reinterpret_cast<const TableHeader*>(table);
    trie_ = reinterpret_cast<const std::uint64_t*>(table + header->trie_at);
    tokens_ = reinterpret_cast<const std::uint64_t*>(table + header->tokens_at);
    pairs_ = reinterpret_cast<const std::uint64_t*>(table + header->pairs_at);
    filter_ = reinterpret_cast<const std::uint64_t*>(table + header->filter_at);
    prefixes_ = reinterpret_cast<const std::uint32_t*>(table + header->prefixes_at);
    starts_ = reinterpret_cast<const std::uint32_t*>(table + header->starts_at);
    bytes_ = reinterpret_cast<const char*>(table + header->bytes_at);
    ids_ = header->ids;
    filter_bits_ = header->filter_bits;
    pair_bits_ = header->pair_bits;
    pair_mask_ = (1u << pair_bits_) - 1;
}

// Runs the merges at the border backwards. At each step the pair that touches the border would be
// merged if it is a token made before the younger of the two was; otherwise that younger one is
// taken apart. `limit` is the rank below which a merge across the border comes first; a tie goes
// to the left.
bool Vocabulary::may_follow(Token left, Token right) const {
    Token limit = no_token;
    for (;;) {
        const Token both = merged(left, right);
        if (both < limit) return false;
        if (left > right) {
            limit = left;
            left = right_of(left);
            if (left != limit) continue;
            limit = right + 1;
            right = left_of(right);
            if (right + 1 == limit) return true;
        } else {
            limit = right + 1;
            right = left_of(right);
            if (right + 1 != limit) continue;
            limit = left;
            left = right_of(left);
            if (left == limit) return true;
        }
    }
}

}  // namespace palimpsest
