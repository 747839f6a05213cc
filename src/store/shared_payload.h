// Payloads that a store keeps once: from which size on, and by which hash they are known.
//
// Below the limit a hash and a row of its own cost more than the bytes that are saved. SHA-256,
// because whoever can make two payloads with one hash could read the other one.
#pragma once
#include <string>

#include "palimpsest/types.h"

namespace palimpsest {

constexpr std::size_t shared_payload_bytes = 64 * 1024;

// 32 bytes, or none for a payload that stays with its entry.
std::string shared_hash(const Bytes& payload);

}  // namespace palimpsest
