#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstring>

namespace palimpsest {
namespace {

Fingerprint to_fingerprint(XXH128_hash_t hash) {
    return {.low = hash.low64, .high = hash.high64};
}

XXH3_state_t* state_of(std::byte* bytes) {
    return reinterpret_cast<XXH3_state_t*>(bytes);
}

}  // namespace

Fingerprint hash_bytes(std::string_view bytes) {
    return to_fingerprint(XXH3_128bits(bytes.data(), bytes.size()));
}

Hasher::Hasher() {
    static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
    XXH3_INITSTATE(state_of(state_));
    XXH3_128bits_reset(state_of(state_));
}

void Hasher::add(std::string_view bytes) {
    XXH3_128bits_update(state_of(state_), bytes.data(), bytes.size());
}

void Hasher::field(std::string_view bytes) {
    std::uint8_t length[8];
    for (unsigned i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bytes.size() >> (8 * i));
    XXH3_128bits_update(state_of(state_), length, sizeof length);
    add(bytes);
}

Fingerprint Hasher::digest() const {
    XXH3_state_t copy;
    std::memcpy(&copy, state_, sizeof copy);
    return to_fingerprint(XXH3_128bits_digest(&copy));
}

}  // namespace palimpsest
