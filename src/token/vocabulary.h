// A compiled vocabulary, read in place: which bytes are a token, and which two tokens may stand
// side by side. Immutable; a few pointers into a table that lives for ever.
#pragma once
#include "token/table_layout.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace palimpsest {

class Vocabulary {
public:
    explicit Vocabulary(const std::byte* table);

    Token ids() const { return ids_; }
    std::string_view bytes(Token token) const {
        return {bytes_ + starts_[token], starts_[token + 1] - starts_[token]};
    }
    std::uint32_t length(Token token) const { return (tokens_[token] >> 40) & 0xFF; }
    // A token at a place in a text, packed: bits 0-19 the token, 20-27 its length.
    class Match {
    public:
        explicit Match(std::uint32_t bits = no_token) : bits_(bits) {}
        Match(Token token, std::size_t size)
            : bits_(token | static_cast<std::uint32_t>(size) << 20) {}
        Token token() const { return bits_ & 0xFFFFF; }
        std::uint32_t size() const { return bits_ >> 20; }
        bool none() const { return token() == no_token; }

    private:
        std::uint32_t bits_;
    };
    // The next shorter token with which `token` begins.
    Match shorter(Token token) const { return Match(prefixes_[token]); }

    // The longest token at the start of the text, which must not be empty.
    Match longest(const char* text, const char* end) const {
        std::uint64_t unit = trie_[0];
        std::uint32_t at = 0;
        Token best = no_token;
        const char* best_end = text;
        for (const char* next = text; next != end;) {
            const std::uint32_t child = base(unit) + static_cast<std::uint8_t>(*next);
            unit = trie_[child];
            if (parent(unit) != at) break;
            at = child;
            ++next;
            const auto token = static_cast<Token>(unit >> 44);
            best = token != no_token ? token : best;
            best_end = token != no_token ? next : best_end;
        }
        return {best, static_cast<std::size_t>(best_end - text)};
    }

    // Would merging leave this border alone when `left` and `right` are made of adjacent bytes?
    // A sequence of tokens is what merging its bytes gives exactly when this holds at each border.
    bool may_follow(Token left, Token right) const;

    // The token of `right` after `left` merged, or no_token.
    Token merged(Token left, Token right) const {
        const std::uint64_t key = pair_key(left, right);
        const std::uint32_t bit = filter_bit(key, filter_bits_);
        if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return no_token;
        for (std::uint32_t slot = pair_slot(key, pair_bits_);; slot = (slot + 1) & pair_mask_) {
            const std::uint64_t entry = pairs_[slot];
            if ((entry & pair_part) == key) return static_cast<Token>(entry >> 40);
            if (entry == free_pair) return no_token;
        }
    }

private:
    static constexpr std::uint64_t pair_part = (std::uint64_t{1} << 40) - 1;
    static std::uint32_t base(std::uint64_t unit) { return unit & 0x3FFFFF; }
    static std::uint32_t parent(std::uint64_t unit) { return (unit >> 22) & 0x3FFFFF; }
    Token left_of(Token token) const { return tokens_[token] & 0xFFFFF; }
    Token right_of(Token token) const { return (tokens_[token] >> 20) & 0xFFFFF; }

    const std::uint64_t* trie_ = nullptr;
    const std::uint64_t* tokens_ = nullptr;
    const std::uint64_t* pairs_ = nullptr;
    const std::uint64_t* filter_ = nullptr;
    const std::uint32_t* prefixes_ = nullptr;
    const std::uint32_t* starts_ = nullptr;
    const char* bytes_ = nullptr;
    std::uint32_t ids_ = 0, pair_bits_ = 0, pair_mask_ = 0, filter_bits_ = 0;
};

}  // namespace palimpsest
