// 128-bit hashes of bytes (XXH3): equal bytes give equal hashes on every machine, so hashes may be
// stored. Not for secrets and not against an adversary who wants two texts to collide.
#pragma once
#include <cstddef>
#include <string_view>

#include "palimpsest/types.h"

namespace palimpsest {

Fingerprint hash_bytes(std::string_view bytes);

// The same hash over pieces: add("ab") then add("c") is add("abc").
class Hasher {
public:
    Hasher();
    void add(std::string_view bytes);
    // Length first, so that the borders between pieces count: field("ab") field("c") differs from
    // field("a") field("bc").
    void field(std::string_view bytes);
    Fingerprint digest() const;

private:
    alignas(64) std::byte state_[576];
};

}  // namespace palimpsest
